"""Indexes: what users call so, made, dropped and listed: partitions of the metadata table."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.engine import Engine
from hoodoo.table.handle import TableHandle

from hoodoo_metadata.column_stats.from_files import columns_of
from hoodoo_metadata.definitions import is_partitioned
from hoodoo_metadata.layout import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    FILES,
    GROWING,
    INDEX_OF,
    INDEXES,
    PARTITION_STATS,
    PARTITIONED,
    RECORD_INDEX,
)
from hoodoo_metadata.table import building, listed
from hoodoo_metadata.wanted import stored_name

SECONDARY, EXPRESSION = "secondary", "expression"
_OF_KEYS = (RECORD_INDEX, PARTITIONED, GROWING)
_KINDS = (*_OF_KEYS, COLUMN_STATS, BLOOM_FILTERS)


@frozen
class Index:
    """An index of a table. ``partition``: where the metadata table has it; ``columns``: what it is of; ``ready``:
    whether it is complete, and asked."""

    name: str
    kind: str
    columns: tuple[str, ...]
    partition: str
    ready: bool = True


def indexes(table: TableHandle) -> tuple[Index, ...]:
    """The indexes that the table has in its metadata table, by name; the list of its files is none."""
    table.refresh()
    config, found = table.config, {}
    ready, begun = listed(config), building(config)
    for partition in (*ready, *begun):
        if partition in (FILES, PARTITION_STATS):
            continue
        name = kind = INDEX_OF.get(partition, partition)
        columns: Sequence[str] = ()
        if partition == RECORD_INDEX and is_partitioned(table.storage):
            name = kind = PARTITIONED
        if partition in (*INDEXES, BLOOM_FILTERS):
            columns = config.record_key_fields
        elif partition == COLUMN_STATS:
            columns = columns_of(table.schema, config, table.options)
        found[name] = Index(name, kind, tuple(columns), partition, partition in ready)
    return tuple(found[name] for name in sorted(found))


def create_index(
    table: TableHandle,
    name: str,
    columns: str | Sequence[str] = (),
    kind: str = SECONDARY,
    expression: str | None = None,
    *,
    engine: str | Engine | None = None,
) -> Index:
    """Make an index in the metadata table, while writers go on; all of them keep it from then on.

    ``kind``: ``record_index``, ``partitioned_record_index``, ``growing_record_index``, ``column_stats``,
    ``bloom_filters``, whose names are these: a table has one of each. ``columns`` may be left out for them.

    Raises ConfigError for what can't be, UnsupportedTableError for tables that have none of the kind,
    CommitConflictError while another process makes one.
    """
    table.check_writable()
    table.refresh()
    named = (columns,) if isinstance(columns, str) else tuple(columns)
    if expression is not None or kind in (EXPRESSION, SECONDARY):
        raise ConfigError(
            f"index {name} of table {table.config.name}", f"would be of the kind {kind}, which is not kept.",
            f"Kinds are {', '.join(_KINDS)}; files are left out by column_stats, too.",
        )  # fmt: skip
    made = stored_name(kind) or kind
    if made not in _KINDS:
        raise ConfigError(
            f"kind={kind!r} of index {name}", "is none.", f"Kinds are {', '.join(_KINDS)}."
        )
    if name not in (kind, made):
        raise ConfigError(
            f"index {name!r} of the kind {kind}", f"is called {made}: a table has one of the kind.",
            f"table.create_index({made!r}, kind={made!r}).",
        )  # fmt: skip
    _check_columns(table, made, named)
    table.run("rebuild_index", name=made, engine=engine)
    found = [index for index in indexes(table) if index.name == made]
    return found[0]


def _check_columns(table: TableHandle, kind: str, columns: tuple[str, ...]) -> None:
    """Raises ConfigError for columns that an index of the kind is not of."""
    if not columns:
        return
    of: Sequence[str] = table.config.record_key_fields
    if kind == COLUMN_STATS:
        of = columns_of(table.schema, table.config, table.options)
    if set(columns) != set(of):
        raise ConfigError(
            f"index {kind} of table {table.config.name}", f"is of {', '.join(of) or 'generated keys'}, not of {', '.join(columns)}.",
            "Leave columns out; those with statistics are named by hoodie.metadata.index.column.stats.column.list.",
        )  # fmt: skip
