"""The rows of an Avro data block: version, number of rows, and for each an int32 length and a datum.

Flat schemas are decoded with NumPy, all rows of a column at a time: :mod:`log_avro_frames` finds the
rows, :mod:`log_avro_columns` reads them. Nested schemas are fastavro's (:mod:`log_avro_generic`).
Measured in CPU seconds, for TPC-H lineitem rows with five meta columns, nullable, 251 bytes each:

====================================  ===========  ============
way                                   60,000 rows  600,000 rows
====================================  ===========  ============
NumPy                                        0.06          0.80
polars.read_avro and to_arrow                0.09          0.94
fastavro, dictionaries, to Arrow              1.9          16.5
NumPy, the record key only                   0.02          0.13
====================================  ===========  ============

All ways but NumPy's put the header of an Avro container around the rows and declare the lengths as
``fixed(4)``, so that no Python runs for each. NumPy needs nothing that core does not have, reads the
columns asked for only, and says which rule was broken; polars would be one more dependency for no
gain. Of PyPI's other packages avro-to-arrow is fastavro again, and none that decodes into Arrow is
kept well. Encoding, :mod:`log_avro_encode`, takes 0.15 and 1.1 s; fastavro takes 3.2 s for 60,000.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from hoodoo.files.log.avro_decode import Undecodable, flat_fields, flat_rows
from hoodoo.files.log.avro_generic import generic_rows
from hoodoo.files.log.avro_offsets import row_starts
from hoodoo.model.schema.avro import arrow_schema
from hoodoo.model.schema.normalize import plain_schema

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
    if fields is not None:
        data = np.frombuffer(body, np.uint8)
        places = row_starts(data, rows)
        if places is not None:
            return flat_rows(data, places, fields, wanted)
    return generic_rows(body, rows, avro, wanted)
