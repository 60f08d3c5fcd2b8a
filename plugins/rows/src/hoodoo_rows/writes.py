"""Writes of a table: each is one commit. One action, whose operations are the methods of a
table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve
from hoodoo.errors import CallError, ConfigError, DataError
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.merger import delete_mark
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import in_role
from hoodoo.model.brief import cut
from hoodoo.model.meta import IS_DELETED
from hoodoo.options import write as options
from hoodoo.options.table import ADD_COLUMNS, BY_ARRIVAL, BY_EVENT_TIME, CDC
from hoodoo.table.handle import TableHandle
from hoodoo.timeline.batches import Batch

from hoodoo_rows.engine.sources import known_data
from hoodoo_rows.merge.pairs import is_plain
from hoodoo_rows.of_table import plugins, write_request, write_target
from hoodoo_rows.options import GROUP
from hoodoo_rows.write import operation, run
from hoodoo_rows.write.commit import Commit
from hoodoo_rows.write.target import WriteTarget

if TYPE_CHECKING:
    from hoodoo_rows.write.ready import ReadyWrite


class Write:
    """The action ``write``: ``table.run("write", operation="insert", data=rows)`` is
    ``table.insert(rows)``."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Write:
        """The action; no option changes it."""
        return cls()

    def run(self, table: TableHandle, *, operation: str = "upsert", **arguments: Any) -> Commit:
        """``operation``: the name of a method of a table that writes; ``arguments`` are those of
        the method. ConfigError for another name."""
        if operation not in _OPERATIONS:
            raise ConfigError(
                f"operation={operation!r}",
                "is no operation of a write.",
                f"Use one of {', '.join(_OPERATIONS)}.",
            )
        found: Commit = _OPERATIONS[operation](table, **arguments)
        return found


def upsert(
    table: TableHandle,
    data: Any,
    *,
    engine: str | Engine | None = None,
    batch: Batch | None = None,
    add_columns: bool = False,
) -> Commit:
    """Update rows whose key is in the table, and insert the others. All writes: docs/writing.md.

    A column that the table lacks is refused. With ``add_columns=True`` (also in the other writes)
    it becomes a column of the table. ``batch`` (also in the other writes) is the name and number of
    a batch. If this batch, or a newer batch of its stream, is already in the table, nothing is
    written, and the commit has an empty instant. See docs/streaming.md."""
    return write(table, operation.UPSERT, data, engine, batch, add_columns)


def insert(
    table: TableHandle,
    data: Any,
    *,
    engine: str | Engine | None = None,
    batch: Batch | None = None,
    add_columns: bool = False,
) -> Commit:
    """Add rows; small files are filled first. Stored keys are compared only if
    ``hoodie.datasource.insert.dup.policy`` is ``drop`` or ``fail``."""
    policy = options.duplicates(table.options)
    kind = operation.INSERT if policy == "none" else operation.INSERT_CHECKED
    return write(table, kind, data, engine, batch, add_columns)


def append(
    table: TableHandle,
    data: Any,
    *,
    engine: str | Engine | None = None,
    batch: Batch | None = None,
    add_columns: bool = False,
) -> Commit:
    """Add rows in new files, without an exchange and without a comparison with stored keys."""
    return write(table, _combined(table, operation.APPEND), data, engine, batch, add_columns)


def bulk_insert(
    table: TableHandle,
    data: Any,
    *,
    engine: str | Engine | None = None,
    batch: Batch | None = None,
    add_columns: bool = False,
) -> Commit:
    """Write rows to new files in the order in which they arrive. This is the fastest write, for
    first loads."""
    return write(table, _combined(table, operation.BULK_INSERT), data, engine, batch, add_columns)


def delete(
    table: TableHandle,
    data: Any = None,
    *,
    where: Any = None,
    engine: str | Engine | None = None,
    batch: Batch | None = None,
) -> Commit:
    """Delete rows by key. ``data`` has the key columns, or whole rows. Without the partition
    columns, a key is deleted in every partition path. If the key is one column, a list of keys is
    enough.

    Or delete all rows for which ``where`` is true: a pyarrow expression, SQL as text, or a Spark
    Column."""
    if isinstance(data, (str, pc.Expression)) and where is None:
        fix = "table.delete(where=...) deletes the rows for which a condition is true."
        if isinstance(data, str):
            ways = f"table.delete(where={data!r}); for one key, table.delete([{data!r}])"
            fix = f"For a condition, {ways}."
        raise CallError(
            f"table.delete({cut(data)})",
            "takes a list of keys here, and a condition by its name.",
            fix,
        )
    if (data is None) == (where is None) or isinstance(data, (str, pc.Expression)):
        raise CallError(
            "table.delete",
            "needs keys or a condition, and not both.",
            'Say which rows to delete: table.delete(keys), or table.delete(where="city = '
            "'oslo'\").",
        )
    if where is not None:
        action = in_role("action", "deletes_where")
        found: Commit = table.run(action, where=where, engine=engine, batch=batch)
        return found
    if isinstance(data, (list, tuple, set, frozenset, pa.Array, pa.ChunkedArray)):
        data = known_data(data, table.schema, table.config.record_key_fields)
    return write(table, operation.DELETE, data, engine, batch)


def insert_overwrite(
    table: TableHandle,
    data: Any,
    *,
    engine: str | Engine | None = None,
    batch: Batch | None = None,
    add_columns: bool = False,
) -> Commit:
    """Replace the partition paths that occur in ``data`` with its rows."""
    return write(table, operation.INSERT_OVERWRITE, data, engine, batch, add_columns)


def insert_overwrite_table(
    table: TableHandle,
    data: Any,
    *,
    engine: str | Engine | None = None,
    batch: Batch | None = None,
    add_columns: bool = False,
) -> Commit:
    """Replace all rows of the table with the rows of ``data``."""
    return write(table, operation.INSERT_OVERWRITE_TABLE, data, engine, batch, add_columns)


def delete_partitions(table: TableHandle, paths: str | Sequence[str]) -> Commit:
    """Drop whole partition paths (``"region=apac"``, or ``"2013/01"`` without hive style)."""
    wanted = [paths] if isinstance(paths, str) else list(paths)
    first = True

    def take_snapshot() -> WriteTarget:
        nonlocal first
        target = write_target(table)
        known = {s.partition_path for s in target.slices}
        unknown = sorted(set(wanted) - known)
        # A repeated attempt may find that the other writer dropped the same.
        began, first = first, False
        if unknown and began:
            raise DataError(
                f"partition {', '.join(unknown)}",
                f"is not in the table ({_some(known)})",
                "give partition paths as table.file_slices() shows them.",
            )
        return target

    due = table.after_writes.due()
    request = write_request(table, operation.DELETE_PARTITION, take_snapshot)
    commit = run.drop_partitions(request, lambda target: wanted)
    assert commit is not None
    table.after_writes.run(due, lambda: table.engine(None, table.default_engine))
    return commit


def write(
    table: TableHandle,
    kind: operation.WriteKind,
    data: Any,
    engine: str | Engine | None,
    batch: Batch | None,
    add_columns: bool = False,
) -> Commit:
    """One write of ``kind``; ``data`` may depend on what is in the table
    (:mod:`hoodoo_rows.write.target`)."""
    if add_columns:
        table = table.with_options({ADD_COLUMNS.key: "true"})
    due = table.after_writes.due()
    chosen = engine or table.default_engine
    if isinstance(data, (list, tuple, Mapping)):
        data = known_data(data, table.schema)
    look = partial(write_target, table, data, chosen, later=True)
    follow = partial(table.after_writes.follow, due)
    request = write_request(table, kind, look, batch, follow)
    waited: list[ReadyWrite] = []
    if batch is None:
        request = evolve(request, ready=partial(_ready, waited, table, kind, data, engine))
    commit = run.run(request, data)
    by_another = any(one.is_written for one in waited)  # which does what comes after it
    if commit.instant and not by_another:
        table.after_writes.run(due, lambda: table.engine(data, chosen))
    return commit


def _ready(
    waited: list[ReadyWrite],
    table: TableHandle,
    kind: operation.WriteKind,
    data: Any,
    engine: str | Engine | None,
) -> ReadyWrite | None:
    """The write as one that may share a commit with others; None where the rows of the table could
    differ then. ``waited`` gets it."""
    from hoodoo_rows.write.ready import MOST, ready  # most writes meet no other

    if kind != operation.UPSERT or not isinstance(data, (pa.Table, pa.RecordBatch)):
        return None
    own = table.overrides or table.other_index is not None or not GROUP.read(table.options)
    if own or data.nbytes > MOST:
        return None
    shares = partial(_shares, table, frozenset(data.schema.names))
    if not shares():
        return None
    engine = engine or table.default_engine
    found = ready(data, shares, table.storage, tuple(sorted(table.options.items())), engine)
    waited += [found] if found is not None else []
    return found


def _shares(table: TableHandle, columns: frozenset[str]) -> bool:
    """Whether upserts of rows with these ``columns``, all at once, leave the rows of ``table``, as
    its properties are now, as one after the other would."""
    if not table.config.record_key_fields or CDC.stored(table.config.properties):
        return False  # each row is new, or each change is noted
    merger = plugins(table).merger
    mark = delete_mark(merger)
    marks = columns.intersection((IS_DELETED, *(mark[:1] if mark else ())))
    # A deleted row does not say when it was deleted: a row that comes later is new.
    by_time = is_plain(merger, BY_EVENT_TIME) and not marks
    return by_time or is_plain(merger, BY_ARRIVAL)


def _combined(table: TableHandle, kind: operation.WriteKind) -> operation.WriteKind:
    return kind.exchanged() if options.COMBINE.read(table.options) else kind


def _some(names: set[str]) -> str:
    shown = sorted(names)[:5]
    return "it has " + ", ".join(repr(n) for n in shown) + (", ..." if len(names) > 5 else "")


_EACH: tuple[Callable[..., Commit], ...] = (
    upsert,
    insert,
    append,
    bulk_insert,
    delete,
    insert_overwrite,
    insert_overwrite_table,
    delete_partitions,
)
_OPERATIONS = {function.__name__: function for function in _EACH}
