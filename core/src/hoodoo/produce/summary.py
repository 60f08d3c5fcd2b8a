"""Summary: how many rows arrive where. What the plan is made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import Factory, frozen

from hoodoo.hookspecs.engine import Task
from hoodoo.merge.ops import OP, PUT
from hoodoo.model.meta import PARTITION_PATH, RECORD_KEY
from hoodoo.produce.columns import BUCKET

SUMMARY_SCHEMA = pa.schema(
    [
        ("partition_path", pa.string()),
        ("bucket", pa.int32()),
        ("rows", pa.int64()),
        ("puts", pa.int64()),
        ("bytes", pa.int64()),
        ("key_bytes", pa.int64()),
    ]
)


@frozen
class Summarise:
    """Step: keyed rows in, one row of SUMMARY_SCHEMA out per batch, partition path and bucket (0 for
    rows without one)."""

    @property
    def out_schema(self) -> pa.Schema:
        return SUMMARY_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        found = [self._one(batch) for batch in batches if batch.num_rows]
        if found:
            yield from _total(pa.concat_tables(found)).to_batches()

    def _one(self, batch: pa.RecordBatch) -> pa.Table:
        keys = batch.column(RECORD_KEY)
        if BUCKET in batch.schema.names:
            buckets = batch.column(BUCKET)
        else:
            buckets = pa.array(np.zeros(batch.num_rows, np.int32))
        columns = [
            batch.column(PARTITION_PATH),
            buckets,
            pa.array(np.ones(batch.num_rows, np.int64)),
            pc.equal(batch.column(OP), PUT).cast(pa.int64()),
            pa.array(np.full(batch.num_rows, batch.nbytes // batch.num_rows, np.int64)),
            pc.binary_length(keys).cast(pa.int64()),
        ]
        return _total(pa.Table.from_arrays(columns, schema=SUMMARY_SCHEMA))


@frozen
class Arrivals:
    """The summary of a whole write. ``rows`` and ``puts``: partition path -> rows."""

    rows: Mapping[str, int] = Factory(dict)
    puts: Mapping[str, int] = Factory(dict)
    buckets: tuple[tuple[str, int, int, int], ...] = ()  # (partition path, bucket, rows, puts)
    bytes: int = 0
    key_bytes: int = 0

    @property
    def total(self) -> int:
        return sum(self.rows.values())


def arrivals(table: pa.Table) -> Arrivals:
    """Adds up what the tasks found; one turn per partition path and bucket."""
    rows: dict[str, int] = {}
    puts: dict[str, int] = {}
    buckets = []
    size = key_size = 0
    for row in (
        _total(table)
        .sort_by([("partition_path", "ascending"), ("bucket", "ascending")])
        .to_pylist()
    ):
        path = row["partition_path"]
        rows[path] = rows.get(path, 0) + row["rows"]
        puts[path] = puts.get(path, 0) + row["puts"]
        buckets.append((path, row["bucket"], row["rows"], row["puts"]))
        size += row["bytes"]
        key_size += row["key_bytes"]
    return Arrivals(rows, puts, tuple(buckets), size, key_size)


def _total(table: pa.Table) -> pa.Table:
    sums = [(name, "sum") for name in ("rows", "puts", "bytes", "key_bytes")]
    total = table.group_by(["partition_path", "bucket"]).aggregate(sums)
    columns = [
        total.column(n if n in ("partition_path", "bucket") else f"{n}_sum")
        for n in SUMMARY_SCHEMA.names
    ]
    return pa.Table.from_arrays(columns, schema=SUMMARY_SCHEMA)
