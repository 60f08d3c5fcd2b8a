"""Arrow columns as lists of Python values, and back, for any type and without a loss.

Numbers, texts and bytes are themselves; dates, times, durations are their numbers; decimals,
float16 and uint64 are text; lists are lists, maps are lists of pairs. A struct, or a pair, is a
tuple in the order of its fields, or, where generic records are wanted, a dictionary."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

Values = list[Any]


def stored_type(kind: pa.DataType) -> pa.DataType | None:
    """The type whose Python values stand for those of a flat ``kind``; None if they are its own."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return pa.int32() if kind.bit_width == 32 else pa.int64()
    if pa.types.is_decimal(kind) or pa.types.is_float16(kind) or pa.types.is_uint64(kind):
        return pa.string()
    return None


def to_python(array: pa.Array, records: bool = False) -> Values:
    """The values of ``array``; structs as dictionaries if ``records``."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return to_python(array.storage, records)
    if pa.types.is_struct(kind):
        names = [kind.field(i).name for i in range(kind.num_fields)]
        parts = [to_python(child, records) for child in array.flatten()]
        rows: Values = list(zip(*parts)) if parts else [()] * len(array)
        if records:
            rows = [dict(zip(names, row)) for row in rows]
        return _with_nulls(rows, array)
    if pa.types.is_map(kind):
        keys, items = to_python(array.keys, records), to_python(array.items, records)
        pairs: Values = list(zip(keys, items))
        if records:
            pairs = [{"key": key, "value": item} for key, item in pairs]
        return _sliced(pairs, array, array.offsets)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        # `values` is the whole child, which the offsets of a slice point into.
        return _sliced(to_python(array.values, records), array, array.offsets)
    if pa.types.is_fixed_size_list(kind):
        return to_python(array.cast(pa.list_(kind.value_field)), records)
    stored = stored_type(kind)
    if stored is None:
        return array.to_pylist()
    if pa.types.is_temporal(kind):
        return array.view(stored).to_pylist()
    if pa.types.is_dictionary(kind):
        return to_python(array.dictionary_decode(), records)
    return array.cast(stored).to_pylist()


def from_python(values: Values, kind: pa.DataType, records: bool = False) -> pa.Array:
    """The inverse of :func:`to_python`."""
    if isinstance(kind, pa.BaseExtensionType):
        return kind.wrap_array(from_python(values, kind.storage_type, records))
    if pa.types.is_struct(kind):
        return _struct(values, kind, records)
    if pa.types.is_map(kind):
        offsets, pairs = _flattened(values, pa.int32())
        if records:
            pairs = [(pair["key"], pair["value"]) for pair in pairs]
        keys = from_python([k for k, _ in pairs], kind.key_type, records)
        items = from_python([v for _, v in pairs], kind.item_type, records)
        return pa.MapArray.from_arrays(offsets, keys, items, type=kind)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        large = pa.types.is_large_list(kind)
        offsets, inner = _flattened(values, pa.int64() if large else pa.int32())
        child = from_python(inner, kind.value_type, records)
        made = pa.LargeListArray if large else pa.ListArray
        return made.from_arrays(offsets, child, type=kind)
    if pa.types.is_fixed_size_list(kind):
        return from_python(values, pa.list_(kind.value_field), records).cast(kind)
    stored = stored_type(kind)
    if stored is None:
        return pa.array(values, kind)
    if pa.types.is_temporal(kind):
        return pa.array(values, stored).view(kind)
    if pa.types.is_dictionary(kind):
        return _encoded(from_python(values, kind.value_type, records), kind)
    return pa.array(values, stored).cast(kind)


def _struct(values: Values, kind: pa.DataType, records: bool) -> pa.Array:
    fields = [kind.field(i) for i in range(kind.num_fields)]
    missing = [value is None for value in values]
    mask = pa.array(missing, pa.bool_()) if any(missing) else None
    if not fields:
        whole = pa.array([{}] * len(values), kind)
        return whole if mask is None else pa.array([None if m else {} for m in missing], kind)
    if records:
        columns: list[Values] = [
            [None if row is None else row[f.name] for row in values] for f in fields
        ]
    else:
        empty = (None,) * len(fields)
        rows = [empty if row is None else row for row in values] if mask is not None else values
        columns = [list(column) for column in zip(*rows)] or [[] for _ in fields]
    children = [from_python(c, f.type, records) for c, f in zip(columns, fields)]
    return pa.StructArray.from_arrays(children, fields=fields, mask=mask)


def _encoded(array: pa.Array, kind: pa.DataType) -> pa.Array:
    found = array.dictionary_encode()
    return pa.DictionaryArray.from_arrays(
        found.indices.cast(kind.index_type), found.dictionary, ordered=kind.ordered
    )


def _with_nulls(rows: Values, array: pa.Array) -> Values:
    if not array.null_count:
        return rows
    return [row if there else None for row, there in zip(rows, array.is_valid().to_pylist())]


def _sliced(values: Values, array: pa.Array, offsets: pa.Array) -> Values:
    ends = offsets.to_pylist()
    return _with_nulls([values[a:b] for a, b in zip(ends, ends[1:])], array)


def _flattened(values: Values, kind: pa.DataType) -> tuple[pa.Array, Values]:
    """Offsets (null where the list is) and the values of all lists."""
    ends: Values = []
    inner: Values = []
    for value in values:
        ends.append(None if value is None else len(inner))
        inner.extend(value or ())
    return pa.array([*ends, len(inner)], kind), inner
