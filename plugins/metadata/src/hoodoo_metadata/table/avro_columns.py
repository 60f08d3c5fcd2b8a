"""Values of the metadata table, rows in Avro, read a column at a time with NumPy."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hoodoo.hookspecs.log_block import ReadsRecords, RecordColumns
from hoodoo.kernel.log_files import log_files
from hoodoo.model.log_block import BlockKind

# Rows decoded at a time: what a column needs stays in a core's cache.
ROWS = 16_384
# Rows look at a few bytes past the last one.
_PAD = 32


def avro() -> ReadsRecords | None:
    """What reads Avro a column at a time, if it is installed."""
    found = log_files().blocks.get(BlockKind.AVRO)
    return found if isinstance(found, ReadsRecords) else None


def columns_of(values: pa.Array, reader: ReadsRecords) -> RecordColumns:
    """The rows that ``values``, a binary array without nulls, hold: at their first field."""
    offsets = np.frombuffer(values.buffers()[1], np.int32, len(values) + 1, values.offset * 4)
    begin, end = int(offsets[0]), int(offsets[-1])
    data = np.zeros(end - begin + _PAD, np.uint8)
    if end > begin:
        data[: end - begin] = np.frombuffer(values.buffers()[2], np.uint8)[begin:end]
    places = offsets.astype(np.int64) - begin
    return reader.records(data, places[:-1], places[1:])
