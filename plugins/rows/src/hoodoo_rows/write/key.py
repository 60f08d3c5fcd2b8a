"""Key: record key and partition path of every row, computed once, on Arrow."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import ConfigError, NullKeyError
from hoodoo.hookspecs.engine import Task
from hoodoo.hookspecs.index import ComputedIndex, PathBuckets
from hoodoo.hookspecs.key_generator import (
    GeneratesKeys,
    KeyGenerator,
    deletes_only,
    refuse_ambiguous,
)
from hoodoo.model.meta import PARTITION_PATH, RECORD_KEY

from hoodoo_rows.merge.rule import Mark, marked_operations
from hoodoo_rows.model.internal_row import DELETE, OP
from hoodoo_rows.produce.columns import BUCKET, SEQ, append_columns, bucketed, keyed
from hoodoo_rows.write.operation import WriteKind

# A row's place in the source: the partition in the upper bits, the row below.
_ROW_BITS = 40


@frozen
class AddKeys:
    """Step: rows of ``schema`` become keyed rows."""

    schema: pa.Schema
    generator: KeyGenerator
    deletes: bool = False
    # A null in one of these columns is an error.
    filled: tuple[str, ...] = ()
    # Of the write, which generated keys begin with.
    instant: str = ""
    mark: Mark | None = None

    @classmethod
    def of(
        cls,
        schema: pa.Schema,
        generator: KeyGenerator,
        kind: WriteKind,
        instant: str,
        strict: bool = False,
        mark: Mark | None = None,
    ) -> AddKeys:
        """For a write of ``kind`` at ``instant`` (requested time). ``strict``: no column of a key
        may be null. ``mark``: what marks rows as deleted, of the table's merger.

        ConfigError where the generator is not for that: one for deletes, or one whose keys no row
        can be found by again."""
        if deletes_only(generator) and not kind.deletes:
            raise ConfigError(
                f"key generator {generator.__class__.__name__}",
                "is for deletes, and this is no delete.",
                "open the table without it.",
            )
        if isinstance(generator, GeneratesKeys) and kind.looks_up:
            raise ConfigError(
                f"a write of the kind {kind.operation.value.lower()}",
                "looks for rows by key, and the keys of this table are made when rows are written.",
                "use insert without a policy for duplicates, append, bulk_insert, insert_overwrite "
                "or "
                "delete_partitions; or create the table with record_key=...",
            )
        filled = generator.record_key_fields if strict else ()
        return cls(schema, generator, kind.deletes, filled, instant, mark)

    @property
    def out_schema(self) -> pa.Schema:
        """The rows with their record keys and partition paths."""
        return keyed(self.schema)

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        start = task.number << _ROW_BITS
        for batch in batches:
            rows = batch.num_rows
            if not rows:
                continue
            for name in self.filled:
                _check_filled(batch, name)
            refuse_ambiguous(self.generator, batch)
            more = {
                OP: self._operations(batch),
                SEQ: pa.array(np.arange(start, start + rows, dtype=np.int64)),
                RECORD_KEY: self._keys(batch, task, start - (task.number << _ROW_BITS)),
                PARTITION_PATH: self.generator.partition_paths(batch),
            }
            start += rows
            yield append_columns(batch, self.out_schema, **more)

    def _keys(self, batch: pa.RecordBatch, task: Task, first_row: int) -> pa.Array:
        """A task that runs again reads the same rows in the same order, and makes the same keys."""
        if isinstance(self.generator, GeneratesKeys) and self.instant:
            return self.generator.generated_keys(
                batch.num_rows, self.instant, task.number, first_row
            )
        return self.generator.record_keys(batch)

    def _operations(self, batch: pa.RecordBatch) -> pa.Array:
        if self.deletes:
            return pa.array(np.full(batch.num_rows, DELETE, np.int8))
        return marked_operations(batch, self.mark)


def _check_filled(batch: pa.RecordBatch, name: str) -> None:
    parts = [name] if name in batch.schema.names else name.split(".")
    column = batch.column(parts[0])
    column = pc.struct_field(column, parts[1:]) if parts[1:] else column
    if column.null_count:
        raise NullKeyError(
            f"key column {name}",
            f"is null in {column.null_count} of {len(column)} rows of a batch, and the keys of "
            "this table "
            "are virtual (hoodie.recordkey.virtual.enabled=true).",
            "fill the column or filter these rows out before writing.",
        )


@frozen
class _Bucketing:
    schema: pa.Schema

    @property
    def out_schema(self) -> pa.Schema:
        """The rows with the buckets of their keys."""
        return bucketed(self.schema)


@frozen
class AddBuckets(_Bucketing):
    """Step: keyed rows with the bucket of their key, computed once: the plan and the route need
    it."""

    index: ComputedIndex

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            more = {BUCKET: self.index.bucket(batch.column(RECORD_KEY))}
            yield append_columns(batch, self.out_schema, **more)


@frozen
class AddPathBuckets(_Bucketing):
    """Step: as :class:`AddBuckets`, by keys and paths. A row that has a second bucket comes
    twice."""

    buckets: PathBuckets

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            named = batch.column(RECORD_KEY), batch.column(PARTITION_PATH)
            yield append_columns(batch, self.out_schema, **{BUCKET: self.buckets.bucket(*named)})
            more = self.buckets.second(*named)
            if more is not None and more.null_count < len(more):
                again = batch.filter(pc.is_valid(more))
                yield append_columns(again, self.out_schema, **{BUCKET: more.drop_null()})


@frozen
class KeysOnly:
    """Step: the distinct (record key, partition path) pairs of each batch, as an index asks."""

    out_schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            pairs = pa.Table.from_arrays(
                [batch.column(RECORD_KEY), batch.column(PARTITION_PATH)],
                names=["record_key", "partition_path"],
            )
            yield from pairs.group_by(["record_key", "partition_path"]).aggregate([]).to_batches()
