"""Values that files store in typed columns, as variants again (VariantShredding.md).

Each row is put together in Python: Hudi 1.2 does not write such files, so that few tables have any.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hoodoo_variant.decode import contents, keys_of
from hoodoo_variant.encode import EMPTY, VariantError, array_of, object_of, text_of

_NULL = b"\x00"
_FIX = "Write the rows again with the engine that wrote them, without shredding."
Values = list[bytes | None]
Names = list[tuple[str, ...]]  # the keys in the metadata of each row


def unshredded(array: pa.StructArray) -> tuple[pa.Array, pa.Array]:
    """Metadata and values of the rows, none of which is null, of a struct of ``metadata``, perhaps
    ``value``, and ``typed_value``. Raises VariantError where it is not as the specification has
    it."""
    metadata = array.field("metadata").cast(pa.binary())
    names = [keys_of(one or EMPTY) for one in metadata.to_pylist()]
    values = [_NULL if value is None else value for value in _values(array, names)]
    return metadata, pa.array(values, pa.binary())


def _values(array: pa.StructArray, names: Names) -> Values:
    fields = {field.name for field in array.type}
    values: Values = [None] * len(array)
    if "value" in fields:
        values = array.field("value").cast(pa.binary()).to_pylist()
    if "typed_value" not in fields:
        return values
    typed = array.field("typed_value")
    if pa.types.is_struct(typed.type):
        return _objects(typed, names, values)
    found = _arrays(typed, names) if pa.types.is_list(typed.type) else _primitives(typed)
    return [value if one is None else one for one, value in zip(found, values, strict=True)]


def _objects(typed: pa.StructArray, names: Names, values: Values) -> Values:
    columns = {field.name: _values(typed.field(i), names) for i, field in enumerate(typed.type)}
    found = values.copy()
    for row, valid in enumerate(typed.is_valid().to_pylist()):
        if not valid:
            continue
        items = {} if values[row] is None else _items(values[row] or b"", names[row])
        items.update({n: value for n, of in columns.items() if (value := of[row]) is not None})
        places = {name: place for place, name in enumerate(names[row])}
        if lacking := items.keys() - places.keys():
            raise VariantError(f"its metadata lack the key {min(lacking)!r}.", _FIX)
        found[row] = object_of([(name, places[name], item) for name, item in items.items()])
    return found


def _items(value: bytes, names: tuple[str, ...]) -> dict[str, bytes]:
    """The values within an object, by their keys."""
    places, offsets, start = contents(value, 0)
    if places is None:
        raise VariantError("it has fields in typed columns, and its value is no object.", _FIX)
    ends = sorted(offsets)  # values lie in any order, without gaps
    after = dict(zip(ends, ends[1:], strict=False))
    return {
        names[place]: value[start + offset : start + after[offset]]
        for place, offset in zip(places, offsets, strict=False)
    }


def _arrays(typed: pa.ListArray, names: Names) -> Values:
    lengths = pc.fill_null(pc.list_value_length(typed), 0).to_pylist()
    of_rows = [name for name, length in zip(names, lengths, strict=True) for _ in range(length)]
    items = [_NULL if item is None else item for item in _values(typed.flatten(), of_rows)]
    found: Values = []
    start = 0
    for valid, length in zip(typed.is_valid().to_pylist(), lengths, strict=True):
        found.append(array_of(items[start : start + length]) if valid else None)
        start += length
    return found


# Types of Arrow whose values are numbers of a fixed length: the header, their form, and what they
# are cast to before.
_FORMS: dict[pa.DataType, tuple[str, int, pa.DataType]] = {
    pa.int8(): ("<Bb", 12, pa.int8()),
    pa.int16(): ("<Bh", 16, pa.int16()),
    pa.int32(): ("<Bi", 20, pa.int32()),
    pa.int64(): ("<Bq", 24, pa.int64()),
    pa.float64(): ("<Bd", 28, pa.float64()),
    pa.float32(): ("<Bf", 56, pa.float32()),
    pa.date32(): ("<Bi", 44, pa.int32()),
    pa.time64("us"): ("<Bq", 68, pa.int64()),
    pa.timestamp("us", "UTC"): ("<Bq", 48, pa.int64()),
    pa.timestamp("us"): ("<Bq", 52, pa.int64()),
    pa.timestamp("ns", "UTC"): ("<Bq", 72, pa.int64()),
    pa.timestamp("ns"): ("<Bq", 76, pa.int64()),
}


def _primitives(typed: pa.Array) -> Values:
    kind = typed.type
    if isinstance(typed, pa.ExtensionArray):
        return _primitives(typed.storage)
    if kind in _FORMS:
        form, header, cast = _FORMS[kind]
        pack = struct.Struct(form).pack
        return _each(typed.cast(cast), lambda value: pack(header, value))
    if pa.types.is_boolean(kind):
        return _each(typed, lambda value: b"\x04" if value else b"\x08")
    if pa.types.is_decimal128(kind):
        return _decimals(typed)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _each(typed, text_of)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return _each(typed, lambda value: struct.pack("<BI", 60, len(value)) + value)
    if kind == pa.binary(16):
        return _each(typed, lambda value: b"\x50" + value)
    raise VariantError(f"it has values in a column of {kind}, which variants lack.", _FIX)


def _each(array: pa.Array, encoded: Callable[[Any], bytes]) -> Values:
    return [None if value is None else encoded(value) for value in array.to_pylist()]


def _decimals(typed: pa.Array) -> Values:
    precision, scale = typed.type.precision, typed.type.scale
    header, size = (32, 4) if precision <= 9 else (36, 8) if precision <= 18 else (40, 16)
    head = bytes([header, scale])
    # An Arrow decimal is its number without the point, in 16 bytes.
    data = typed.buffers()[1]
    numbers = pa.Array.from_buffers(pa.binary(16), len(typed), [None, data], 0, typed.offset)
    valid = typed.is_valid().to_pylist()
    return [
        head + number[:size] if there else None
        for there, number in zip(valid, numbers.to_pylist(), strict=True)
    ]
