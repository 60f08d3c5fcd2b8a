"""Summary: how many rows arrive where. What the plan is made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import Factory, field, frozen
from hoodoo.hookspecs.engine import Task
from hoodoo.hookspecs.index import KEYS_SCHEMA
from hoodoo.model.meta import PARTITION_PATH, RECORD_KEY

from hoodoo_rows.model.internal_row import OP, PUT
from hoodoo_rows.produce.columns import BUCKET

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
PLACE_BYTES = 64  # of a key beside itself on the driver: partition path, file id, numbers
_GROUP = ["partition_path", "bucket"]
_KEYS = pa.field("keys", pa.list_(pa.struct(list(KEYS_SCHEMA))))


@frozen
class Summarise:
    """Step: keyed rows in, one row of SUMMARY_SCHEMA out per partition path and bucket (0 for rows
    without one).

    ``keys``: the keys come along, a batch of them (KEYS_SCHEMA) in one row, if all tasks together,
    which are alike, have about so many bytes of them and of their places in memory. Task n gives
    its keys if they are at most the n-th part, so that any number of tasks gives less than eight
    times as much. :func:`arrivals` notices if a task gave none."""

    keys: int = 0

    @property
    def out_schema(self) -> pa.Schema:
        """Figures of the rows, and their keys."""
        return SUMMARY_SCHEMA.append(_KEYS)

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        found, held = list[pa.Table](), list[pa.RecordBatch]()
        left = self.keys // (task.number + 1) if self.keys else -1
        for batch in (batch for batch in batches if batch.num_rows):
            found.append(self._one(batch))
            keys = [batch.column(RECORD_KEY), batch.column(PARTITION_PATH)]
            left -= sum(column.nbytes for column in keys) + PLACE_BYTES * batch.num_rows
            if left < 0:
                held.clear()
            else:
                pairs = pa.StructArray.from_arrays(keys, fields=list(KEYS_SCHEMA))
                columns = [pa.nulls(1, kind.type) for kind in SUMMARY_SCHEMA]
                whole = pa.ListArray.from_arrays([0, len(pairs)], pairs)
                held.append(pa.RecordBatch.from_arrays([*columns, whole], schema=self.out_schema))
        yield from held
        if found:
            total = _total(pa.concat_tables(found))
            empty = pa.nulls(total.num_rows, _KEYS.type)
            yield from total.append_column(_KEYS, empty).combine_chunks().to_batches()

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
    """The summary of a whole write. ``rows`` and ``puts``: partition path -> rows. ``keys``:
    KEYS_SCHEMA of all rows, where they came along and are few."""

    rows: Mapping[str, int] = Factory(dict)
    puts: Mapping[str, int] = Factory(dict)
    buckets: tuple[tuple[str, int, int, int], ...] = ()  # (partition path, bucket, rows, puts)
    bytes: int = 0
    key_bytes: int = 0
    keys: pa.Table | None = field(default=None, eq=False, repr=False)

    @property
    def total(self) -> int:
        """The number of rows."""
        return sum(self.rows.values())

    @property
    def held_bytes(self) -> int:  # of all keys with their places
        """The bytes of all keys with their places in memory."""
        return self.key_bytes + PLACE_BYTES * self.total


def arrivals(table: pa.Table) -> Arrivals:
    """Adds up what the tasks found; one turn per partition path and bucket."""
    rows: dict[str, int] = {}
    puts: dict[str, int] = {}
    buckets = []
    size = key_size = 0
    given = table.column(_KEYS.name)
    table = table.filter(pc.is_null(given)).select(SUMMARY_SCHEMA.names)
    ordered = _total(table).sort_by([(name, "ascending") for name in _GROUP])
    for row in ordered.to_pylist():
        path = row["partition_path"]
        rows[path] = rows.get(path, 0) + row["rows"]
        puts[path] = puts.get(path, 0) + row["puts"]
        buckets.append((path, row["bucket"], row["rows"], row["puts"]))
        size += row["bytes"]
        key_size += row["key_bytes"]
    few = pa.Table.from_struct_array(given.combine_chunks().flatten())
    keys = few if few.num_rows == sum(rows.values()) else None
    return Arrivals(rows, puts, tuple(buckets), size, key_size, keys)


def _total(table: pa.Table) -> pa.Table:
    sums = [(name, "sum") for name in ("rows", "puts", "bytes", "key_bytes")]
    # In this thread: tasks run side by side, and to start others takes longer than to add up these
    # rows.
    total = table.group_by(_GROUP, use_threads=False).aggregate(sums)
    names = [n if n in _GROUP else f"{n}_sum" for n in SUMMARY_SCHEMA.names]
    return pa.Table.from_arrays(total.select(names).columns, schema=SUMMARY_SCHEMA)
