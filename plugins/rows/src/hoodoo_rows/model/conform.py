"""Bringing a batch into exactly a given schema: by name, never losing a value silently."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import SchemaError
from hoodoo.model.meta import META_COLUMNS
from hoodoo.model.schema import logical

from hoodoo_rows.model.whole_numbers import whole_numbers


def conform(batch: pa.RecordBatch, schema: pa.Schema, drop_extra: bool = False) -> pa.RecordBatch:
    """The rows of ``batch`` in exactly ``schema``; columns already right are not copied.

    Columns are found by name, at every depth; nullable ones that lack are null. Floating numbers
    become integers where ``schema`` has those, if they are whole
    (:mod:`hoodoo_rows.model.whole_numbers`). Raises SchemaError naming the column and both types
    where a column can't be cast, a value does not fit (an int64 in an int32, nanoseconds in
    microseconds), or a null meets a field that has none. A column that ``schema`` lacks is an
    error, unless it is one of Hudi's meta columns or ``drop_extra`` is set.
    """
    if batch.schema.equals(schema, check_metadata=True):
        return batch
    # Arrow looks a name up by hashing, once for each column: a dictionary is as good, and safe
    # where a file holds one name twice.
    places = {name: i for i, name in enumerate(batch.schema.names)}
    if not drop_extra:
        wanted = {*schema.names, *META_COLUMNS}
        extra = [name for name in batch.schema.names if name not in wanted]
        if extra:
            raise SchemaError(
                f"column {extra[0]}",
                f"the table has no such column (its columns: {', '.join(schema.names)}).",
                "Add the column to the table first (table.alter), or drop it from the rows.",
            )
    if not batch.num_rows:  # of whatever types
        return pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in schema], schema=schema)
    columns = []
    for field in schema:
        place = places.get(field.name)
        columns.append(
            _filled(field, batch.num_rows, field.name)
            if place is None
            else conform_array(batch.column(place), field, field.name)
        )
    if not columns:  # a batch without columns keeps its number of rows this way only
        return batch.select([])
    return pa.RecordBatch.from_arrays(columns, schema=schema)


# Nothing compares, sorts or casts Arrow's type of UUIDs, so that tables, and what filters name,
# have their texts.
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
# Where the digits are between the dashes.
_DIGITS = np.array([n for n in range(36) if n not in (8, 13, 18, 23)])


def is_uuid(kind: pa.DataType) -> bool:
    """Whether ``kind`` is Arrow's type of UUIDs."""
    return isinstance(kind, pa.BaseExtensionType) and kind.extension_name == "arrow.uuid"


def _uuid_texts(octets: pa.FixedSizeBinaryArray) -> pa.Array:
    """UUIDs of 16 bytes each as texts in lower case: 1 M in about 0.1 s."""
    count = len(octets)
    data = np.zeros((count, 16), np.uint8)
    values = octets.drop_null()
    stored = values.buffers()[1]
    if len(values):
        own = np.frombuffer(stored, np.uint8)[values.offset * 16 :][: len(values) * 16]
        data[octets.is_valid().to_numpy(zero_copy_only=False)] = own.reshape(-1, 16)
    found = np.full((count, 36), ord("-"), np.uint8)
    found[:, _DIGITS[0::2]] = _HEX[data >> 4]
    found[:, _DIGITS[1::2]] = _HEX[data & 15]
    ends = pa.py_buffer(np.arange(0, 36 * (count + 1), 36, dtype=np.int32))
    made = pa.Array.from_buffers(pa.string(), count, [None, ends, pa.py_buffer(found)])
    return pc.if_else(octets.is_valid(), made, None) if octets.null_count else made


def uuids_as_texts(batch: pa.RecordBatch) -> pa.RecordBatch:
    """``batch`` with texts in place of UUIDs, at any depth."""
    schema = texts_for_uuids(batch.schema)
    if schema.equals(batch.schema):
        return batch
    columns = [conform_array(c, f, f.name) for c, f in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def texts_for_uuids(schema: pa.Schema) -> pa.Schema:
    """The schema of :func:`uuids_as_texts`."""
    for at, field in enumerate(schema):  # a dictionary of its metadata would have each name once
        if (plain := _with_texts(field)) is not field:
            schema = schema.set(at, plain)
    return schema


def _with_texts(field: pa.Field) -> pa.Field:
    kind, inner = field.type, _with_texts
    if is_uuid(kind):
        return field.with_type(pa.string())
    if pa.types.is_struct(kind):
        return field.with_type(pa.struct([inner(child) for child in kind]))
    if pa.types.is_map(kind):
        return field.with_type(pa.map_(inner(kind.key_field), inner(kind.item_field)))
    if is_list_like(kind) and inner(kind.value_field) != kind.value_field:
        return field.with_type(pa.list_(inner(kind.value_field)))
    return field


def _filled(field: pa.Field, rows: int, path: str) -> pa.Array:
    if not field.nullable and rows:
        raise SchemaError(
            f"column {path}",
            f"the table allows no nulls in this {field.type} column, and the rows lack it.",
            "Add the column to the rows.",
        )
    return pa.nulls(rows, field.type)


def conform_array(array: pa.Array, field: pa.Field, path: str) -> pa.Array:
    """``array`` as ``field`` wants it; ``path`` names the column in errors."""
    kind, found = field.type, array.type
    if not found.equals(kind, check_metadata=True):  # which says what is a vector
        if isinstance(array, pa.ExtensionArray):
            if is_uuid(found) and pa.types.is_string(kind):
                return conform_array(_uuid_texts(array.storage), field, path)
            is_bool8 = found.extension_name == "arrow.bool8"
            plain = array.cast(pa.bool_()) if is_bool8 else array.storage
            return conform_array(plain, field, path)
        if isinstance(array, pa.RunEndEncodedArray):  # Arrow decodes runs of few types: places do
            values = conform_array(array.values, pa.field(path, kind), path)
            runs = type(array).from_arrays(array.run_ends, pa.array(range(len(values))))
            places = pc.run_end_decode(runs.slice(array.offset, len(array)))
            return conform_array(values.take(places), field, path)
        if (own := logical.of(kind)) is not None:
            array = own.conform(array, kind, path)
        elif pa.types.is_struct(kind) and pa.types.is_struct(found):
            array = _struct(array, kind, path)
        elif pa.types.is_list(kind) and is_list_like(found):
            array = _list(array, kind, path)
        elif pa.types.is_map(kind) and pa.types.is_map(found):
            array = _map(array, kind, path)
        else:
            array = _leaf(array, kind, path)
    if not field.nullable and array.null_count:
        raise SchemaError(
            f"column {path}",
            f"the table's {kind} has no nulls, and {array.null_count} rows are null.",
            "Fill the column, or leave these rows out.",
        )
    return array


def _struct(array: pa.StructArray, kind: pa.StructType, path: str) -> pa.Array:
    names = [array.type.field(i).name for i in range(array.type.num_fields)]
    wanted = [kind.field(i) for i in range(kind.num_fields)]
    extra = [name for name in names if name not in {f.name for f in wanted}]
    if extra:
        raise SchemaError(
            f"column {path}.{extra[0]}",
            f"the table's {path} has no such field: {kind}.",
            "Add the field to the table first (table.alter), or drop it from the rows.",
        )
    places = {name: i for i, name in enumerate(names)}
    nulls = array.is_null() if array.null_count else None
    children = []
    for f in wanted:
        below = f"{path}.{f.name}"
        if f.name not in places:
            children.append(_filled(f, len(array), below))
            continue
        child = array.field(places[f.name])
        # A field without nulls may hold anything where the struct itself is null.
        loose = f if nulls is None else f.with_nullable(True)
        children.append(conform_array(child, loose, below))
    return pa.StructArray.from_arrays(children, fields=wanted, mask=nulls)


def _list(array: pa.Array, kind: pa.ListType, path: str) -> pa.Array:
    if pa.types.is_list(array.type):
        offsets, values, validity = parts(array, array.values)
    else:  # not by cast: Arrow's from list views to lists leaves an offset out
        lengths = pc.fill_null(pc.list_value_length(array), 0).cast(pa.int32())
        ends = pc.cumulative_sum_checked(lengths)
        offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
        values, validity = array.flatten(), _validity(array)
    values = conform_array(values, kind.value_field, f"{path}[]")
    return nested(array, kind, offsets, values, validity)


def _map(array: pa.MapArray, kind: pa.MapType, path: str) -> pa.Array:
    offsets, entries, validity = map_parts(array)
    keys = conform_array(entries.field(0), kind.key_field, f"{path}{{key}}")
    items = conform_array(entries.field(1), kind.item_field, f"{path}{{}}")
    return nested(array, kind, offsets, entries_of(kind, keys, items), validity)


def map_parts(array: pa.MapArray) -> tuple[pa.Array, pa.Array, pa.Buffer | None]:
    """The :func:`parts` of a map, whose values are structs of key and value."""
    return parts(array, pa.StructArray.from_arrays([array.keys, array.items], ["key", "value"]))


def entries_of(kind: pa.MapType, keys: pa.Array, items: pa.Array) -> pa.Array:
    """The values of a map of the type ``kind``."""
    return pa.StructArray.from_arrays([keys, items], fields=[kind.key_field, kind.item_field])


def nested(
    array: pa.Array, kind: pa.DataType, offsets: pa.Array, values: pa.Array, validity: Any
) -> pa.Array:
    """A list or map of the type ``kind`` as long as ``array``, of what :func:`parts` tells
    apart."""
    buffers = [validity, offsets.buffers()[1]]
    return pa.Array.from_buffers(kind, len(array), buffers, array.null_count, 0, [values])


def parts(array: pa.Array, values: pa.Array) -> tuple[pa.Array, pa.Array, pa.Buffer | None]:
    """Offsets from zero, the values they span, and the validity bitmap, for a slice too."""
    offsets = array.offsets
    if not len(array):
        return pa.array([0], pa.int32()), values.slice(0, 0), None
    start, end = offsets[0].as_py(), offsets[-1].as_py()
    if start or offsets.offset:
        offsets = pc.subtract(offsets, pa.scalar(start, pa.int32()))
    return offsets, values.slice(start, end - start), _validity(array)


def _validity(array: pa.Array) -> pa.Buffer | None:
    return array.is_valid().buffers()[1] if array.null_count else None


_LISTS = frozenset({
    pa.lib.Type_LIST, pa.lib.Type_LARGE_LIST, pa.lib.Type_FIXED_SIZE_LIST, pa.lib.Type_LIST_VIEW,
    pa.lib.Type_LARGE_LIST_VIEW,
})  # fmt: skip


def is_list_like(kind: pa.DataType) -> bool:
    """Any of Arrow's list types; a map is none."""
    return kind.id in _LISTS


def within(one: pa.DataType, other: pa.DataType) -> list[tuple[pa.DataType, pa.DataType]]:
    """The types within two nested types of one kind: of fields that both structs have, of elements,
    of a map's values."""
    t = pa.types
    if t.is_struct(one) and t.is_struct(other):
        there = {field.name: field.type for field in other}
        return [(field.type, there[field.name]) for field in one if field.name in there]
    if is_list_like(one) and t.is_list(other):
        return [(one.value_type, other.value_type)]
    is_map = t.is_map(one) and t.is_map(other)
    return [(one.item_type, other.item_type)] if is_map else []


def _leaf(array: pa.Array, kind: pa.DataType, path: str) -> pa.Array:
    found = array.type
    if pa.types.is_dictionary(found) and found.value_type.id in _TEXTS:  # Arrow decodes no views
        return _leaf(array.dictionary, kind, path).take(array.indices)
    if pa.types.is_dictionary(found):  # a value that no row has need not fit
        return conform_array(array.dictionary_decode(), pa.field(path, kind), path)
    if pa.types.is_floating(array.type) and pa.types.is_integer(kind):
        return whole_numbers(array, kind, path)
    if len(array) and array.null_count == len(array):
        return pa.nulls(len(array), kind)
    if not _castable(array.type, kind):
        raise SchemaError(
            f"column {path}",
            f"the table's type is {kind}, the incoming one is {found}.",
            "Cast the column before writing it.",
        )
    try:
        if pa.types.is_decimal(kind):  # by one that has room for whole numbers of that scale
            array = array.cast(pa.decimal256(76, kind.scale))
        return array.cast(kind)
    except pa.ArrowInvalid as error:
        grow = ", or widen it by table.alter" if pa.types.is_decimal(kind) else ""
        grow = ", or set hoodoo.nanoseconds=TRUNCATE" if pa.types.is_timestamp(kind) else grow
        raise SchemaError(
            f"column {path}",
            f"a value of the incoming {found} does not fit the table's {kind} ({error}).",
            f"Correct the values, or cast the column before writing it{grow}.",
        ) from error


def _castable(found: pa.DataType, kind: pa.DataType) -> bool:
    """Whether Arrow's safe cast of this pair keeps every value, or raises."""
    t = pa.types
    if t.is_null(found):
        return True
    if t.is_floating(found):
        return bool(t.is_floating(kind)) and found.bit_width < kind.bit_width
    if t.is_integer(found):
        floating = t.is_float32(kind) or t.is_float64(kind)
        return bool(t.is_integer(kind) or floating or t.is_decimal(kind))
    if found.id in _TEXTS:
        return bool(t.is_string(kind) or t.is_binary(kind))
    for same in (t.is_decimal, t.is_date, t.is_time):
        if same(found):
            return bool(same(kind))
    return bool(t.is_timestamp(found) and t.is_timestamp(kind) and (kind.tz or not found.tz))


_STRINGS = (pa.string(), pa.large_string(), pa.string_view())
_BINARIES = (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(1))
_TEXTS = frozenset(kind.id for kind in (*_STRINGS, *_BINARIES))
