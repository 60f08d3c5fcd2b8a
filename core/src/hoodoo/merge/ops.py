"""What a travelling row asks for: the column `_hoodie__op`, RFC-84's operation type."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hoodoo.model.meta import IS_DELETED, OPERATION

# Columns of Hoodoo beside those of a table start with `_hoodie_`, which no column of a table may. (Debezium names a column `__op`.)
OP = "_hoodie__op"

# Values of `_hoodie__op`.
PUT = 0
DELETE = 1  # asked for by key: wins over anything that came before
DELETE_ROW = 2  # a row marked as deleted: takes part in the ordering like any other row


def marked_operations(rows: pa.RecordBatch | pa.Table) -> pa.Array | pa.ChunkedArray:
    """DELETE_ROW for rows that are marked as deleted, PUT for the others: ``HoodieRecord.isDelete`` of Hudi."""
    names, marked = rows.schema.names, None
    if IS_DELETED in names:
        marked = pc.fill_null(rows.column(IS_DELETED), False)
    if OPERATION in names and rows.schema.field(OPERATION).type == pa.string():
        # Of Flink's changelogs: deleted, or as a row was before an update.
        gone = pc.is_in(rows.column(OPERATION), value_set=pa.array(["D", "-U"]))
        marked = gone if marked is None else pc.or_(marked, gone)
    if marked is None:
        return pa.array(np.full(rows.num_rows, PUT, np.int8))
    return pc.if_else(marked, pa.scalar(DELETE_ROW, pa.int8()), pa.scalar(PUT, pa.int8()))
