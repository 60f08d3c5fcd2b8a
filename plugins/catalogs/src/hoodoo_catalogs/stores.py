"""Names such as ``glue://db.trips`` in the place of paths: the store of the table that the catalog
has there, or of a new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pyarrow as pa
from attrs import define, evolve
from hoodoo.errors import ConfigError, NotATableError
from hoodoo.hookspecs.creation import Found, NewTable
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import kernel
from hoodoo.model.config import TableConfig
from hoodoo.options.table import STORAGE_URI
from hoodoo.storage.api import Storage
from hoodoo.storage.uri import split
from hoodoo.table.settings import open_storage
from hoodoo.timeline.properties import PATH

from hoodoo_catalogs import options
from hoodoo_catalogs.file import FOLDER, FileCatalog
from hoodoo_catalogs.places import FILE, Place


def store_of(settings: Settings) -> Storage:
    """The store of the table whose name is the option ``hoodoo.storage.uri``. NotATableError if
    there is none."""
    uri = STORAGE_URI.read(settings.options)
    place = Place.of(uri)
    if place.table is None:
        raise ConfigError(
            uri, "names a catalog, not a table.", f"Add the name: {place}database.table."
        )
    given = {k: v for k, v in settings.options.items() if k != STORAGE_URI.key}
    catalog = place.open(given)
    found = catalog.find(place.table)
    if found is not None:
        return open_storage(found.location, given)
    location = catalog.location_of(place.table) if hasattr(catalog, "location_of") else None
    if location is None:
        raise _not_there(uri, place)
    storage: Any = NewPlace(open_storage(location, given), uri, place)
    return cast(Storage, storage)


def _not_there(uri: str, place: Place) -> NotATableError:
    return NotATableError(
        uri,
        "the catalog has no table of this name.",
        f"Create it with hoodoo.catalog({place.uri!r}).create(...), or check the name.",
    )


def named_in_file(uri: str, at: Callable[[str], Storage]) -> Found | None:
    """Where the table lies that ``uri`` (``lake#trips``) names in a file catalog."""
    place = Place.of(uri)
    if place.plugin != FILE or place.table is None:
        return None
    found = FileCatalog(at(f"{place.uri}/{FOLDER}")).find(place.table)
    if found is None:
        return None
    return Found(
        "it is the name of a table in the catalog of a folder",
        f"{place.in_python}, or open its path, {found.location}.",
    )


@define
class NewPlace:
    """``inner``, where the catalog has new tables of the name ``new_place``. Nothing is read there
    before a table has been created. A :class:`~hoodoo.storage.api.Storage` by what ``inner``
    answers."""

    inner: Storage
    uri: str
    new_place: Place
    is_made: bool = False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "inner":  # copies look at an object without a state
            raise AttributeError(name)
        return getattr(self.inner, name)

    @property
    def root(self) -> str:
        return self.inner.root if self.is_made else self.uri

    def get(self, path: str) -> bytes:
        self._check()
        return self.inner.get(path)

    def open(self, path: str) -> pa.NativeFile:
        self._check()
        return self.inner.open(path)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        done = self.inner.put_if_absent(path, data)
        self.is_made = self.is_made or (done and path == PATH)
        return done

    def _check(self) -> None:
        if not self.is_made:
            raise _not_there(self.uri, self.new_place)


def new_table(wanted: NewTable, own: Callable[..., Any]) -> TableConfig | None:
    """Of a table that is created by its name in a catalog: what others say it is, and that it notes
    the catalog. None for other places. ``own``: the implementation of the hook that asks."""
    scheme, _ = split(wanted.path)
    offer = kernel().find("catalog", scheme) if scheme else None
    if offer is None or offer.name == FILE:
        return None
    place = Place.of(wanted.path)
    name = wanted.name or (place.table or "").rpartition(".")[2]
    for _plugin, hook in kernel().implementations("hoodoo_new_table"):
        if hook.function is own:
            continue
        config: Any = hook.function(evolve(wanted, name=name))
        if isinstance(config, TableConfig):
            noted = {options.CATALOGS.key: options.CATALOGS.spell((str(place),))}
            return TableConfig({**config.properties, **noted})
    return None
