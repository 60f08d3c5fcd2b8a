"""Catalog: where engines look a table up by its name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol, runtime_checkable

from attrs import Factory, frozen
from hoodoo.errors import HoodooError
from hoodoo.hookspecs.family import Family, Optional
from hoodoo.model.config import TableConfig


class CatalogError(HoodooError):
    """A catalog is not reachable, refuses a call, or has another table of the name."""


# The values of a partition, one for each partition column.
Values = tuple[str, ...]


@frozen
class Column:
    """One column. ``type`` is text of Hive's types: ``bigint``, ``array<string>``."""

    name: str
    type: str
    comment: str = ""


@frozen
class CatalogTable:
    """What a catalog has of a table: its entry.

    ``name``: ``table`` or ``database.table``. ``location``: the URI of the table. ``columns``:
    those that are no partition columns; these are ``partition_keys``. ``parameters``: texts, among
    them how far the entry is synced. ``view``: what a query of the entry reads: ``snapshot``,
    ``read_optimized`` or ``realtime``. ``version``: what the catalog calls this state of the entry;
    None for a new one. ``provider``: the format whose metadata readers of the entry use: ``hudi``,
    ``iceberg``, ``delta``, or ``manifest`` for a list of base files."""

    name: str
    location: str
    columns: tuple[Column, ...] = ()
    partition_keys: tuple[Column, ...] = ()
    parameters: Mapping[str, str] = Factory(dict)
    view: str = "snapshot"
    version: str | None = None
    provider: str = "hudi"


@runtime_checkable
class Catalog(Protocol):
    """Contract suite: ``hoodoo_catalogs.testing.catalog``. Called on the driver, by several
    threads.

    Every method raises :class:`~hoodoo_catalogs.hookspecs.catalog.CatalogError` if the catalog is
    not reachable or refuses the call: the message tells an entry that is missing from one that may
    not be seen."""

    def tables(self) -> tuple[str, ...]:
        """The names of all tables, sorted."""

    def find(self, name: str) -> CatalogTable | None:
        """The entry of this name; None if there is none. Entries of other formats, too. ConfigError
        for a name that the catalog cannot have."""

    def put(self, table: CatalogTable) -> bool:
        """Create the entry (``table.version`` is None), or replace the version that ``table`` was
        made of. False, and nothing is changed, if there is another version now, or an entry
        already. ConfigError as in :meth:`find`."""

    def drop(self, name: str) -> bool:
        """Remove the entry, and no file of the table. False if there is none."""


@runtime_checkable
class HasPartitions(Protocol):
    """A catalog that has the partitions of tables."""

    def partitions(
        self, name: str, among: Collection[Values] | None = None
    ) -> Mapping[Values, str]:
        """The partitions (of ``among``, if it is given) that the catalog has, with their
        locations."""

    def add_partitions(self, table: CatalogTable, locations: Mapping[Values, str]) -> None:
        """Add partitions, or give them these locations. Harmless for those that are there."""

    def drop_partitions(self, name: str, values: Collection[Values]) -> None:
        """Remove partitions, and none of their files. Harmless for those that are not there."""


@runtime_checkable
class ServesEngines(Protocol):
    """A catalog whose readers are engines that know Hudi by input formats."""

    @property
    def has_views(self) -> bool:
        """Whether a merge-on-read table has entries of its own for read-optimized and real-time
        queries, as Hudi's sync tools make them."""

    def location_of(self, name: str) -> str | None:
        """Where a new table of this name is created; None if the catalog does not say it."""


@runtime_checkable
class ReplacesEntries(Protocol):
    """A catalog that has no call that changes an entry."""

    @property
    def replaces_entries(self) -> bool:
        """Whether :meth:`Catalog.put` drops an entry and creates it again. Its entries do not say
        how far they are synced: each commit would replace them."""


@runtime_checkable
class KnowsReaders(Protocol):
    """A catalog that knows what its readers can't do."""

    def limits(self, config: TableConfig) -> tuple[str, ...]:
        """What readers of the entries of this table can't do: sentences without a full stop, which
        a sync reports."""


FAMILY = Family(
    "hoodoo_catalogs",
    """Offer catalogs. When: ``hoodoo.catalog``, a name such as ``glue://db.trips``, and after each
    action of a table that is in a catalog. Default: ``file`` (hoodoo-catalogs), a folder with one
    JSON file for each table.

    Name and aliases are URI schemes. The factory's settings have the option ``hoodoo.catalog.uri``;
    it returns a :class:`Catalog`.""",
    (Catalog,),
    optional=(HasPartitions, ServesEngines, ReplacesEntries, KnowsReaders),
    lacking={"has_views": Optional(False), "replaces_entries": Optional(False)},
)
