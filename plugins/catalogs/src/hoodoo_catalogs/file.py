"""The file catalog: a folder or a bucket, with one JSON file for each table in its folder
``.hoodoo-catalog``.

The file of version 7 of the entry ``trips`` is ``trips.0000000007.json``. The next version is put
only if nobody has put it yet; then the older ones are deleted. A file that ends with ``.dropped``
stands for a table that was dropped."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from attrs import asdict, frozen
from hoodoo.errors import ConfigError, HoodooError, StorageError, StorageUnknownError
from hoodoo.hookspecs.registration import Settings
from hoodoo.storage.api import Storage
from hoodoo.storage.together import discard
from hoodoo.storage.uri import absolute
from hoodoo.table.settings import open_storage

from hoodoo_catalogs import options
from hoodoo_catalogs.hookspecs.catalog import CatalogError, CatalogTable, Column
from hoodoo_catalogs.places import NAME

FOLDER = ".hoodoo-catalog"
_FILE = re.compile(r"(.+)\.(\d{10})\.(json|dropped)")
_FORMAT = 1


@frozen
class FileCatalog:
    """Implements :class:`~hoodoo_catalogs.hookspecs.catalog.Catalog`. ``storage``: of its folder
    ``.hoodoo-catalog``."""

    storage: Storage

    @classmethod
    def from_settings(cls, settings: Settings) -> FileCatalog:
        uri = options.URI.given(settings.options) or ""
        given = {k: v for k, v in settings.options.items() if k != options.URI.key}
        return cls(open_storage(f"{uri}/{FOLDER}", given))

    def tables(self) -> tuple[str, ...]:
        newest = self._newest()
        return tuple(sorted(name for name, (_, end) in newest.items() if end == "json"))

    def find(self, name: str) -> CatalogTable | None:
        _check(name)
        while True:
            version, end = self._newest().get(name, (0, ""))
            if end != "json":
                return None
            path = f"{name}.{version:010d}.json"
            try:
                data = self.storage.get(path)
            except FileNotFoundError:  # a newer one is there
                continue
            except StorageError as error:
                raise self._unreachable(error) from error
            return _parsed(data, f"{self.storage.root}/{path}", f"{version:010d}")

    def put(self, table: CatalogTable) -> bool:
        _check(table.name)
        version, end = self._newest().get(table.name, (0, ""))
        if table.version != (f"{version:010d}" if end == "json" else None):
            return False
        said = {"format": _FORMAT, **asdict(table)}
        said.pop("version")
        content = json.dumps(said, indent=1, sort_keys=True).encode()
        return self._publish(table.name, version + 1, "json", content)

    def drop(self, name: str) -> bool:
        while True:
            version, end = self._newest().get(name, (0, ""))
            if end != "json":
                return False
            if self._publish(name, version + 1, "dropped", b""):
                return True

    def location_of(self, name: str) -> str | None:
        root = absolute(self.storage.root).removesuffix(f"/{FOLDER}")
        return f"{root}/{name.replace('.', '/')}"

    def _publish(self, name: str, version: int, end: str, content: bytes) -> bool:
        """Whether this is the newest version now. The older ones go."""
        path = f"{name}.{version:010d}.{end}"
        try:
            if end == "dropped" and self.storage.head(f"{name}.{version:010d}.json") is not None:
                return False
            if not self.storage.put_if_absent(path, content):
                return False
        except StorageUnknownError as error:
            raise CatalogError(
                f"{self.storage.root}/{path}",
                f"it is not known whether it was stored: {error.rule}",
                "Repeat the call.",
            ) from error
        except StorageError as error:
            raise self._unreachable(error) from error
        files = self._files(name)
        newest = max(files, key=lambda file: files[file])
        if newest != path:  # one who came later had deleted this version already
            discard(self.storage, [path])
            return False
        try:
            discard(self.storage, [file for file in files if file != path])
        except HoodooError:
            pass  # the next version deletes them
        return True

    def _files(self, name: str) -> dict[str, int]:
        return {
            file: int(found[2])
            for file in self._names()
            if (found := _FILE.fullmatch(file)) is not None and found[1] == name
        }

    def _newest(self) -> dict[str, tuple[int, str]]:
        found: dict[str, tuple[int, str]] = {}
        for file in self._names():
            if (parts := _FILE.fullmatch(file)) is not None:
                known = found.get(parts[1], (0, ""))
                found[parts[1]] = max(known, (int(parts[2]), parts[3]))
        return found

    def _names(self) -> list[str]:
        try:
            return [entry.name for entry in self.storage.list() if not entry.is_dir]
        except StorageError as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: StorageError) -> CatalogError:
        return CatalogError(f"catalog {self.storage.root}", error.rule, error.fix)


def _check(name: str) -> None:
    if not NAME.fullmatch(name):
        raise ConfigError(
            f"table name {name!r}",
            "may have letters, digits, dots, dashes and underscores only.",
            "Choose another name.",
        )


def _parsed(data: bytes, where: str, version: str) -> CatalogTable:
    try:
        said: Mapping[str, Any] = json.loads(data)
        if said["format"] > _FORMAT:
            raise CatalogError(
                where,
                f"has format {said['format']}, of a newer release.",
                "Update hoodoo-catalogs.",
            )
        return CatalogTable(
            str(said["name"]),
            str(said["location"]),
            tuple(Column(**column) for column in said["columns"]),
            tuple(Column(**column) for column in said["partition_keys"]),
            {str(key): str(value) for key, value in said["parameters"].items()},
            str(said["view"]),
            version,
            str(said.get("provider", "hudi")),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CatalogError(
            where,
            f"is no entry of a table ({type(error).__name__}: {error}).",
            "Delete the file, then register the table again.",
        ) from error
