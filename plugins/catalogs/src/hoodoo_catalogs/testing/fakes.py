"""Catalogs in memory, for tests: one that works, and faults to put around any catalog."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any

from attrs import Factory, define, evolve
from hoodoo.errors import ConfigError
from hoodoo.model.config import TableConfig

from hoodoo_catalogs.hookspecs.catalog import CatalogError, CatalogTable, Values


@define
class MemoryCatalog:
    """Implements :class:`~hoodoo_catalogs.hookspecs.catalog.Catalog` with all optional members."""

    entries: dict[str, CatalogTable] = Factory(dict)
    stored: dict[str, dict[Values, str]] = Factory(dict)
    has_views: bool = False
    replaces_entries: bool = False
    writes: int = 0
    _lock: Any = Factory(threading.Lock)

    def tables(self) -> tuple[str, ...]:
        return tuple(sorted(self.entries))

    def find(self, name: str) -> CatalogTable | None:
        if "/" in name:
            raise ConfigError(f"table name {name!r}", "has a slash.", "Choose another.")
        return self.entries.get(name)

    def put(self, table: CatalogTable) -> bool:
        self.find(table.name)
        with self._lock:
            found = self.entries.get(table.name)
            if table.version != (None if found is None else found.version):
                return False
            self.writes += 1
            self.entries[table.name] = evolve(table, version=str(self.writes))
            return True

    def drop(self, name: str) -> bool:
        self.stored.pop(name, None)
        return self.entries.pop(name, None) is not None

    def location_of(self, name: str) -> str | None:
        return None

    def limits(self, config: TableConfig) -> tuple[str, ...]:
        return ()

    def partitions(
        self, name: str, among: Collection[Values] | None = None
    ) -> Mapping[Values, str]:
        found = self.stored.get(name, {})
        return {v: at for v, at in found.items() if among is None or v in among}

    def add_partitions(self, table: CatalogTable, locations: Mapping[Values, str]) -> None:
        self.stored.setdefault(table.name, {}).update(locations)

    def drop_partitions(self, name: str, values: Collection[Values]) -> None:
        for one in values:
            self.stored.get(name, {}).pop(one, None)


@define
class Faulty:
    """``inner``, but each call first calls ``fault`` with the name of the method: it may raise, or
    wait."""

    inner: Any
    fault: Callable[[str], object]

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if name.startswith("_") or not callable(found):
            return found

        def call(*arguments: Any) -> Any:
            self.fault(name)
            return found(*arguments)

        return call

    def tables(self) -> tuple[str, ...]:
        return self.__getattr__("tables")()

    def find(self, name: str) -> CatalogTable | None:
        return self.__getattr__("find")(name)

    def put(self, table: CatalogTable) -> bool:
        return self.__getattr__("put")(table)

    def drop(self, name: str) -> bool:
        return self.__getattr__("drop")(name)


def is_down(call: str) -> None:
    """A fault: the catalog is not reachable."""
    raise CatalogError("fake catalog", f"is down ({call}).", "Wait.")


@define
class Hangs:
    """A fault: each call waits until ``released`` is set, 60 s at most."""

    released: threading.Event = Factory(threading.Event)

    def __call__(self, call: str) -> None:
        self.released.wait(60)
