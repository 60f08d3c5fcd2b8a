"""Sync: the entries of one table in one catalog become what the table is now.

Idempotent, and safe beside others that do the same: an entry is replaced by the version that it was
made of, and who is too late starts again. The state of an entry is written last: what a crash
interrupts is repeated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen
from hoodoo.timeline.timeline import load

from hoodoo_catalogs import options
from hoodoo_catalogs.described import REQUESTED, STATE, Described
from hoodoo_catalogs.hookspecs.catalog import Catalog, CatalogError, CatalogTable, Values
from hoodoo_catalogs.places import Place

ATTEMPTS = 5


@frozen
class Synced:
    """What a sync did. ``instant``: the newest write that the catalog knows now. ``skipped``: all
    was so before. ``limits``: what readers of the entry can't do, as sentences."""

    catalog: str
    name: str
    instant: str | None = None
    created: bool = False
    columns_changed: bool = False
    partitions_added: int = 0
    partitions_dropped: int = 0
    skipped: bool = False
    limits: tuple[str, ...] = ()

    @property
    def detail(self) -> dict[str, Any]:
        """For observers."""
        return {
            "catalog": self.catalog,
            "name": self.name,
            "created": self.created,
            "columns_changed": self.columns_changed,
            "partitions_added": self.partitions_added,
            "partitions_dropped": self.partitions_dropped,
            "limits": "; ".join(self.limits),
        }


def sync(table: Described, place: Place, catalog: Catalog) -> Synced:
    """Update the entries of ``table`` at ``place``. Raises CatalogError, ConfigError or
    SchemaError, and leaves the table as it is."""
    assert place.table is not None
    has_views = bool(getattr(catalog, "has_views", False))
    done = Synced(place.uri, place.table, skipped=True, limits=limits(catalog, table))
    for wanted in table.entries(place.table, has_views):
        one = _sync_entry(table, wanted, catalog, has_views)
        done = evolve(
            done,
            instant=one.instant,
            created=done.created or one.created,
            columns_changed=done.columns_changed or one.columns_changed,
            partitions_added=done.partitions_added + one.partitions_added,
            partitions_dropped=done.partitions_dropped + one.partitions_dropped,
            skipped=done.skipped and one.skipped,
        )
    return done


def limits(catalog: Catalog, table: Described) -> tuple[str, ...]:
    """What readers of the entries of ``table`` can't do, as far as the catalog knows it."""
    known: Any = getattr(catalog, "limits", None)
    return () if known is None else tuple(known(table.config))


def notes_state(catalog: Catalog) -> bool:
    """Whether its entries say how far they are synced."""
    return not getattr(catalog, "replaces_entries", False)


def _sync_entry(
    table: Described, wanted: CatalogTable, catalog: Catalog, has_views: bool
) -> Synced:
    for number in range(ATTEMPTS):
        found = catalog.find(wanted.name)
        if found is not None:
            refuse_other(found, wanted)
            if _is_ahead(table, found):  # another process has synced a later state
                table = evolve(table, timeline=load(table.storage, table.config))
                wanted = table.entry(wanted.name, wanted.view, has_views)
        # An attempt that came too late may have dropped what others have added meanwhile.
        done = _attempt(table, wanted, found, catalog, whole=number > 0)
        if done is not None:
            return done
    raise CatalogError(
        f"{wanted.name} in the catalog",
        f"was changed by others {ATTEMPTS} times during a sync.",
        "The next commit, or table.sync(), repeats it.",
    )


def _attempt(
    table: Described,
    wanted: CatalogTable,
    found: CatalogTable | None,
    catalog: Catalog,
    whole: bool,
) -> Synced | None:
    """What was done; None if another one was faster. ``whole``: compare all partitions."""
    instant = wanted.parameters.get(REQUESTED)
    said = Synced("", wanted.name, instant)
    if found is None:
        if not catalog.put(evolve(wanted, parameters=_without_state(wanted.parameters))):
            return None
        found = catalog.find(wanted.name)
        if found is None:
            return None
        said = evolve(said, created=True)
    added, dropped = _sync_partitions(table, wanted, found, catalog, whole)
    said = evolve(said, partitions_added=added, partitions_dropped=dropped)
    parameters = {**_lasting(found.parameters), **wanted.parameters}
    if not notes_state(catalog):
        parameters = _without_state(parameters)
    now = evolve(found, columns=wanted.columns, partition_keys=wanted.partition_keys)
    columns_change = _spelt(now) != _spelt(found)
    now = evolve(now, view=wanted.view, parameters=parameters)
    if not columns_change and _is_same(parameters, found.parameters):
        return evolve(said, skipped=not (said.created or added or dropped))
    only_state = _without_state(parameters) == _without_state(found.parameters)
    only_state &= not (columns_change or said.created or added or dropped)
    if only_state and options.CONDITIONAL.read(table.given):
        return evolve(said, skipped=True, instant=found.parameters.get(REQUESTED))
    if not catalog.put(now):
        return None
    return evolve(said, columns_changed=columns_change and not said.created)


def _sync_partitions(
    table: Described, wanted: CatalogTable, found: CatalogTable, catalog: Catalog, whole: bool
) -> tuple[int, int]:
    """How many partitions were added to the catalog (or had another location), and dropped from
    it."""
    held: Any = catalog
    if not wanted.partition_keys or not hasattr(held, "add_partitions"):
        return 0, 0
    paths = None if whole else table.changed_since(found.parameters)
    if paths is not None and not paths:
        return 0, 0
    there = table.locations(paths)
    among: set[Values] | None = None if paths is None else {table.values(p) for p in paths}
    known: Mapping[Values, str] = held.partitions(wanted.name, among)
    new = {values: at for values, at in there.items() if known.get(values) != at}
    gone = [values for values in known if values not in there]
    if gone:  # a write that came since the look may have brought some back
        now = evolve(table, timeline=load(table.storage, table.config)).locations(paths)
        gone = [values for values in gone if values not in now]
    if new:
        held.add_partitions(evolve(wanted, version=found.version), new)
    if gone:
        held.drop_partitions(wanted.name, gone)
    return len(new), len(gone)


def refuse_other(found: CatalogTable, wanted: CatalogTable) -> None:
    """CatalogError if the entry is one of another table."""
    if not is_same_place(found.location, wanted.location):
        raise CatalogError(
            f"{wanted.name} in the catalog",
            f"is the table at {found.location}, not the one at {wanted.location}.",
            "Give this table another name there, or drop the entry if it is not needed.",
        )
    if found.provider != wanted.provider:
        raise CatalogError(
            f"{wanted.name} in the catalog",
            f"shows the table as {found.provider}, not as {wanted.provider}.",
            "Give each format a name of its own there.",
        )


def is_same_place(one: str, other: str) -> bool:
    """Whether two locations are one, however they are spelled."""
    return _place(one) == _place(other)


def _place(location: str) -> str:
    """Without the scheme: one bucket is s3 and s3a."""
    scheme, colon, rest = location.partition(":")
    return (rest if colon and len(scheme) > 1 else location).strip("/")


def _is_ahead(table: Described, found: CatalogTable) -> bool:
    """Whether the entry knows a write that this look at the table lacks."""
    known = found.parameters.get(REQUESTED)
    return known is not None and table.timeline.find(known) is None


def _spelt(table: CatalogTable) -> list[tuple[str, str, str]]:
    """Its columns, as they are compared: without case and blanks."""
    columns = (*table.columns, *table.partition_keys)
    return [(_plain(c.name), _plain(c.type), c.comment or "") for c in columns]


def _plain(text: str) -> str:
    return text.lower().replace(" ", "")


def _is_same(wanted: Mapping[str, str], found: Mapping[str, str]) -> bool:
    return (
        all(found.get(key) == value for key, value in wanted.items())
        and wanted.keys() == found.keys()
    )


def _without_state(parameters: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in parameters.items() if key not in STATE}


def _lasting(parameters: Mapping[str, str]) -> dict[str, str]:
    """What stays of an entry: not its state, and not the schema for Spark, which may have fewer
    parts now."""
    schema = "spark.sql.sources.schema"
    return {k: v for k, v in _without_state(parameters).items() if not k.startswith(schema)}
