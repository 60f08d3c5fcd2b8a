"""From travelling rows to stored rows: the meta columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hoodoo.model.meta import COMMIT_SEQNO, COMMIT_TIME, FILE_NAME


def constant(value: str, rows: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, pa.string()), rows)


def stored_rows(
    rows: pa.Table, schema: pa.Schema, instant: str, file_name: str, place: int | str, start: int
) -> pa.Table:
    """``rows`` (keyed) in the stored ``schema``, as rows of this instant.

    ``place`` and ``start`` make the sequence number ``<instant>_<place>_<n>`` (format page 3.4).
    """
    count = rows.num_rows
    numbers = pa.array(np.arange(start, start + count)).cast(pa.string())
    made = {
        COMMIT_TIME: constant(instant, count),
        COMMIT_SEQNO: pc.binary_join_element_wise(f"{instant}_{place}", numbers, "_"),
        FILE_NAME: constant(file_name, count),
    }
    columns = [made[n] if n in made else rows.column(n) for n in schema.names]
    return pa.Table.from_arrays(columns, schema=schema)


def renamed(batch: pa.RecordBatch, file_name: str) -> pa.RecordBatch:
    """Rows that stay: commit time and sequence number are kept, the file name is the new one's."""
    at = batch.schema.get_field_index(FILE_NAME)
    return batch.set_column(at, batch.schema.field(at), constant(file_name, batch.num_rows))
