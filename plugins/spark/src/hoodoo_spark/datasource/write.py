"""Batch writes: tasks stage their rows, the commit writes them by the local engine, within a budget
of memory."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import hoodoo
import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.errors import (
    CommitConflictError,
    ConfigError,
    DataError,
    NotATableError,
    SchemaError,
    TableExistsError,
)
from hoodoo.model.meta import META_COLUMNS
from hoodoo.options.write import duplicates
from hoodoo.storage.api import Storage
from hoodoo.table.settings import open_storage
from hoodoo.table.table import Table
from hoodoo.timeline.batches import Batch
from hoodoo_rows.api import Commit

from hoodoo_spark.datasource.options import Wanted
from hoodoo_spark.datasource.places import reached, refuse_other_columns
from hoodoo_spark.datasource.read import columns_now
from hoodoo_spark.datasource.stage import Staged, Staging
from hoodoo_spark.operations import OPERATIONS
from hoodoo_spark.options import COMMIT_BYTES, PAUSE, RETRIES
from hoodoo_spark.session import refuse_unshared
from hoodoo_spark.types import arrow_schema

_REPLACING = ("insert_overwrite", "insert_overwrite_table")
# They take rows as a stream: what does not fit into memory is no matter.
_STREAMED = ("append", "bulk_insert")
# A setting of the session, which Spark also gives to the tasks of a query
# (SQLExecution.withSQLConfPropagated).
_SESSIONS = "spark.sql.sources.partitionOverwriteMode"
# Spark sets it in the thread of a streaming query (StreamExecution.QUERY_ID_KEY), and so in its
# tasks.
QUERY = "sql.streaming.queryId"
# The execution of a task, and the one that it began in: they differ where one runs within another,
# as the write of saveAsTable, of AS SELECT and of writeTo().create() does, which first makes an
# entry of the catalog. Those of foreachBatch differ, too.
_EXECUTION, _ROOT = "spark.sql.execution.id", "spark.sql.execution.root.id"


@frozen
class Writing:
    """A write, decided where Spark plans; pickled for its tasks and for its commit."""

    wanted: Wanted
    schema: pa.Schema
    overwrite: bool
    staging: Staging

    @classmethod
    def of(cls, wanted: Wanted, struct: Any, overwrite: bool, name: str = "") -> Writing:
        """Raises ConfigError for an operation that there is not, SchemaError for types that Arrow
        lacks."""
        _operation(wanted, overwrite)
        schema = arrow_schema(struct)
        with reached(wanted.path):
            storage = open_storage(wanted.path, wanted.hoodie)
            refuse_unshared(storage)
            if wanted.catalog and storage.head(".hoodie/hoodie.properties") is not None:
                table = hoodoo.open(wanted.path, wanted.hoodie)
                refuse_other_columns(wanted, struct, columns_now(table))
            return cls(wanted, schema, overwrite, Staging.begin(storage, schema, name))

    def write(self, batches: Iterable[pa.RecordBatch]) -> Staged:
        """In a task of a batch job. Where Spark plans and commits, no setting of the session can be
        read."""
        from pyspark import TaskContext

        context = TaskContext.get()
        said = context.getLocalProperty if context is not None else {}.get
        return evolve(
            self.staging.write(batches),
            dynamic=(said(_SESSIONS) or "").lower() == "dynamic",
            entered=said(_ROOT) not in (None, said(_EXECUTION)) and said(QUERY) is None,
        )

    def commit(self, staged: Sequence[Staged], batch: Batch | None = None) -> Commit:
        """Make the table if there is none, and write into it what was staged, in one commit."""
        if any(one.entered for one in staged):
            raise ConfigError(
                "an entry of Spark's catalog that comes with rows (saveAsTable, AS SELECT, "
                "writeTo().create())",
                "is refused: Spark passes the path of its table on to no later statement",
                f"write the rows, .save('{self.wanted.path}'), then make the entry: CREATE TABLE "
                f"name USING hoodoo LOCATION '{self.wanted.path}', without columns. Or give the "
                "statement to hoodoo.session(spark).sql",
            )
        table, made = opened(self.wanted.path, self.schema, self.wanted.hoodie)
        operation = self.operation(table, any(one.dynamic for one in staged))
        try:
            self._check_size(staged, operation)
            return self._written(table, operation, staged, batch)
        except (DataError, SchemaError, ConfigError):
            if made:  # of the table that was made for these rows nothing is left either
                remove(table)
            raise

    def _written(
        self, table: Table, operation: str, staged: Sequence[Staged], batch: Batch | None
    ) -> Commit:
        write = getattr(table, operation)
        retries, pause = RETRIES.read(self.wanted.hoodie), PAUSE.read(self.wanted.hoodie) / 1000
        while True:
            try:
                done: Commit = write(self._data(staged, operation), engine="local", batch=batch)
                return done
            except CommitConflictError:
                if batch is None or not retries:
                    raise
            time.sleep(pause)
            retries, pause = retries - 1, pause * 2

    def operation(self, table: Table, dynamic: bool = False) -> str:
        """What is done with the rows: by default upsert, as in Spark Hudi, and insert where rows
        have no keys, or where an option says what happens to stored keys. ``dynamic``: the session
        overwrites partition paths only, which has a meaning in tables with partitions."""
        wanted = self.wanted
        if wanted.dynamic is None and dynamic and table.config.partition_fields:
            wanted = evolve(wanted, dynamic=True)
        asked = _operation(wanted, self.overwrite)
        if asked and asked != "upsert":
            return asked
        if duplicates(wanted.hoodie) != "none":  # Spark Hudi makes an insert of it, too
            return "insert"
        return asked or ("upsert" if table.config.record_key_fields else "insert")

    def _check_size(self, staged: Sequence[Staged], operation: str) -> None:
        most = COMMIT_BYTES.read(self.wanted.hoodie)
        size = sum(one.size for one in staged)
        if size > most and operation not in _STREAMED:
            raise DataError(
                f"{operation} of {sum(one.rows for one in staged)} rows, {size >> 20} MiB,",
                f"is more than the commit of the data source takes at once ({most >> 20} MiB): it "
                "runs in one process",
                f"write them by all workers, table.{operation}(df) with table = "
                f'hoodoo.open("{self.wanted.path}"); or '
                f"give option {COMMIT_BYTES.key}.",
            )

    def _data(self, staged: Sequence[Staged], operation: str) -> Any:
        batches = self.staging.batches(staged)
        # Rows that were read with their meta columns are written without.
        names = [name for name in self.schema.names if name not in META_COLUMNS]
        schema = pa.schema([self.schema.field(name) for name in names])
        rows = (batch.select(names) for batch in batches)
        if operation in _STREAMED:
            return pa.RecordBatchReader.from_batches(schema, rows)
        return pa.Table.from_batches(list(rows), schema)

    def discard(self, staged: Sequence[Staged] = ()) -> None:
        """Remove what was staged, here or by an object before this one."""
        for prefix in {one.path.rpartition("/")[0] for one in staged if one.path}:
            evolve(self.staging, prefix=prefix).discard()
        self.staging.discard()


def _operation(wanted: Wanted, overwrite: bool) -> str | None:
    asked = wanted.operation
    name = asked.strip().lower() if asked else None
    if name is not None and name not in OPERATIONS:
        fix = f"take one of {', '.join(OPERATIONS)}."
        if name in _INSTEAD:
            fix = f"{_INSTEAD[name]} with table = hoodoo.open({wanted.path!r}); for rows {fix}"
        raise ConfigError(f"operation {asked!r}", "is not one that rows can be written with", fix)
    if not overwrite:
        return name
    if name == "delete":
        raise ConfigError('operation "delete"', "overwrites nothing", 'use mode("append").')
    if name in _REPLACING:
        return name
    # As in Spark Hudi: what was there before is not there any more, whatever brings the new rows.
    return "insert_overwrite" if wanted.dynamic else "insert_overwrite_table"


# Operations of Spark Hudi that take no rows, and how they are called.
_INSTEAD = {
    "delete_partition": 'table.delete_partitions(["city=oslo"])',
    "compact": "table.compact()",
    "cluster": "table.cluster()",
    "alter_schema": 'table.alter(add={"tip": "double"})',
}


def opened(path: str, schema: pa.Schema, options: Mapping[str, str]) -> tuple[Table, bool]:
    """The table, and whether it was made here, of Hudi's own options."""
    try:
        with reached(path):
            return hoodoo.open(path, options), False
    except NotATableError:
        own = pa.schema([field for field in schema if field.name not in META_COLUMNS])
        # Rows of today may have no nulls in a column, those of tomorrow have some.
        fixed = {name.strip() for name in options.get(_KEYS, "").split(",")}
        own = pa.schema([f if f.name in fixed else f.with_nullable(True) for f in own])
        try:
            return hoodoo.create(path, own, options=options), True
        except TableExistsError:  # another writer was faster
            return hoodoo.open(path, options), False


_KEYS = "hoodie.datasource.write.recordkey.field"


def remove(table: Table) -> None:
    """Take back a table that was made for a write that did not come about."""
    storage: Storage = table.handle.storage
    if not table.timeline().writes():
        storage.delete_prefix(".hoodie")
