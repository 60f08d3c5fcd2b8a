"""The rows of an Avro data block: version, number of rows, and for each an int32 length and a
datum.

Flat schemas are decoded with NumPy, all rows of a column at a time:
:mod:`~hoodoo_formats.log.avro_offsets` finds the rows, :mod:`hoodoo_formats.log.avro_decode` reads
them. Nested schemas are fastavro's (:mod:`~hoodoo_formats.log.avro_generic`). Measured in CPU
seconds, for TPC-H lineitem rows with five meta columns, nullable, 251 bytes each:

====================================  ===========  ============
way                                   60,000 rows  600,000 rows
====================================  ===========  ============
NumPy                                        0.06          0.80
polars.read_avro and to_arrow                0.09          0.94
fastavro, dictionaries, to Arrow              1.9          16.5
NumPy, the record key only                   0.02          0.13
====================================  ===========  ============

All ways but NumPy's put the header of an Avro container around the rows and declare the lengths as
``fixed(4)``, so that no Python runs for each. NumPy needs nothing that core does not have, reads
the columns asked for only, and says which rule was broken; polars would be one more dependency for
no gain. Of PyPI's other packages avro-to-arrow is fastavro again, and none that decodes into Arrow
is kept well. Encoding, :mod:`~hoodoo_formats.log.avro_write`, takes 0.15 and 1.1 s; fastavro takes
3.2 s for 60,000."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from hoodoo.model.schema.avro import arrow_schema
from hoodoo_rows.model.normalize import plain_schema

from hoodoo_formats.log.avro_decode import FlatField, Rows, flat_fields
from hoodoo_formats.log.avro_generic import generic_rows
from hoodoo_formats.log.avro_offsets import row_starts
from hoodoo_formats.log.content import Undecodable
from hoodoo_formats.log.lanes import Bytes, Places
from hoodoo_formats.logical import stored_field

_HEAD = struct.Struct(">ii")
# Rows decoded at a time: what a column needs stays in a core's cache.
_ROWS = 16_384
_BYTES = 64 << 20
# A number has ten bytes at most, and is looked at eight at a time: reads past the last row are
# safe.
_PAD = 32


def avro_rows(
    content: pa.Buffer, schema_text: str, columns: Sequence[str] | None, obj: str
) -> pa.Table:
    """The rows of ``content``, written with ``schema_text``; of ``columns`` those that it has.
    Those of logical types are as they are stored.

    Raises Undecodable, or SchemaError naming ``obj`` for a type that no table holds.
    """
    schema = plain_schema(pa.schema(map(stored_field, arrow_schema(schema_text, obj))))
    known = frozenset(schema.names)
    names = schema.names if columns is None else [n for n in columns if n in known]
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


def flat_rows(
    data: Bytes, places: Places, fields: Sequence[FlatField], wanted: pa.Schema
) -> pa.Table:
    """The rows that begin at ``places`` (the last one is the end), columns ``wanted`` of them.

    Raises Undecodable.
    """
    batches = []
    first, last = 0, len(places) - 1
    while first < last:
        # Offsets into a batch have 32 bits.
        stop = min(first + _ROWS, int(np.searchsorted(places, places[first] + _BYTES)), last)
        stop = max(stop, first + 1)
        batches.append(_batch(data, places[first : stop + 1], fields, wanted))
        first = stop
    return pa.Table.from_batches(batches, schema=wanted)


def _batch(
    data: Bytes, places: Places, fields: Sequence[FlatField], wanted: pa.Schema
) -> pa.RecordBatch:
    begin, end = int(places[0]), int(places[-1])
    own = np.zeros(end - begin + _PAD, np.uint8)
    own[: end - begin] = data[begin:end]
    rows = Rows(own, places[:-1] - begin + 4, places[1:] - begin)
    left = set(wanted.names)
    columns: dict[str, pa.Array] = {}
    for field in fields:
        if not left:  # the rest is not looked at
            break
        kind = wanted.field(field.name).type if field.name in left else None
        column = rows.column(field, kind)
        if column is not None:
            columns[field.name] = column
            left.discard(field.name)
    else:
        rows.finish()
    return pa.RecordBatch.from_arrays([columns[name] for name in wanted.names], schema=wanted)
