"""What other distributions may use: entries that show a table as another format, and what the
catalogs of other distributions need."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import evolve, frozen
from hoodoo.errors import ConfigError

from hoodoo_catalogs.described import Described
from hoodoo_catalogs.hookspecs.catalog import CatalogError, CatalogTable
from hoodoo_catalogs.options import CREATE_DATABASE, URI
from hoodoo_catalogs.places import Place
from hoodoo_catalogs.stores import store_of
from hoodoo_catalogs.sync import ATTEMPTS, refuse_other

__all__ = ["CREATE_DATABASE", "URI", "Described", "OtherFormat", "Parameters", "store_of"]

# The parameters of an entry, by those that it has (None: there is no entry yet); None if it is as
# new as it can be.
Parameters = Callable[[Mapping[str, str] | None], Mapping[str, str] | None]


@frozen
class OtherFormat:
    """An entry of a table whose readers use the metadata of another format. ``provider``: the
    format; ``place``: the catalog and the name there, as text."""

    provider: str
    place: str

    def put(self, table: Described, parameters: Parameters) -> bool:
        """Create the entry, or replace the one that is there; whether anything has changed. Raises
        CatalogError or ConfigError, and leaves the table as it is."""
        place = Place.of(self.place)
        place.check()
        if place.table is None:
            raise ConfigError(
                f"catalog {self.place}",
                "is named without the name that the table has there.",
                "Write glue://database.table, hms://host:9083/database.table or folder#table.",
            )
        wanted = self._entry(table, place.table)
        catalog = place.open(table.given)
        for _ in range(ATTEMPTS):
            found = catalog.find(place.table)
            if found is not None:
                refuse_other(found, wanted)
            said = parameters(None if found is None else found.parameters)
            if said is None:
                return False
            if found is None:
                now = evolve(wanted, parameters=said)
            else:
                now = evolve(found, columns=wanted.columns, parameters={**found.parameters, **said})
                if now == found:
                    return False
            if catalog.put(now):
                return True
        raise CatalogError(
            f"{place}",
            f"was changed by others {ATTEMPTS} times during an update.",
            "The next commit, or table.publish(), repeats it.",
        )

    def _entry(self, table: Described, name: str) -> CatalogTable:
        """All columns, those of the partition path among them: partitions are in the metadata."""
        found = table.entry(name, "snapshot", for_engines=False)
        keys = {column.name: column for column in (*found.columns, *found.partition_keys)}
        return evolve(
            found,
            columns=tuple(keys.values()),
            partition_keys=(),
            parameters={},
            provider=self.provider,
        )
