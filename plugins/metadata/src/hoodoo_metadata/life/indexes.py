"""Indexes: what users call so, made, dropped and listed: partitions of the metadata table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import frozen
from hoodoo.errors import (
    CommitConflictError,
    ConfigError,
    HoodooError,
    SchemaError,
    UnsupportedTableError,
)
from hoodoo.hookspecs.engine import Engine
from hoodoo.table.handle import TableHandle

from hoodoo_metadata.life.definitions import (
    define_expression,
    define_secondary,
    is_partitioned,
    undefine,
)
from hoodoo_metadata.life.wanted import stored_name
from hoodoo_metadata.partitions.column_stats.from_files import columns_of
from hoodoo_metadata.partitions.expression.definition import FUNCTIONS, Expression
from hoodoo_metadata.partitions.known import is_possible
from hoodoo_metadata.partitions.secondary.rows import (
    KEPT,
    expressions,
    indexes_of_columns,
    is_indexable,
    noted,
    partition_of,
    secondaries,
)
from hoodoo_metadata.table.layout import (
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
from hoodoo_metadata.table.layout import EXPRESSION as EXPRESSIONS
from hoodoo_metadata.table.layout import SECONDARY as PREFIX
from hoodoo_metadata.table.metadata_table import building, listed

SECONDARY, EXPRESSION = "secondary", "expression"
_NAME = re.compile(r"[A-Za-z0-9_]+")
_OF_KEYS = (RECORD_INDEX, PARTITIONED, GROWING)
_KINDS = (*_OF_KEYS, COLUMN_STATS, BLOOM_FILTERS)


@frozen
class Index:
    """An index in the metadata table. ``partition`` is the partition that stores it, ``columns``
    are the indexed columns, and ``ready`` is true if it is complete, so that reads and writes use
    it."""

    name: str
    kind: str
    columns: tuple[str, ...]
    partition: str
    ready: bool = True


def indexes(table: TableHandle) -> tuple[Index, ...]:
    """The indexes in the table's metadata table, by name. The list of files is not an index."""
    table.refresh()
    config, found = table.config, {}
    ready, begun, kept = listed(config), building(config), secondaries(config)
    of_expressions = expressions(config)
    for partition in (*ready, *begun):
        if partition in (FILES, PARTITION_STATS):
            continue
        name = kind = INDEX_OF.get(partition, partition)
        columns: Sequence[str] = ()
        if partition == RECORD_INDEX and is_partitioned(table.storage):
            name = kind = PARTITIONED
        if partition in (*INDEXES, BLOOM_FILTERS):
            columns = config.record_key_fields
        elif partition in kept:
            name, kind, columns = partition.removeprefix(PREFIX), SECONDARY, (kept[partition],)
        elif partition in of_expressions:
            name, kind = partition.removeprefix(EXPRESSIONS), EXPRESSION
            columns = (of_expressions[partition],)
        elif partition == COLUMN_STATS:
            columns = columns_of(table.schema, config, table.options)
        found[name] = Index(name, kind, tuple(columns), partition, partition in ready)
    return tuple(found[name] for name in sorted(found))


def create_index(
    table: TableHandle,
    name: str,
    columns: str | Sequence[str] | None = None,
    kind: str = SECONDARY,
    expression: str | None = None,
    *,
    engine: str | Engine | None = None,
) -> Index:
    """Create an index in the metadata table, beside writers. From then on, every writer updates it.

    ``kind`` is by default ``secondary``: an index of one column with texts, whole numbers or dates.
    Reads with a filter such as ``city = 'oslo'`` or ``n in (1, 2)`` then open only the files that
    have such rows. It needs the record index of the whole table, which is created if it is missing;
    the table's own index stays. Other kinds are ``record_index``, ``partitioned_record_index``,
    ``growing_record_index``, ``column_stats`` and ``bloom_filters``; their names are the same, and
    a table has at most one of each. They need no ``columns``.

    ``expression``, SQL such as ``from_unixtime(ts, 'yyyy-MM-dd')``, makes an expression index of
    Hudi, by which Spark Hudi skips files when a query filters by the same expression. Reads of
    Hoodoo do not use it: they skip files by the ranges of the column itself.

    Raises ConfigError for an invalid index, UnsupportedTableError for tables that cannot have this
    kind, and CommitConflictError if another process is creating an index."""
    table.check_writable()
    table.refresh()
    named = (columns,) if isinstance(columns, str) else tuple(columns or ())
    if expression is None and kind in (SECONDARY, f"{SECONDARY}_index"):
        return _create_secondary(table, name, named, engine)
    if expression is not None or kind == EXPRESSION:
        return _create_expression(table, name, named, expression or "", engine)
    made = stored_name(kind) or kind
    if made not in _KINDS:
        raise ConfigError(
            f"kind={kind!r} of index {name}",
            "is none.",
            f"Kinds are {SECONDARY}, {', '.join(_KINDS)}.",
        )
    if name not in (kind, made):
        raise ConfigError(
            f"index {name!r} of the kind {kind}",
            f"is called {made}: a table has one of the kind.",
            f"table.create_index({made!r}, kind={made!r}).",
        )
    _check_columns(table, made, named)
    if made == RECORD_INDEX and is_partitioned(table.storage, config=table.config):
        raise ConfigError(
            f"index {made} of table {table.config.name}",
            "would take the place of partitioned_record_index.",
            "Use table.switch_index('record_index'): it makes the one of the other.",
        )
    table.run("rebuild_index", name=made, engine=engine)
    found = [index for index in indexes(table) if index.name == made]
    return found[0]


def _create_secondary(
    table: TableHandle, name: str, columns: tuple[str, ...], engine: str | Engine | None
) -> Index:
    config, partition = table.config, partition_of(name)
    what = f"index {name} of table {config.name}"
    if not _NAME.fullmatch(name):
        raise ConfigError(what, "has a name that makes no directory.", "Use letters, digits and _.")
    if len(columns) != 1:
        raise ConfigError(
            what,
            f"is of {len(columns)} columns, and a secondary index is of one.",
            'Name one: columns=["city"].',
        )
    (column,) = columns
    if column not in table.schema.names:
        raise SchemaError(
            f"column {column!r} of {what}",
            "is not in the table.",
            f"It has {', '.join(table.schema.names)}.",
        )
    kind = table.schema.field(column).type
    if not is_indexable(kind):
        raise ConfigError(
            what,
            f"would be of {column}, which is {kind}: texts, whole numbers and dates are indexed.",
            "Choose another column; ranges of all columns are in column_stats.",
        )
    if not is_possible(config, partition):
        raise UnsupportedTableError(
            what,
            f"can't be: tables of version {config.version} have no secondary indexes.",
            "Use version 9.",
        )
    if not config.populate_meta_fields:
        raise ConfigError(
            what,
            "would name record keys, and these are virtual.",
            "Make them stored ones: table.rewrite_keys(virtual=False).",
        )
    if is_partitioned(table.storage, config=config):
        raise UnsupportedTableError(
            what,
            "would name record keys, and these may be once in each partition path.",
            "Give the table a global index first: table.switch_index('record_index').",
        )
    _refuse_taken(table, name, what)
    if RECORD_INDEX not in listed(config):
        # For readers: writers whose keys may lie in each partition path must not begin to move rows
        # by it.
        table.run("rebuild_index", name=RECORD_INDEX, engine=engine, keep_own=True)
    define_secondary(table.storage, table.config, partition, column)
    return _made(table, partition, column, engine)


def _create_expression(
    table: TableHandle,
    name: str,
    columns: tuple[str, ...],
    text: str,
    engine: str | Engine | None,
) -> Index:
    config, partition = table.config, f"{EXPRESSIONS}{name}"
    what = f"index {name} of table {config.name}"
    if not _NAME.fullmatch(name):
        raise ConfigError(what, "has a name that makes no directory.", "Use letters, digits and _.")
    if not is_possible(config, partition):
        raise UnsupportedTableError(
            what,
            f"can't be: tables of version {config.version} have no indexes of expressions.",
            "Use version 9.",
        )
    found = Expression.parsed(text, table.schema, config.version)
    if found is None or (columns and columns != (found.column,)):
        raise ConfigError(
            f"expression={text!r} of {what}",
            "is no function of one column that Hudi indexes.",
            "Write it as expression=\"from_unixtime(ts, 'yyyy-MM-dd')\"; functions are "
            f"{', '.join(FUNCTIONS)}.",
        )
    _refuse_taken(table, name, what)
    if FILES not in listed(config):
        table.run("rebuild_index", name=FILES, engine=engine)
    define_expression(table.storage, table.config, partition, found)
    return _made(table, partition, found.column, engine)


def _refuse_taken(table: TableHandle, name: str, what: str) -> None:
    if any(name == index.name for index in indexes(table)):
        raise ConfigError(what, "is there already.", f"table.drop_index({name!r}) drops it.")


def _made(table: TableHandle, partition: str, column: str, engine: str | Engine | None) -> Index:
    """The index in ``partition``, which is defined, and built here; undefined where that fails."""
    table.change_properties(
        lambda now: {KEPT: noted({**indexes_of_columns(now), partition: column})}
    )
    try:
        table.run("rebuild_index", name=partition, engine=engine)
    except HoodooError:
        table.refresh()
        if partition not in (*listed(table.config), *building(table.config)):
            undefine(table.storage, [partition])
            table.change_properties(
                lambda now: {
                    KEPT: noted(
                        {p: c for p, c in indexes_of_columns(now).items() if p != partition}
                    )
                }
            )
        raise
    for index in indexes(table):
        if index.partition == partition:
            return index
    raise CommitConflictError(
        f"table {table.config.name}: index {partition}",
        "was dropped by another process as soon as it was made.",
        "Create it again, if this version of the table has such indexes.",
    )


def _check_columns(table: TableHandle, kind: str, columns: tuple[str, ...]) -> None:
    """Raises ConfigError for columns that an index of the kind is not of."""
    if not columns:
        return
    of: Sequence[str] = table.config.record_key_fields
    if kind == COLUMN_STATS:
        of = columns_of(table.schema, table.config, table.options)
    if set(columns) != set(of):
        raise ConfigError(
            f"index {kind} of table {table.config.name}",
            f"is of {', '.join(of) or 'generated keys'}, not of {', '.join(columns)}.",
            "Leave columns out; those with statistics are named by "
            "hoodie.metadata.index.column.stats.column.list.",
        )
