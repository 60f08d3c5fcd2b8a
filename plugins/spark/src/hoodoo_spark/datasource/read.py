"""Batch reads: planned where Spark plans, read in its tasks as Arrow batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from functools import partial
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.errors import SchemaError
from hoodoo.hookspecs.engine import Step, Task
from hoodoo.log import get_logger
from hoodoo.model.meta import META_COLUMNS, META_FIELDS
from hoodoo.table.table import Table
from hoodoo_rows.api import Query, Reads, Scan, StoredFiles
from hoodoo_rows.model.conform import conform

from hoodoo_spark.datasource import filters
from hoodoo_spark.datasource.options import CHANGES, INCREMENTAL, SNAPSHOT, Wanted, chosen
from hoodoo_spark.datasource.places import anew, plain, reached, refuse_other_columns
from hoodoo_spark.session import refuse_unshared
from hoodoo_spark.types import spark_schema, task_schema

TASK_BYTES = 64 << 20  # of files in one task
LARGE_BYTES = 256 << 20  # of files in one read
_log = get_logger(__name__)


def schema_of(wanted: Wanted) -> Any:
    """What rows look like where nobody says it, as a ``StructType``. Only the timeline is read, if
    the newest schema is asked for."""
    table = opened(wanted)
    if wanted.mode == CHANGES:
        now = datetime.now(timezone.utc)  # that there were no changes yet does not matter
        return spark_schema(table.changes(now, columns=wanted.columns).schema)
    if wanted.as_of is not None or wanted.end is not None:
        if wanted.mode == INCREMENTAL and wanted.begin is None:  # the reader says what is missing
            wanted = evolve(wanted, begin="earliest")
        return spark_schema(scan_of(wanted).schema)
    rows = columns_now(table)
    names = columns_of(rows, wanted, table.path)
    hidden = pa.schema(META_FIELDS)
    return spark_schema(
        pa.schema([(rows if name in rows.names else hidden).field(name) for name in names])
    )


def columns_now(table: Table) -> pa.Schema:
    return StoredFiles.columns(table.schema, table.config)


def opened(wanted: Wanted) -> Table:
    """Raises EngineError for a store that Spark's workers would find empty; else what
    ``hoodoo.open`` raises."""
    with reached(wanted.path):
        table = hoodoo.open(wanted.path, wanted.hoodie)
    refuse_unshared(table.handle.storage)
    return table


def scan_of(
    wanted: Wanted, names: Sequence[str] | None = None, where: pc.Expression | None = None
) -> Scan | Query:
    """The read that is asked for; ``names``: the columns of its result, None for all."""
    table = opened(wanted)
    since: Any = wanted.begin  # None: the call says what is missing
    if wanted.mode == CHANGES:
        return table.changes(since, wanted.end, columns=wanted.columns)
    if wanted.mode == INCREMENTAL:
        read: Callable[..., Scan] = partial(table.incremental, since, wanted.end)
    else:
        read = partial(table.read, as_of=wanted.as_of, mode=wanted.mode)
    if names is None:
        names = columns_of(read().plan.stored, wanted, table.path)
    return read(columns=list(names), where=where)


def columns_of(rows: pa.Schema, wanted: Wanted, table: str) -> tuple[str, ...]:
    """The columns of rows: the table's own, then all meta columns if they are asked for. Those that
    the table does not fill, as with virtual keys, are null."""
    own = [name for name in rows.names if name not in META_COLUMNS]
    if wanted.columns is None:
        return (*own, *META_COLUMNS) if wanted.meta else tuple(own)
    return chosen([*own, *META_COLUMNS], wanted, table)


@frozen
class Rows:
    """What a task needs to read a payload: a pickle in Spark's plan."""

    step: Step
    schema: pa.Schema  # what Spark expects, to the letter

    def __call__(self, payload: bytes | None) -> Iterator[pa.RecordBatch]:
        if payload is None:  # Spark's own, where there is nothing to read
            return
        column = pa.array([payload], pa.binary())
        batch = pa.RecordBatch.from_arrays([column], names=[Reads.PAYLOAD])
        for rows in self.step(iter([batch]), Task(0)):
            if rows.num_rows:
                yield conform(rows, self.schema, drop_extra=True)


def planned(wanted: Wanted, struct: Any, pushed: Sequence[Any]) -> tuple[Rows, list[bytes]]:
    """``struct``: the columns that Spark wants, of which the table may have more. Raises
    SchemaError where it lacks one, or has it in another type."""
    asked = task_schema(struct)
    if wanted.mode == SNAPSHOT and wanted.as_of is None:
        refuse_other_columns(wanted, struct, columns_now(opened(wanted)))
    if wanted.mode == CHANGES:
        scan: Scan | Query = scan_of(wanted)
    else:
        where = filters.expression(pushed, asked) if pushed else None
        scan = scan_of(wanted, asked.names, where)
    check_columns(scan.schema, struct, wanted)
    size = scan.size if isinstance(scan, Query) else scan.plan.size
    if size >= LARGE_BYTES:  # Spark shows a warning of a process of Python
        _log.warning(
            "large_read",
            table=wanted.path,
            bytes=size,
            instead='hoodoo.session(spark).sql("SELECT ...") reads it with Spark\'s Parquet reader',
        )
    return Rows(scan.step, asked), pieces(scan, wanted.tasks)


def pieces(scan: Scan | Query, tasks: int | None) -> list[bytes]:
    """What tasks read, one each."""
    if isinstance(scan, Query):
        return scan.payloads(tasks or _tasks(scan.size))
    return Reads.payloads(scan.plan.slices, tasks or _tasks(scan.plan.size))


def _tasks(size: int) -> int:
    return max(os.cpu_count() or 1, -(-size // TASK_BYTES))


def check_columns(found: pa.Schema, struct: Any, wanted: Wanted) -> None:
    """Raise SchemaError unless the columns of ``struct`` are those of ``found``, nullability
    apart."""
    types = {field.name: field.dataType for field in spark_schema(found).fields}
    for field in struct.fields:
        has = types.get(field.name)
        if has is None or plain(has) != plain(field.dataType):
            rule = "does not have it" if has is None else f"has it as {has.simpleString()}"
            raise SchemaError(
                f"column {field.name} {field.dataType.simpleString()}",
                f"was asked for, and table {wanted.path} {rule}",
                f"The columns are those of Spark's catalog: {anew(wanted.path)}"
                if wanted.catalog
                else "Leave the schema out: the table has its own.",
            )
