"""Numbers of rows that are stored already, as the type that their column has grown to: a number of
more range, text, or a timestamp without a zone.

Unlike rows on their way in, stored rows are not asked to keep every digit: once a table's long is a
double, all of it is read, and rewritten, as doubles. A float becomes the double of its shortest
decimal text (0.1 stays 0.1), as Hudi does it: HoodieAvroUtils.rewritePrimaryType.
"""

from __future__ import annotations

import pyarrow as pa

from hoodoo_rows.model.conform import entries_of, map_parts, nested, parts, within
from hoodoo_rows.write.java_floats import java_floats


def promoted(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """``batch`` with those numbers changed, at any depth, that ``schema`` has in a floating type of
    more range, as text, or as a timestamp without a zone. All others are left as they are."""
    if batch.schema.equals(schema):
        return batch
    for at, field in enumerate(batch.schema):
        place = schema.get_field_index(field.name)
        if place >= 0 and _grows(field.type, schema.field(place).type):
            array = _promoted(batch.column(at), schema.field(place).type)
            batch = batch.set_column(at, field.with_type(array.type), array)
    return batch


def _grows(found: pa.DataType, kind: pa.DataType) -> bool:
    t = pa.types
    number = t.is_integer(found) or t.is_floating(found)
    if t.is_floating(kind):
        return bool(t.is_integer(found)) or (t.is_float32(found) and t.is_float64(kind))
    if t.is_timestamp(kind) and t.is_int64(found):  # in its unit, as Hudi 0.x writes it
        return kind.tz is None
    return (t.is_string(kind) and number) or any(_grows(*pair) for pair in within(found, kind))


def _promoted(array: pa.Array, kind: pa.DataType) -> pa.Array:
    found = array.type
    if not _grows(found, kind):
        return array
    if pa.types.is_struct(found):
        # `field`, not `flatten`: what a null struct hides stays hidden by the mask.
        wanted = {f.name: f.type for f in kind}
        children = [
            _promoted(array.field(i), wanted.get(f.name, f.type)) for i, f in enumerate(found)
        ]
        fields = [f.with_type(child.type) for f, child in zip(found, children, strict=True)]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(children, fields=fields, mask=mask)
    if pa.types.is_list(found):
        offsets, values, validity = parts(array, array.values)
        values = _promoted(values, kind.value_type)
        grown = pa.list_(found.value_field.with_type(values.type))
        return nested(array, grown, offsets, values, validity)
    if pa.types.is_map(found):
        offsets, entries, validity = map_parts(array)
        items = _promoted(entries.field(1), kind.item_type)
        grown = pa.map_(found.key_field, found.item_field.with_type(items.type))
        return nested(array, grown, offsets, entries_of(grown, entries.field(0), items), validity)
    if pa.types.is_floating(found):
        text = pa.types.is_string(kind)
        return java_floats(array) if text else array.cast(pa.string()).cast(kind)
    return array.cast(kind, safe=False)
