"""The content of change data blocks: Avro, in whatever schema they are given."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from hoodoo_formats.log.avro_encode import Part, content, join
from hoodoo_formats.log.avro_generic import encode_generic
from hoodoo_formats.log.avro_write import column_parts, fixed_lengths

_HEAD = struct.Struct(">ii")
_VERSION = 3
_KEY_BRANCH = b"\x00"  # its unions are ["string", "null"]


def encode_changes(
    batches: Sequence[pa.RecordBatch], schema_text: str
) -> Iterator[bytes | pa.Buffer]:
    """The content of a change data block, in pieces.

    ``batches``: texts, and structs of the rows before and after, which may be null."""
    yield _HEAD.pack(_VERSION, sum(batch.num_rows for batch in batches))
    for batch in batches:
        images = [f.type for f in batch.schema if pa.types.is_struct(f.type)]
        if any(pa.types.is_nested(f.type) for image in images for f in image):
            yield encode_generic(batch, schema_text)
            continue
        branch = _KEY_BRANCH if not images else b"\x02"
        parts: list[Part] = []
        for column in batch.columns:
            if pa.types.is_struct(column.type):
                parts += _image_parts(column)
            else:
                parts += column_parts(column, True, branch)
        datums = join(parts, batch.num_rows)
        yield content(join([fixed_lengths(datums), datums], batch.num_rows))


def _image_parts(column: pa.StructArray) -> list[Part]:
    """Which branch of the union, and the columns of the rows that are there."""
    valid = column.is_valid()
    # Made here and not at import: the first scalar imports pandas, where there is one.
    null, value, empty = (pa.scalar(b, pa.binary()) for b in (b"\x00", b"\x02", b""))
    parts = [part for child in column.flatten() for part in column_parts(child)]
    made: list[Part] = [pc.if_else(valid, value, null)]
    return made + [pc.if_else(valid, part, empty) for part in parts]
