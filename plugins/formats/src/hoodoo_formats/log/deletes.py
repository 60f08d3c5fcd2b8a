"""Deletes as bytes: keys, paths and ordering values (Hudi's HoodieDeleteRecordList, version 3)."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import SchemaError, UnsupportedTableError

from hoodoo_formats.log.avro_encode import content, decimal_part, join, value_parts, zero, zigzag
from hoodoo_formats.log.content import Undecodable
from hoodoo_formats.log.delete_columns import delete_columns
from hoodoo_formats.log.lanes import Bytes

_HEAD = struct.Struct(">ii")
_VERSION = 3
_LARGEST = 2**31 - 1
_US = pa.timestamp("us", "UTC")
_DECIMAL = pa.decimal128(30, 15)
_DECIMAL_BYTES = 13  # of 30 digits

# The wrappers in the order of their union, from 1 on: Avro type of the value, and its Arrow type.
# The names are our own, so that a decoded value says which wrapper it came in; bytes have no names.
_WRAPPERS: tuple[tuple[str, Any, pa.DataType], ...] = (
    ("boolean", "boolean", pa.bool_()),
    ("int", "int", pa.int32()),
    ("long", "long", pa.int64()),
    ("float", "float", pa.float32()),
    ("double", "double", pa.float64()),
    ("bytes", "bytes", pa.binary()),
    ("string", "string", pa.string()),
    ("date", "int", pa.date32()),
    (
        "decimal",
        {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 15},
        _DECIMAL,
    ),
    ("time", "long", pa.time64("us")),
    ("timestamp", "long", _US),
    ("local_date", "int", pa.date32()),  # in arrays only
)
_INDEX = {name: i for i, (name, _, _) in enumerate(_WRAPPERS, 1)}
_ARRAY = 12
_VALUE = pa.struct([pa.field(name, kind) for name, _, kind in _WRAPPERS])
_ROW = pa.struct(
    [
        pa.field("key", pa.string()),
        pa.field("path", pa.string()),
        pa.field("value", pa.struct([*_VALUE, pa.field("array", pa.list_(_VALUE))])),
    ]
)


def _schema() -> Any:
    def wrapper(name: str, kind: Any) -> Any:
        return {"type": "record", "name": f"w_{name}", "fields": [{"name": name, "type": kind}]}

    plain = [wrapper(name, kind) for name, kind, _ in _WRAPPERS[:-1]]
    items = ["null", *(w["name"] for w in plain), wrapper(*_WRAPPERS[-1][:2])]
    several = wrapper("array", ["null", {"type": "array", "items": items}])
    fields = [
        {"name": "key", "type": ["null", "string"]},
        {"name": "path", "type": ["null", "string"]},
        {"name": "value", "type": ["null", *plain, several]},
    ]
    record = {"type": "record", "name": "delete", "fields": fields}
    return fastavro.parse_schema({"type": "array", "items": record})


_SCHEMA = _schema()
_LONG = fastavro.parse_schema({"type": "long"})


def decode_deletes(data: pa.Buffer, ordering: Sequence[pa.DataType], obj: str) -> pa.Table:
    """See :meth:`hoodoo_formats.log.reader.LogReader.deletes`. Raises Undecodable, and
    UnsupportedTableError naming ``obj`` for the Java objects of versions 1 and 2."""
    if data.size < _HEAD.size:
        raise Undecodable("it is too short")
    version, size = _HEAD.unpack(data.slice(0, _HEAD.size))
    if version != _VERSION:
        raise UnsupportedTableError(
            obj,
            f"its deletes are of version {version}, serialized Java objects.",
            "Have the table compacted by its writer.",
        )
    if size != data.size - _HEAD.size:
        raise Undecodable(f"{size} bytes are claimed, and {data.size - _HEAD.size} are there")
    found = _by_columns(np.frombuffer(data, np.uint8)[_HEAD.size :])
    keys, paths, values = found or _by_rows(data.slice(_HEAD.size))
    if keys.null_count:
        raise Undecodable("a delete has no record key")
    try:
        always, columns = _ordering(values, list(ordering))
    except (pa.ArrowException, OverflowError) as error:
        raise Undecodable(f"an ordering value does not fit: {error}") from error
    names = ["record_key", "partition_path", "always", *(f"o{i}" for i in range(len(columns)))]
    return pa.table([keys, paths.fill_null(""), always, *columns], names)


def _by_columns(body: Bytes) -> tuple[pa.Array, pa.Array, pa.StructArray] | None:
    stream = io.BytesIO(body[:10].tobytes())
    try:
        count = fastavro.schemaless_reader(stream, _LONG, None)
    except EOFError:
        return None
    # A negative count, which Hudi never writes, has the size of the array in bytes after it.
    if not isinstance(count, int) or count < 0:
        return None
    found = delete_columns(body, count, stream.tell(), [kind for _, _, kind in _WRAPPERS])
    if found is None:
        return None
    keys, paths, values = found
    fields = list(_ROW.field("value").type)
    children = [values.get(i, pa.nulls(len(keys), f.type)) for i, f in enumerate(fields, 1)]
    return keys, paths, pa.StructArray.from_arrays(children, fields=fields)


def _by_rows(body: pa.Buffer) -> tuple[pa.Array, pa.Array, pa.StructArray]:
    """Through fastavro's compiled reader and dictionaries."""
    stream = io.BytesIO(body)
    try:
        rows = pa.array(fastavro.schemaless_reader(stream, _SCHEMA, None), _ROW)
    # fastavro lets whatever the bytes provoke escape.
    except Exception as error:
        raise Undecodable(f"{type(error).__name__}: {error}") from error
    if stream.tell() != body.size:
        raise Undecodable(f"{body.size - stream.tell()} bytes follow the last delete")
    return rows.field("key"), rows.field("path"), rows.field("value")


def _ordering(values: pa.StructArray, kinds: list[pa.DataType]) -> tuple[pa.Array, list[pa.Array]]:
    rows = len(values)
    if not kinds:
        return pa.array(np.ones(rows, np.bool_)), []
    zero = pc.fill_null(pc.equal(_child(values, "int"), 0), False)
    arrays = _child(values, "array")
    several = arrays.is_valid()
    single = pc.invert(pc.or_(several, zero))
    given = _some_value(values)
    always = pc.or_(zero, pc.and_(single, pc.invert(given)))
    alone = pc.and_(single, given)
    if len(kinds) > 1 and pc.any(alone).as_py():
        raise Undecodable(f"a delete has one ordering value where the table has {len(kinds)}")
    if pc.any(pc.not_equal(pc.list_value_length(arrays), len(kinds))).as_py():
        raise Undecodable(f"a delete has not {len(kinds)} ordering values, as the table has")
    # A flattened array has the elements of valid lists only: that is where these rows' elements
    # are.
    elements = arrays.flatten()
    first = np.cumsum(several.to_numpy(zero_copy_only=False)) * len(kinds) - len(kinds)
    columns = []
    for j, kind in enumerate(kinds):
        made = _as_asked(values, kind, alone)
        if len(elements):
            own = pa.array(first + j, pa.int64(), mask=~several.to_numpy(zero_copy_only=False))
            element = elements.take(own)
            made = pc.coalesce(made, _as_asked(element, kind, several))
        columns.append(made)
    return always, columns


def _child(values: pa.StructArray, name: str) -> pa.Array:
    """A field of each row, null where the struct is."""
    return pc.struct_field(values, name)


def _some_value(values: pa.StructArray) -> pa.Array:
    found = pa.array(np.zeros(len(values), np.bool_))
    for name in _INDEX:
        found = pc.or_(found, _child(values, name).is_valid())
    return found


def _as_asked(values: pa.StructArray, kind: pa.DataType, where: pa.Array) -> pa.Array:
    """The values of the rows ``where``, whatever wrapper they are in, as ``kind``."""
    made = pa.nulls(len(values), kind)
    for name in _INDEX:
        child = _child(values, name)
        child = pc.if_else(where, child, pa.scalar(None, child.type))
        if child.null_count < len(child):
            made = pc.coalesce(made, _cast(name, child, kind))
    return made


def _cast(name: str, values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Values of the wrapper ``name`` as ``kind``; a value that does not fit is an ArrowInvalid."""
    t = pa.types
    number = t.is_integer(kind) or t.is_floating(kind) or t.is_decimal(kind)
    moment = t.is_date(kind) or t.is_time(kind) or t.is_timestamp(kind)
    fits: bool
    if name in ("int", "long"):
        if moment:  # the number beneath, as the column stores it
            return values.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)
        fits = number
    elif name in ("float", "double"):
        fits = number
        if t.is_float32(kind):
            return values.cast(kind, safe=False)
    elif name == "decimal":
        fits = number
    elif name == "boolean":
        fits = t.is_boolean(kind)
    elif name in ("bytes", "string"):
        fits = t.is_string(kind) or t.is_binary(kind)
    elif name in ("date", "local_date"):
        fits = t.is_date(kind) or t.is_timestamp(kind) or t.is_integer(kind)
    elif name == "time":
        fits = t.is_time(kind) or t.is_integer(kind)
    else:
        fits = t.is_timestamp(kind) or t.is_date(kind) or t.is_integer(kind)
    if not fits:
        raise pa.ArrowInvalid(f"a {name} is no {kind}")
    if t.is_integer(kind) and values.type.bit_width in (32, 64) and not number:
        values = values.view(pa.int32() if values.type.bit_width == 32 else pa.int64())
    if t.is_timestamp(values.type) and t.is_integer(kind):
        values = values.view(pa.int64())
    return values.cast(kind)


# --- encoding ---------------------------------------------------------------------------------
_NULL = b"\x00"
_NO_VALUE = bytes([2 * _INDEX["int"], 0])  # IntWrapper(0)


def encode_deletes(
    keys: pa.Array, paths: pa.Array, orderings: Sequence[pa.Array] | None, always: pa.Array | None
) -> Iterator[bytes | pa.Buffer]:
    """The content of a delete block: one delete a row, with ``orderings`` or, in the rows
    ``always`` and without orderings, Hudi's default, which wins whatever came before.

    Raises SchemaError for an ordering type, or value, that no wrapper holds.
    """
    rows = len(keys)
    text = pa.scalar(b"\x02", pa.binary())
    parts: list[Any] = [text, *value_parts(keys), text, *value_parts(paths)]
    if orderings:
        parts.append(_ordering_part(orderings, always, rows))
    else:
        parts.append(pa.scalar(_NO_VALUE, pa.binary()))
    body = content(join(parts, rows))
    count = content(zigzag(np.array([rows], np.int64))).to_pybytes() if rows else b""
    size = len(count) + body.size + 1
    if size > _LARGEST:
        raise SchemaError(
            "delete block",
            f"{rows} deletes take {size} bytes, more than a block holds.",
            "Write several blocks.",
        )
    yield _HEAD.pack(_VERSION, size) + count
    yield body
    yield _NULL


def _ordering_part(orderings: Sequence[pa.Array], always: pa.Array | None, rows: int) -> pa.Array:
    wrapped = [_wrapped(column) for column in orderings]
    if len(wrapped) == 1:
        made = join(wrapped[0], rows)
        missing = orderings[0].is_null()
        always = missing if always is None else pc.or_(always, missing)
    else:
        # The branch of the wrapper, that of its array, the length of its only block, and its end.
        head = bytes([2 * _ARRAY, 2]) + content(zigzag(np.array([len(wrapped)]))).to_pybytes()
        parts: list[Any] = [pa.scalar(head, pa.binary())]
        for part in wrapped:
            parts += part
        made = join([*parts, pa.scalar(_NULL, pa.binary())], rows)
    return made if always is None else pc.if_else(always, pa.scalar(_NO_VALUE, pa.binary()), made)


def _wrapped(column: pa.Array) -> list[Any]:
    """The bytes of a column in its wrapper; of a null, the branch of the null."""
    t, kind = pa.types, column.type
    name = _wrapper_of(kind)
    index = pa.scalar(bytes([2 * _INDEX[name]]), pa.binary())
    parts: list[Any]
    filled = column.fill_null(zero(kind)) if column.null_count else column
    if name == "decimal":
        try:
            scaled = filled.cast(_DECIMAL)
        except pa.ArrowInvalid as error:
            raise SchemaError(
                f"ordering column of {kind}",
                f"a delete's ordering value has 15 digits before and after the point ({error}).",
                "Order by a number of fewer digits.",
            ) from error
        parts = [pa.scalar(bytes([2 * _DECIMAL_BYTES]), pa.binary())]
        parts.append(decimal_part(scaled, _DECIMAL_BYTES))
    elif t.is_time32(kind):
        parts = value_parts(filled.cast(pa.time64("us")))
    else:
        parts = value_parts(filled)
    if not column.null_count:
        return [index, *parts]
    valid, nothing = column.is_valid(), pa.scalar(b"", pa.binary())
    first = pc.if_else(valid, index, pa.scalar(_NULL, pa.binary()))
    return [first, *(pc.if_else(valid, part, nothing) for part in parts)]


def _wrapper_of(kind: pa.DataType) -> str:
    t = pa.types
    if kind in _OF_TYPE:
        return _OF_TYPE[kind]
    # Spark's own deletes have timestamps as bare longs, in the unit of the column.
    if t.is_timestamp(kind):
        return "long"
    if t.is_decimal128(kind):
        return "decimal"
    if t.is_time(kind):
        return "time"
    raise SchemaError(
        f"ordering column of {kind}",
        "a delete block has no ordering values of this type.",
        "Order by a number, text, bytes, a date, a time or a timestamp.",
    )


_OF_TYPE = {
    pa.bool_(): "boolean",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.binary(): "bytes",
    pa.string(): "string",
    pa.date32(): "date",
}
