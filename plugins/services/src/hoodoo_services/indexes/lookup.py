"""Asked: where keys of a table lie, as any index says; for comparing indexes, and for building one
from another."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.engine import Stream, Task
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.index import (
    COMPUTED,
    KEYS_SCHEMA,
    LOCATIONS_SCHEMA,
    ComputedIndex,
    LookupIndex,
    PathIndex,
    StoredIndex,
)
from hoodoo.model.meta import PARTITION_PATH, RECORD_KEY, with_meta
from hoodoo.model.payload import pack_slices, unpack_slices
from hoodoo.storage.api import Storage
from hoodoo_rows.api import ArrivingRows, Batches, KeyLookup, MergeRule, WriteTarget

KEYED = pa.schema([(RECORD_KEY, pa.string()), (PARTITION_PATH, pa.string())])
PLACED = KEYED.append(LOCATIONS_SCHEMA.field("file_id"))


@frozen
class _ReadKeys:
    """Step: payloads of slices in, their record keys out, as PLACED."""

    storage: Storage
    file_format: BaseFileFormat
    rule: MergeRule

    @property
    def out_schema(self) -> pa.Schema:
        return PLACED

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column("payload").to_pylist():
                for slice_ in unpack_slices(payload):
                    for rows in Batches.merged(self.storage, self.file_format, self.rule, slice_):
                        keys = rows.column(RECORD_KEY).cast(pa.string())
                        path, file_id = (
                            pa.repeat(pa.scalar(name, pa.string()), len(keys))
                            for name in (slice_.partition_path, slice_.file_id)
                        )
                        yield pa.record_batch([keys, path, file_id], schema=PLACED)


def all_keys(target: WriteTarget) -> Stream:
    """PLACED (and so KEYED) of all rows of the newest slices. May be read more than once."""
    rule = target.merge_rule(with_meta(target.schema)).narrowed([RECORD_KEY])
    step = _ReadKeys(target.storage, target.file_format, rule)
    tasks = target.engine.tasks([pack_slices([slice_]) for slice_ in target.slices])
    return target.engine.map(tasks, step)


def locations_of(
    target: WriteTarget,
    index: LookupIndex | ComputedIndex | PathIndex,
    keys: Stream,
    compares: bool = False,
) -> pa.Table:
    """LOCATIONS_SCHEMA of ``keys`` (KEYED), as ``index`` says. A computed one says of every key
    which file group it belongs to, if there is one. ``compares``: nobody goes by the answer."""
    if isinstance(index, COMPUTED):
        asked = target.engine.collect(keys).select(KEYED.names).rename_columns(KEYS_SCHEMA.names)
        return computed_places(target, index, asked)
    if not isinstance(index, LookupIndex):
        raise ConfigError(
            f"index {index.__class__.__qualname__}",
            "says of no key where it lies.",
            "Name another one.",
        )
    counted = target.engine.collect(target.engine.map(keys, _Count()))
    rows, size = (pc.sum(counted.column(n)).as_py() or 0 for n in ("rows", "bytes"))
    found = KeyLookup.locate(
        target, index, keys, ArrivingRows.Arrivals(rows={"": rows}, key_bytes=size), compares
    )
    groups = found.group_by(["partition_path", "file_id"]).aggregate([]).to_pylist()
    KeyLookup.check_groups(
        index,
        ((group["partition_path"], group["file_id"]) for group in groups),
        {(s.partition_path, s.file_id) for s in target.slices} if groups else (),
    )
    return found.group_by(LOCATIONS_SCHEMA.names).aggregate([]).select(LOCATIONS_SCHEMA.names)


def computed_places(
    target: WriteTarget, index: ComputedIndex | PathIndex, keys: pa.Table
) -> pa.Table:
    """LOCATIONS_SCHEMA of ``keys`` (KEYS_SCHEMA): the file group that each belongs to, if there is
    one."""
    if isinstance(index, PathIndex):
        return _path_places(target, index, keys)
    held = pa.table(
        {
            "partition_path": pa.array([s.partition_path for s in target.slices], pa.string()),
            "bucket": pa.array(
                [KeyLookup.bucket_of(index, s.file_id) for s in target.slices], pa.int32()
            ),
            "file_id": pa.array([s.file_id for s in target.slices], pa.string()),
        }
    )
    key = keys.column("record_key").combine_chunks()
    path = keys.column("partition_path")
    asked = pa.table({"record_key": key, "partition_path": path, "bucket": index.bucket(key)})
    found = asked.join(held, ["partition_path", "bucket"], join_type="inner", use_threads=False)
    names = LOCATIONS_SCHEMA.names
    return found.select(names).group_by(names).aggregate([]).select(names)


def _path_places(target: WriteTarget, index: PathIndex, keys: pa.Table) -> pa.Table:
    key, path = (keys.column(name).combine_chunks() for name in KEYS_SCHEMA.names)
    paths = pc.unique(path).to_pylist()
    buckets = index.in_paths(KeyLookup.context_of(target, ArrivingRows.Arrivals(rows={})), paths)
    asked = keys.append_column("bucket", buckets.bucket(key, path))
    places = asked.group_by(["partition_path", "bucket"], use_threads=False).aggregate([])
    file_ids = [
        buckets.place(row["partition_path"], row["bucket"]).file_id for row in places.to_pylist()
    ]
    held = pa.array([s.file_id for s in target.slices], pa.string())
    places = places.append_column("file_id", pa.array(file_ids, pa.string()))
    there = places.filter(pc.is_in(places.column("file_id"), value_set=held))
    found = asked.join(there, ["partition_path", "bucket"], join_type="inner", use_threads=False)
    names = LOCATIONS_SCHEMA.names
    return found.select(names).group_by(names).aggregate([]).select(names)


def places(target: WriteTarget) -> pa.Table:
    """LOCATIONS_SCHEMA of all rows of the newest slices, as they are."""
    found = target.engine.collect(all_keys(target)).rename_columns(LOCATIONS_SCHEMA.names)
    return found.group_by(found.column_names).aggregate([]).select(LOCATIONS_SCHEMA.names)


def stale(target: WriteTarget, index: object, there: pa.Table) -> pa.Table:
    """LOCATIONS_SCHEMA of the entries of ``index`` that are not among ``there``, the places of the
    table's keys. None of an index that stores no entries."""
    if not isinstance(index, StoredIndex) or not target.slices:
        return LOCATIONS_SCHEMA.empty_table()
    stored = target.engine.collect(
        index.entries(KeyLookup.context_of(target, ArrivingRows.Arrivals(rows={}), True))
    )
    KeyLookup.check_locations(index, stored, "entries")
    names = LOCATIONS_SCHEMA.names
    return stored.join(there, names, join_type="left anti", use_threads=False).select(names)


@frozen
class _Count:
    @property
    def out_schema(self) -> pa.Schema:
        return pa.schema([("rows", pa.int64()), ("bytes", pa.int64())])

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        rows = size = 0
        for batch in batches:
            rows += batch.num_rows
            size += pc.sum(pc.binary_length(batch.column(RECORD_KEY))).as_py() or 0
        yield pa.record_batch([pa.array([rows]), pa.array([size])], schema=self.out_schema)
