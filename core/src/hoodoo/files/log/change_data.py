"""Content of change data blocks: what a commit did to rows of a base file that it rewrote.

Three schemas, by how much is noted (Spark Hudi 1.2 writes the same texts): operation and key; these
and the row before; operation, instant, the rows before and after. Rows are those of the table, without
meta columns.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hoodoo.files.log.avro_encode import Part, column_parts, content, fixed_lengths, join
from hoodoo.files.log.avro_generic import encode_generic
from hoodoo.model.change_data import BEFORE, BEFORE_AFTER, KEYS
from hoodoo.model.schema.avro import avro_text

_HEAD = struct.Struct(">ii")
_VERSION = 3
_KEY_BRANCH = b"\x00"  # its unions are ["string", "null"]
_OPTIONAL: list[Any] = ["null", "string"]


def change_schema(mode: str, images: pa.Schema, table_name: str) -> str:
    """The Avro schema of the blocks of a table with the columns ``images``, in plain types."""
    if mode == KEYS:
        fields = [{"name": n, "type": ["string", "null"]} for n in ("op", "record_key")]
        return _text({"type": "record", "name": "Record", "fields": fields})
    record = json.loads(avro_text(images, table_name))
    namespace = record.pop("namespace")
    before: list[Any] = ["null", {"type": "record", "name": record["name"], **record}]
    columns: dict[str, list[Any]] = {"op": _OPTIONAL}
    columns |= {"record_key": _OPTIONAL} if mode == BEFORE else {"ts_ms": _OPTIONAL}
    columns["before"] = before
    if mode == BEFORE_AFTER:
        columns["after"] = ["null", record["name"]]
    made = [{"name": n, "type": t, "doc": "", "default": None} for n, t in columns.items()]
    top = {"type": "record", "name": "CDC", "namespace": namespace, "doc": "", "fields": made}
    return _text(top)


def arrow_columns(mode: str, images: pa.Schema) -> pa.Schema:
    """The columns of batches that :func:`encode_changes` takes."""
    image = pa.struct(list(images))
    fields: list[tuple[str, pa.DataType]] = [("op", pa.string())]
    if mode == KEYS:
        return pa.schema([*fields, ("record_key", pa.string())])
    if mode == BEFORE:
        return pa.schema([*fields, ("record_key", pa.string()), ("before", image)])
    return pa.schema([*fields, ("ts_ms", pa.string()), ("before", image), ("after", image)])


def encode_changes(
    batches: Sequence[pa.RecordBatch], schema_text: str
) -> Iterator[bytes | pa.Buffer]:
    """The content of a change data block, in pieces; ``batches`` as :func:`arrow_columns` says."""
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


def _text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, separators=(",", ":"), ensure_ascii=False)
