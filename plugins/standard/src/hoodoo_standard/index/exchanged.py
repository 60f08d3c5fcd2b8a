"""A lookup whose asked keys are too many for a side table: both sides meet in an exchange.

Asked and stored keys are sent to parts by a hash of the record key and matched there. It costs one
reading of the table's keys and moves them all, so it is for large askings only. What crosses are
index records (RFC-84): they carry no row data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.hookspecs.engine import PART, SLOT, Side, Stream, Task
from hoodoo.hookspecs.index import LOCATIONS_SCHEMA, IndexContext
from hoodoo.model.filegroup import BaseFile
from hoodoo_rows.model.java_hash import string_hash

from hoodoo_standard.index.plan import KeyReader, file_tasks, read_payload

# Bytes of keys of one part; a part is matched in memory, in a few times this size.
_PART_BYTES = 32 << 20
# Keys are rarely more than one part in so many of a base file; for the number of parts only.
_KEY_SHARE = 2

_PATHS = pa.schema([("partition_path", pa.string())])
# A key without a file id is asked for; one with it is stored there. Stored keys are many: their
# `file_id` is a number, as text, and the names that the numbers stand for are in a side table.
_SIDES = pa.schema(
    [
        (PART, pa.int32()),
        (SLOT, pa.int32()),
        ("record_key", pa.string()),
        ("partition_path", pa.string()),
        ("file_id", pa.string()),
    ]
)


def exchanged(
    keys: Stream, files: list[BaseFile], context: IndexContext, by_partition: bool
) -> Stream:
    """Rows of LOCATIONS_SCHEMA for ``keys`` (rows of KEYS_SCHEMA) among ``files``."""
    engine = context.engine
    total = context.key_bytes + sum(f.size for f in files) // _KEY_SHARE
    parts = max(engine.parallelism, -(-total // _PART_BYTES))
    asked = engine.map(keys, _Asked(parts))
    stored = engine.map(file_tasks(engine, files), _Stored(parts, KeyReader.of(context)))
    names = pa.table(
        {
            "partition_path": pa.array([f.partition_path for f in files], pa.string()),
            "file_id": pa.array([f.file_id for f in files], pa.string()),
        }
    )
    both = engine.exchange(engine.union([asked, stored]), parts, context.serializer)
    return engine.map(both, _Join(engine.side(names), by_partition))


def distinct_paths(keys: Stream, context: IndexContext) -> list[str]:
    """The partition paths among ``keys``: each task answers its own, so few rows travel."""
    found = context.engine.collect(context.engine.map(keys, _Paths()))
    return sorted(pc.unique(found.column("partition_path")).to_pylist())


@frozen
class _Paths:
    @property
    def out_schema(self) -> pa.Schema:
        return _PATHS

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        seen = pa.array([], pa.string())
        for batch in batches:
            column = batch.column("partition_path")
            seen = pc.unique(pa.chunked_array([seen, pc.unique(column)]))
        yield pa.record_batch([seen], schema=_PATHS)


@frozen
class _Asked:
    parts: int

    @property
    def out_schema(self) -> pa.Schema:
        return _SIDES

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            keys, none = batch.column("record_key"), pa.nulls(batch.num_rows, pa.string())
            yield _side(keys, batch.column("partition_path"), none, self.parts)


@frozen
class _Stored:
    parts: int
    reader: KeyReader

    @property
    def out_schema(self) -> pa.Schema:
        return _SIDES

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for file in read_payload(batches):
            with self.reader.open(file) as opened:
                for keys in self.reader.keys(opened):
                    number = pa.repeat(pa.scalar(str(file.number), pa.string()), len(keys))
                    yield _side(keys, pa.nulls(len(keys), pa.string()), number, self.parts)


@frozen
class _Join:
    names: Side
    by_partition: bool

    @property
    def out_schema(self) -> pa.Schema:
        return LOCATIONS_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        asked, stored = _split(batches)
        # First by key alone, which needs no names; then only what was found gets them.
        wanted = pc.unique(asked.column("record_key"))
        found = stored.filter(pc.is_in(stored.column("record_key"), value_set=wanted))
        number = found.column("file_id").cast(pa.int32())
        found = pa.table({"record_key": found.column("record_key"), "file": number})
        found = found.group_by(["record_key", "file"], use_threads=False).aggregate([])
        names = self.names.table()
        located = pa.table(
            [
                found.column("record_key"),
                names.column("partition_path").take(found.column("file")),
                names.column("file_id").take(found.column("file")),
            ],
            schema=LOCATIONS_SCHEMA,
        )
        if self.by_partition:
            on = ["record_key", "partition_path"]
            located = located.join(asked.select(on), on, join_type="left semi", use_threads=False)
        yield from located.select(LOCATIONS_SCHEMA.names).to_batches()


def _split(batches: Iterator[pa.RecordBatch]) -> tuple[pa.Table, pa.Table]:
    """Asked and stored rows, a batch at a time so that nothing is held twice."""
    asked: list[pa.RecordBatch] = []
    stored: list[pa.RecordBatch] = []
    for batch in batches:
        rows = batch.select(["record_key", "partition_path", "file_id"])
        there = pc.is_valid(rows.column("file_id"))
        asked.append(rows.filter(pc.invert(there)))
        stored.append(rows.filter(there).select(["record_key", "file_id"]))
    kinds = [_SIDES.field(n) for n in ("record_key", "partition_path", "file_id")]
    return (
        pa.Table.from_batches(asked, pa.schema(kinds)),
        pa.Table.from_batches(stored, pa.schema([kinds[0], kinds[2]])),
    )


def _side(keys: pa.Array, paths: pa.Array, files: pa.Array, parts: int) -> pa.RecordBatch:
    part = (string_hash(keys) & np.int32(0x7FFFFFFF)) % np.int32(parts)
    slots = pa.array(np.zeros(len(keys), np.int32))
    return pa.record_batch([pa.array(part, pa.int32()), slots, keys, paths, files], schema=_SIDES)
