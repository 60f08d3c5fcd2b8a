"""Avro data blocks of Arrow columns, all rows of a column at a time, in the encoding of
:mod:`hoodoo_formats.log.avro_encode`. Figures are at :mod:`hoodoo_formats.log.avro_read`."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hoodoo_formats.log.avro_encode import Part, content, empty, fixed, join, value_parts, zero
from hoodoo_formats.log.avro_generic import encode_generic

_HEAD = struct.Struct(">ii")
_VERSION = 3
# A batch of so many rows and bytes at a time: joined bytes have 32-bit offsets, and stay in caches.
_ROWS, _BYTES = 32_768, 64 << 20


def flat(schema: pa.Schema) -> bool:
    """Whether no column is nested."""
    return not any(pa.types.is_nested(field.type) for field in schema)


def encode_rows(batches: Sequence[pa.RecordBatch], schema_text: str) -> Iterator[bytes | pa.Buffer]:
    """The content of an Avro data block, in pieces. The batches are in plain types, their columns
    in the order of ``schema_text``, unions ``["null", T]`` throughout."""
    yield _HEAD.pack(_VERSION, sum(batch.num_rows for batch in batches))
    for batch in batches:
        if flat(batch.schema):
            for piece in _pieces(batch):
                yield from _flat_rows(piece)
        else:
            for piece in _pieces(batch):
                yield encode_generic(piece, schema_text)


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    each = max(1, batch.nbytes // max(1, batch.num_rows))
    step = max(1, min(_ROWS, _BYTES // each))
    for start in range(0, batch.num_rows, step):
        yield batch.slice(start, step)


def _flat_rows(batch: pa.RecordBatch) -> Iterator[pa.Buffer]:
    parts: list[Part] = []
    for field, column in zip(batch.schema, batch.columns, strict=True):
        parts += column_parts(column, field.nullable)
    datums = join(parts, batch.num_rows)
    yield content(join([fixed_lengths(datums), datums], len(batch)))


def fixed_lengths(datums: pa.Array) -> pa.Array:
    """How long each datum is, as the four bytes that come before it."""
    sizes = pc.binary_length(datums).to_numpy()
    return fixed(sizes.astype(">i4").view(np.uint8).reshape(-1, 4))


def column_parts(column: pa.Array, nullable: bool = True, branch: bytes = b"\x02") -> list[Part]:
    """What a column adds to each row's datum: a union's branch, if nullable, and the value."""
    parts = value_parts(column.fill_null(zero(column.type)) if column.null_count else column)
    if not nullable:
        return parts
    if not column.null_count:
        return [pa.scalar(branch, pa.binary()), *parts]
    valid = column.is_valid()
    chosen = pc.if_else(valid, pa.scalar(branch, pa.binary()), pa.scalar(b"\x00", pa.binary()))
    return [chosen, *(pc.if_else(valid, part, empty()) for part in parts)]
