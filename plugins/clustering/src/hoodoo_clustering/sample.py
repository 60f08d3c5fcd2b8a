"""Sample: some rows from all over a group, for an order that goes by how values are spread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from hoodoo_rows.api import Batches

from hoodoo_clustering.group_rows import GroupRows
from hoodoo_clustering.leaves import tops, with_leaves


def sample(rows: GroupRows, columns: Sequence[str], wanted: int) -> pa.Table:
    """At most ``wanted`` rows, evenly from each base file, of ``columns``: the same whenever asked.

    Only these columns are read. Log files are left out where there are base files: they hold few of
    the rows, and how values are spread is all that a sample is for.
    """
    names = tops(columns, rows.rule.schema.names)
    schema = pa.schema([rows.rule.schema.field(name) for name in names])
    total = rows.counted()
    found = list(_every(_stored(rows, names), -(-total // wanted) if total else 1))
    made = pa.Table.from_batches(found, schema)
    if made.num_rows > wanted:  # of log files
        made = made.take(pa.array(np.arange(0, made.num_rows, -(-made.num_rows // wanted))))
    return with_leaves(made, columns).select(list(columns))


def _stored(rows: GroupRows, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    if rows.bases:
        for base in rows.bases:
            yield from rows.stored(base, columns)
        return
    rule = rows.rule.narrowed(columns)
    for slice_ in rows.slices:
        for batch in Batches.merged(rows.storage, rows.file_format, rule, slice_):
            yield batch.select(list(columns))


def _every(batches: Iterator[pa.RecordBatch], step: int) -> Iterator[pa.RecordBatch]:
    """Rows 0, step, 2 * step of all of them together."""
    next_ = 0
    for batch in batches:
        if next_ < batch.num_rows:
            places = np.arange(next_, batch.num_rows, step)
            yield batch if step == 1 else batch.take(pa.array(places))
            next_ = int(places[-1]) + step
        next_ -= batch.num_rows
