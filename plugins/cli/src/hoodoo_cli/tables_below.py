"""Tables below a place: a folder, or the prefix of an object store."""

from __future__ import annotations

import builtins
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

from attrs import frozen
from hoodoo.errors import (
    ConfigError,
    CorruptTableError,
    HoodooError,
    NotATableError,
    UnsupportedTableError,
)
from hoodoo.model.config import TableConfig
from hoodoo.model.instant import Instant
from hoodoo.options.table import BACKUP_OF
from hoodoo.storage.api import Entry, Storage, get_if_there, names_in
from hoodoo.storage.together import side_by_side
from hoodoo.storage.uri import local_path, split
from hoodoo.table.settings import open_storage, typed_options
from hoodoo.timeline import properties
from hoodoo.timeline.timeline import from_names

from hoodoo_cli.by_pages import FOREIGN, HIDDEN, LEVELS, by_pages


@frozen
class TableBelow:
    """A table, or what can't be looked into.

    ``path`` is its URI, ``name`` the same relative to the place ("" for the place itself).
    ``config`` are its properties; ``last`` is the newest completed write (None: none on the active
    timeline), ``pending`` counts actions that are not completed. With an ``error`` some of them are
    missing, and ``state`` says which kind: ``denied`` (no permission), ``unsupported`` (a version
    that is not read), ``damaged``, or ``unreachable``. ``is_table``: whether a table was seen
    there; if not, a folder could not be listed. ``mark`` changes with the timeline."""

    path: str
    name: str
    is_table: bool = True
    config: TableConfig | None = None
    last: Instant | None = None
    pending: int = 0
    error: HoodooError | None = None
    mark: str = ""

    @property
    def state(self) -> str:
        """``ok``, or what is wrong."""
        if self.error is None:
            return "ok"
        if _is_denied(self.error):
            return "denied"
        if isinstance(self.error, UnsupportedTableError):
            return "unsupported"
        return "damaged" if _is_damage(self.error) else "unreachable"

    @property
    def is_backup(self) -> bool:
        """Whether it is a backup, to which nothing is written."""
        return self.config is not None and self.config.get(BACKUP_OF) is not None


def tables_below(
    place: Storage | str | os.PathLike[str], options: Mapping[str, Any] | None = None
) -> Iterator[TableBelow]:
    """The tables at and below ``place``, a URI, a local path or a storage, as they are seen: those
    of the upper levels first, then by name. ``options`` are those of the storage.

    Two requests for each table, at the same time on object stores, and two for each other folder;
    where an object store lists all names by pages, and tables are small, one for each table. Tables
    within tables, and folders whose names begin with a dot or an underscore, are not looked
    at; 12 levels are. What can't be read is an item with an ``error``. Raises ConfigError if there
    is nothing at ``place``, and StorageError if it can't be listed.
    """
    storage: Storage
    if isinstance(place, (str, os.PathLike)):
        storage = open_storage(place, typed_options(options))
    else:
        storage = place
    first = storage.list("")
    if not first:
        raise _nothing(storage.root)
    return _walk(storage, first)


@frozen
class _Place:
    """A folder to be looked at. ``inside``: what is known to be in the ``.hoodie`` of its table;
    ``by_pages``: whether all that is below it may be listed."""

    folder: str
    inside: Sequence[Entry] | None = None
    by_pages: bool = True


def _walk(storage: Storage, first: list[Entry]) -> Iterator[TableBelow]:
    table, level = _seen(storage, _Place(""), first)
    if table is not None:
        yield table
    places: set[str] = set()  # of this machine, which links lead to again
    for _ in range(LEVELS):
        level = [place for place in level if _is_new(storage, place.folder, places)]
        level.sort(key=lambda place: (place.folder.count("/"), place.folder))
        looks = ((partial(_look, storage, place), 0) for place in level)
        level = []
        for table, further in side_by_side(storage, looks, most=0):
            if table is not None:
                yield table
            level += further


def _look(storage: Storage, place: _Place) -> tuple[TableBelow | None, list[_Place]]:
    folder, stored = place.folder, None
    if place.inside is not None:
        return _table(storage, folder, {}, place.inside), []
    with suppress(HoodooError):  # the listing shows whether there is a table that may not be read
        # What all tables have is asked for first: a listing costs more than a small file.
        stored = get_if_there(storage, f"{folder}/{properties.PATH}")
    if stored is not None:
        return _table(storage, folder, {properties.PATH: stored}), []
    try:
        return _seen(storage, place, storage.list(folder))
    except HoodooError as error:
        return TableBelow(_uri(storage, folder), folder, is_table=False, error=error), []


def _seen(
    storage: Storage, place: _Place, entries: list[Entry]
) -> tuple[TableBelow | None, list[_Place]]:
    """The table of the folder of a ``place`` with these ``entries``, or what is in it."""
    folders = [entry for entry in entries if entry.is_dir]
    names = {entry.name for entry in folders}
    if ".hoodie" in names:
        return _table(storage, place.folder, {}), []
    if not names.isdisjoint(FOREIGN):
        return None, []
    found = [entry.path for entry in folders if not entry.name.startswith(HIDDEN)]
    return None, _further(storage, place, found)


def _further(storage: Storage, place: _Place, folders: list[str]) -> list[_Place]:
    """The folders in that of a ``place``; or what is below them, where that asks for less."""
    if not place.by_pages:
        return [_Place(folder, by_pages=False) for folder in folders]
    seen = by_pages(storage, place.folder, folders)
    tables = [_Place(folder, inside) for folder, inside in seen.tables.items()]
    return [*tables, *(_Place(folder, by_pages=seen.pays) for folder in seen.left)]


def _table(
    storage: Storage,
    folder: str,
    known: Mapping[str, bytes],
    listed: Sequence[Entry] | None = None,
) -> TableBelow:
    path, config = _uri(storage, folder), None
    inside = cast(Storage, _Inside(storage, folder, known, listed) if folder else storage)
    try:
        config = properties.load(inside)
        names = sorted(names_in(inside, config.timeline_path))
        timeline = from_names(names, config)
    except HoodooError as error:
        return TableBelow(path, folder, config=config, error=error)
    last = next(reversed(timeline.writes()), None)
    mark = hashlib.sha256("/".join(names).encode()).hexdigest()[:16]
    pending = len(timeline.pending())
    return TableBelow(path, folder, config=config, last=last, pending=pending, mark=mark)


@frozen
class _Inside:
    """``inner`` as it is read from its folder ``prefix``; ``known`` are files that have been
    read, ``listed`` those of ``.hoodie``, if they are known."""

    inner: Storage
    prefix: str
    known: Mapping[str, bytes]
    listed: Sequence[Entry] | None = None

    @property
    def root(self) -> str:
        """The URI of the folder."""
        return _uri(self.inner, self.prefix)

    def get(self, path: str) -> bytes:
        """The bytes of ``path`` in the folder."""
        return self.known[path] if path in self.known else self.inner.get(f"{self.prefix}/{path}")

    def list(self, prefix: str = "", recursive: bool = False) -> list[Entry]:
        """What is in ``prefix``; its paths are those of ``inner``."""
        if self.listed is not None and not recursive and prefix.split("/")[0] == ".hoodie":
            return self._files(f"{self.prefix}/{prefix}/")
        return self.inner.list(f"{self.prefix}/{prefix}".rstrip("/"), recursive)

    def _files(self, folder: str) -> builtins.list[Entry]:
        """Those of the listing that are directly in ``folder``: nobody asks for its folders."""
        below = len(folder)
        found = [one for one in self.listed or () if one.path.startswith(folder)]
        return [one for one in found if "/" not in one.path[below:]]


def _uri(storage: Storage, folder: str) -> str:
    return f"{storage.root.rstrip('/')}/{folder}" if folder else storage.root


def _is_new(storage: Storage, folder: str, places: set[str]) -> bool:
    if split(storage.root)[0] not in ("", "file"):
        return True
    place = os.path.realpath(local_path(_uri(storage, folder)))
    is_new = place not in places
    places.add(place)
    return is_new


def _is_denied(error: BaseException) -> bool:
    """Whether the store refused; of object stores, the sentences of hoodoo-cloud say it."""
    refused = ("access is denied", "credentials are not valid", "credentials has expired")
    denied = isinstance(error.__cause__, PermissionError)
    return denied or any(sentence in str(error) for sentence in refused)


def _is_damage(error: HoodooError) -> bool:
    return isinstance(error, (CorruptTableError, NotATableError))


def _nothing(root: str) -> ConfigError:
    what = "has nothing below it"
    if split(root)[0] in ("", "file"):
        place = local_path(root)
        there = "is a file" if os.path.exists(place) else "does not exist"
        what = "is empty" if os.path.isdir(place) else there
    return ConfigError(
        f"place {root}", f"{what}.", "Give a folder, or a prefix of a store, with tables."
    )
