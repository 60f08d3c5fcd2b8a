"""Truncate: timestamps without the digits that their column has no room for, as an option says."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hoodoo_rows.model.conform import conform, entries_of, map_parts, nested, parts, within
from hoodoo_rows.model.normalize import plain_schema

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def truncated(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """``batch``, in plain types, with timestamps that are whole in the units of ``schema``, at any
    depth. What is cut off of a time is never negative: the digits at the end of its text."""
    batch = conform(batch, plain_schema(batch.schema))  # no views
    for at, field in enumerate(batch.schema):
        place = schema.get_field_index(field.name)
        if place >= 0 and _is_finer(field.type, schema.field(place).type):
            batch = batch.set_column(at, field, _cut(batch.column(at), schema.field(place).type))
    return batch


def _is_finer(found: pa.DataType, kind: pa.DataType) -> bool:
    t = pa.types
    if t.is_timestamp(found) and t.is_timestamp(kind):
        return _PER_SECOND[found.unit] > _PER_SECOND[kind.unit]
    return any(_is_finer(*pair) for pair in within(found, kind))


def _cut(array: pa.Array, kind: pa.DataType) -> pa.Array:
    found = array.type
    if not _is_finer(found, kind):
        return array
    if pa.types.is_timestamp(found):
        each = _PER_SECOND[found.unit] // _PER_SECOND[kind.unit]
        numbers = np.asarray(array.view(pa.int64()).fill_null(0))
        whole = pa.array(numbers - numbers % each, pa.int64()).view(found)
        return whole if not array.null_count else pc.if_else(array.is_valid(), whole, None)
    if pa.types.is_struct(found):
        # `field`, not `flatten`: what a null struct hides stays hidden by the mask.
        wanted = {f.name: f.type for f in kind}
        children = [_cut(array.field(i), wanted.get(f.name, f.type)) for i, f in enumerate(found)]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(children, fields=list(found), mask=mask)
    if pa.types.is_list(found):
        offsets, values, validity = parts(array, array.values)
        return nested(array, found, offsets, _cut(values, kind.value_type), validity)
    offsets, entries, validity = map_parts(array)
    items = _cut(entries.field(1), kind.item_type)
    return nested(array, found, offsets, entries_of(found, entries.field(0), items), validity)
