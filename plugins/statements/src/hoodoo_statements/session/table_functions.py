"""Functions in FROM that make rows of a table: ``hudi_table_changes``, ``hudi_query_timeline``,
``hudi_filesystem_view``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from hoodoo.errors import ConfigError
from hoodoo.kernel.archived import load_archived
from hoodoo.model.commit import CommitMetadata
from hoodoo.model.instant import Instant
from hoodoo.model.meta import META_COLUMNS
from hoodoo.table.table import Table
from hoodoo.table.table import open as open_table
from hoodoo.timeline import codec
from sqlglot import exp

from hoodoo_statements.evaluate import Evaluator
from hoodoo_statements.session.names import SessionNames
from hoodoo_statements.text.dialect import DIALECT
from hoodoo_statements.text.moments import instant_of

_TIMELINE = pa.schema(
    [
        *((name, pa.string()) for name in ("Timestamp", "Action", "State", "Completion_Time")),
        ("File_Name", pa.string()),
        ("Total_Bytes_Written", pa.int64()),
        ("Total_Files_Updated", pa.int64()),
        ("Total_Partitions_Written", pa.int64()),
        ("Total_Records_Written", pa.int64()),
        ("Total_Updated_Records_Written", pa.int64()),
        ("Total_Write_Errors", pa.int64()),
    ]
)
_SLICES = pa.schema(
    [
        ("File_ID", pa.string()),
        ("Partition_Path", pa.string()),
        ("Base_Instant_Time", pa.string()),
        ("Base_File_Path", pa.string()),
        ("Base_File_Size", pa.int64()),
        ("Log_File_Count", pa.int64()),
        ("Log_File_Size", pa.int64()),
        ("Log_File_Scheduled", pa.int64()),
        ("Log_File_Unscheduled", pa.int64()),
    ]
)


def with_functions(tree: Any, names: SessionNames) -> dict[str, Any]:
    """The rows that the calls in ``tree`` mean, by the names that stand in their place afterwards.

    Raises ConfigError for calls of another form, and what the methods of a table raise."""
    found: dict[str, Any] = {}
    for node in list(tree.find_all(exp.Table)):
        called = str(node.this.this).lower() if isinstance(node.this, exp.Anonymous) else ""
        if called == "hudi_metadata":
            raise ConfigError(
                f"function {called}",
                "is not supported here: it shows keys of the metadata table.",
                'Call session.table("t").indexes(), or hoodoo inspect on one of its files.',
            )
        if called not in _FUNCTIONS:
            continue
        name = f"{called}_{len(found) + 1}"
        found[name] = _FUNCTIONS[called](called, node.this.expressions, names)
        node.set("this", exp.to_identifier(name))
        if not node.alias:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(called)))
    return found


def _changes(called: str, arguments: list[Any], names: SessionNames) -> Any:
    """Of the type ``latest_state`` an incremental read, with Hudi's meta columns first; of the type
    ``cdc`` Hudi's columns of change data."""
    name, kind, *times = _texts(
        called,
        arguments,
        (3, 4),
        "the name of a table, a type, a begin, and perhaps an end",
        f"{called}('t', 'latest_state', 'earliest')",
    )
    table = _table(name, names)
    since, until = [instant_of(text) for text in (*times, "")[:2]]
    if kind.lower() == "cdc":
        return _images(table.changes(since, until or None).to_arrow())
    if kind.lower() not in ("latest_state", "incremental"):
        raise ConfigError(
            f"{kind!r} of {called}", "is not known.", "Use latest_state, or cdc for all changes."
        )
    columns = [*META_COLUMNS, *table.schema.names]
    return table.incremental(since, until or None, columns)


def _images(changes: pa.Table) -> pa.Table:
    """Changes as Hudi's cdc has them: the images before and after are JSON."""
    text = (
        "SELECT left(op, 1) AS op, instant AS ts_ms, CAST(to_json(before) AS VARCHAR) AS before, "
        "CAST(to_json(after) AS VARCHAR) AS after FROM changes"
    )
    return Evaluator().query(text, {"changes": changes})


def _timeline(called: str, arguments: list[Any], names: SessionNames) -> Any:
    """The writes of the timeline, also archived ones if the second argument says so."""
    name, *more = _texts(called, arguments, (1, 2), "the name of a table", f"{called}('t', 'true')")
    table = _table(name, names)
    timeline, storage = table.timeline(), table.handle.storage
    rows = []
    if more and more[0].lower() == "true":
        for old in load_archived(storage, table.config):
            if old.is_write:
                data = old.metadata_bytes()
                where = f"archived instant {old.requested}"
                said = codec.decode_commit(data, where) if data else CommitMetadata()
                rows.append(_row(table, old.instant, said))
    for instant in timeline.instants:
        if instant.is_completed and instant.is_write:
            rows.append(_row(table, instant, timeline.metadata(storage, instant)))
        elif instant.completes_as_write and not instant.is_completed:
            rows.append(_row(table, instant, CommitMetadata()))
    return _made(rows, _TIMELINE)


def _row(table: Table, instant: Instant, said: CommitMetadata) -> tuple[Any, ...]:
    stats = said.stats
    return (
        instant.requested,
        instant.action,
        instant.state.value,
        instant.completed,
        table.timeline().path(instant).rpartition("/")[2],
        sum(stat.file_size for stat in stats),
        len({(s.partition_path, s.file_id) for s in stats if s.prev_commit != "null"}),
        len({stat.partition_path for stat in stats}),
        sum(stat.num_writes for stat in stats),
        sum(stat.num_updates for stat in stats),
        sum(stat.total_write_errors for stat in stats),
    )


def _files(called: str, arguments: list[Any], names: SessionNames) -> Any:
    """The newest file slices."""
    (name,) = _texts(called, arguments, (1, 1), "the name of a table", f"{called}('t')")
    table = _table(name, names)
    root = table.handle.storage.root
    planned = planned_groups(table)
    rows = []
    for one in table.file_slices():
        base, size = one.base_file, sum(log.size for log in one.row_logs)
        waits = size if (one.partition_path, one.file_id) in planned else 0
        path = None if base is None else f"{root}/{base.path}"
        count = len(one.row_logs)
        of_base = (path, base.size if base else 0)
        where = (one.file_id, one.partition_path, one.instant)
        rows.append((*where, *of_base, count, size, waits, size - waits))
    return _made(rows, _SLICES)


def planned_groups(table: Table) -> set[tuple[str, str]]:
    """The file groups of pending compactions, by partition path and file id."""
    timeline, storage = table.timeline(), table.handle.storage
    found: set[tuple[str, str]] = set()
    for instant in timeline.pending():
        if instant.traits.begins_slices:
            plan = timeline.contents(storage, instant.at(instant.state.REQUESTED))
            found |= {(o["partitionPath"] or "", o["fileId"]) for o in plan["operations"] or ()}
    return found


def _made(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema)


def _texts(
    called: str, arguments: list[Any], count: tuple[int, int], takes: str, example: str
) -> list[str]:
    texts = [str(one.this) for one in arguments if isinstance(one, (exp.Literal, exp.Boolean))]
    if not count[0] <= len(arguments) <= count[1] or len(texts) < len(arguments):
        raise ConfigError(f"call of {called}", f"takes {takes}, as literals.", f"Write {example}.")
    return texts


def _table(name: str, names: SessionNames) -> Table:
    if "/" in name:
        return open_table(name)
    return names.table(exp.to_table(name, dialect=DIALECT))


_FUNCTIONS: dict[str, Callable[[str, list[Any], SessionNames], Any]] = {
    "hudi_table_changes": _changes,
    "hudi_query_timeline": _timeline,
    "hudi_filesystem_view": _files,
}
