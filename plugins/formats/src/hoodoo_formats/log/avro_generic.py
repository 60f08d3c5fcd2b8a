"""Nested Avro rows, by fastavro and generic records: the only place where Hoodoo makes any.

Dates and times are read and written as the numbers that they are stored as: Python's end with the
year 9999.
"""

from __future__ import annotations

import io
import json
import operator
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
from hoodoo.timeline.codec.bounded import check_bounded

from hoodoo_formats.log.content import Undecodable


def generic_rows(content: pa.Buffer, rows: int, avro: Any, wanted: pa.Schema) -> pa.Table:
    """``rows`` rows of any schema, of the columns ``wanted``: lengths and datums. Raises
    Undecodable."""
    # A container file of one block, whose records begin with four bytes: all rows in one call.
    length = {"type": "fixed", "name": "Length", "size": 4}
    fields = [{"name": "length", "type": length}, {"name": "row", "type": _without_logic(avro)}]
    record = {"type": "record", "name": "Framed", "namespace": "hoodoo", "fields": fields}
    head = io.BytesIO(b"Obj\x01")
    head.seek(4)
    fastavro.schemaless_writer(
        head, _META, {"avro.schema": json.dumps(record).encode(), "avro.codec": b"null"}
    )
    head.write(bytes(16))
    for number in (rows, content.size):
        fastavro.schemaless_writer(head, _LONG, number)
    file = io.BytesIO(head.getvalue() + content.to_pybytes() + bytes(16))
    try:
        check_bounded(avro)
        found: list[Any] = list(fastavro.reader(file)) if rows else []
        lengths = np.frombuffer(b"".join(map(_length, found)), ">i4").astype(np.int64)
        if lengths.min(initial=0) < 0 or 4 * rows + int(lengths.sum()) != content.size:
            raise Undecodable("its rows are not as long as they say")
        physical = pa.schema([f.with_type(_physical(f.type)) for f in wanted])
        table = pa.Table.from_pylist(list(map(_row, found)), schema=physical)
        return table.cast(wanted)
    except (Undecodable, MemoryError):
        raise
    # fastavro lets whatever the bytes provoke escape.
    except Exception as error:
        raise Undecodable(f"{type(error).__name__}: {error}") from error


_META = fastavro.parse_schema({"type": "map", "values": "bytes"})
_LONG = fastavro.parse_schema({"type": "long"})
_length, _row = operator.itemgetter("length"), operator.itemgetter("row")


def _without_logic(avro: Any, whole: dict[str, Any] | None = None) -> Any:
    """A schema without logical types, but for decimals.

    What has no namespace is named from within one, as Java lets it be: it is put there ``whole``
    each time, in a namespace of its own."""
    whole = {} if whole is None else whole
    if isinstance(avro, list):
        return [_without_logic(member, whole) for member in avro]
    if isinstance(avro, str) and avro in whole:
        return _without_logic(whole[avro], whole)
    if not isinstance(avro, dict):
        return avro
    drop = avro.get("logicalType") != "decimal"
    made = {
        key: _without_logic(value, whole) if key in ("type", "items", "values", "fields") else value
        for key, value in avro.items()
        if not (drop and key == "logicalType")
    }
    if avro.get("namespace") == "" and "name" in avro:
        whole[avro["name"]] = avro
        whole["#"] = whole.get("#", 0) + 1
        made["namespace"] = f"n{whole['#']}"
    return made


def _physical(kind: pa.DataType) -> pa.DataType:
    """``kind`` with numbers for dates and times."""
    t = pa.types
    if t.is_struct(kind):
        return pa.struct([f.with_type(_physical(f.type)) for f in kind])
    if t.is_list(kind):
        return pa.list_(kind.value_field.with_type(_physical(kind.value_type)))
    if t.is_map(kind):
        item = kind.item_field
        return pa.map_(kind.key_type, item.with_type(_physical(item.type)))
    if t.is_date32(kind) or t.is_time32(kind):
        return pa.int32()
    return pa.int64() if t.is_time64(kind) or t.is_timestamp(kind) else kind


def encode_generic(batch: pa.RecordBatch, schema_text: str) -> bytes:
    """Lengths and datums of the rows of ``batch``, a row at a time."""
    avro = fastavro.parse_schema(_without_logic(json.loads(schema_text)))
    physical = pa.schema([f.with_type(_physical(f.type)) for f in batch.schema])
    out, one = io.BytesIO(), io.BytesIO()
    for record in batch.cast(physical).to_pylist(maps_as_pydicts="strict"):
        one.seek(0)
        one.truncate()
        fastavro.schemaless_writer(one, avro, record)
        out.write(one.tell().to_bytes(4, "big"))
        out.write(one.getvalue())
    return out.getvalue()
