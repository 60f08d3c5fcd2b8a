"""The rows of an Avro data block: version, number of rows, and for each an int32 length and a datum.

Flat schemas are decoded with NumPy, a column of all rows at a time (:mod:`log_avro_frames` finds the
rows, :mod:`log_avro_columns` reads them); nested schemas, and blocks of few rows, by fastavro's
compiled reader (:mod:`log_avro_generic`). Measured, CPU seconds on one core for TPC-H lineitem rows
with five meta columns, all nullable, 251 bytes each:

@@TABLE@@

All but the first make the same container file of one block around the rows, with the int32 lengths
declared as ``fixed(4)``, so that no Python runs for a row. polars comes near, would be one more
dependency of core, reads neither maps nor a projection's columns only, and knows no errors but its
own. avro-to-arrow and pyruhvro were not taken: the one is new, the other is given one ``bytes``
object for each row.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from hoodoo.files.log_avro_columns import Undecodable, flat_fields, flat_rows
from hoodoo.files.log_avro_frames import FEWEST, row_starts
from hoodoo.files.log_avro_generic import generic_rows
from hoodoo.model.schema_avro import arrow_schema
from hoodoo.model.schema_door import plain_schema

__all__ = ["Undecodable", "avro_rows"]

_HEAD = struct.Struct(">ii")


def avro_rows(
    content: pa.Buffer, schema_text: str, columns: Sequence[str] | None, obj: str
) -> pa.Table:
    """The rows of ``content``, written with ``schema_text``; of ``columns`` those that it has.

    Raises Undecodable, or SchemaError naming ``obj`` for a type that no table holds.
    """
    schema = plain_schema(arrow_schema(schema_text, obj))
    names = schema.names if columns is None else [n for n in columns if n in schema.names]
    wanted = pa.schema([schema.field(n) for n in dict.fromkeys(names)])
    if content.size < _HEAD.size:
        raise Undecodable("it is too short")
    _, rows = _HEAD.unpack(content.slice(0, _HEAD.size))
    body = content.slice(_HEAD.size)
    if rows < 0 or 4 * rows > body.size:
        raise Undecodable(f"it can't hold {rows} rows")
    if not wanted.names:
        return pa.table({"none": pa.nulls(rows)}).select([])
    avro = json.loads(schema_text)
    fields = flat_fields(avro)
    if fields is not None and rows >= FEWEST:
        data = np.frombuffer(body, np.uint8)
        places = row_starts(data, rows)
        if places is not None:
            return flat_rows(data, places, fields, wanted)
    return generic_rows(body, rows, avro, wanted)
