"""How a table's schema takes in the schema of incoming rows."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa

from hoodoo.errors import SchemaError

# Avro's numeric promotions, which Hudi's own readers apply to files written before the change.
_WIDER: dict[pa.DataType, tuple[pa.DataType, ...]] = {
    pa.int32(): (pa.int64(), pa.float32(), pa.float64()),
    pa.int64(): (pa.float32(), pa.float64()),
    pa.float32(): (pa.float64(),),
}
_Difference = tuple[str, str, str]  # column, table's type, incoming type


def evolve(table: pa.Schema, incoming: pa.Schema, frozen: Collection[str] = ()) -> pa.Schema:
    """The schema after rows in ``incoming`` (as the door left it) have been written to ``table``.

    New columns come last, nullable, in nested structs too; types grow as Avro promotes them, and
    decimals in precision. What is narrower than the table changes nothing: it is cast on the way
    in. A column that ``incoming`` lacks stays, and takes nulls. ``frozen`` names the key and
    partition columns: their types never change, as stored keys would no longer match.

    Raises SchemaError with a table of all columns that can't be brought together.
    """
    wrong: list[_Difference] = []
    fields = _fields(list(table), list(incoming), "", frozenset(frozen), wrong)
    if wrong:
        rows = [("column", "table", "incoming"), *wrong]
        widths = [max(len(row[i]) for row in rows) for i in range(2)]
        lines = [f"  {a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in rows]
        raise SchemaError(
            "incoming schema",
            "it is no evolution of the table's schema:\n" + "\n".join(lines) + "\n",
            "Cast these columns to the table's types, or rename them.",
        )
    return pa.schema(fields, metadata=table.metadata)


def _fields(
    table: list[pa.Field],
    incoming: list[pa.Field],
    parent: str,
    frozen: frozenset[str],
    wrong: list[_Difference],
) -> list[pa.Field]:
    arriving = {f.name: f for f in incoming}
    lower = {f.name.lower(): f for f in table}
    made = []
    for field in table:
        path = f"{parent}.{field.name}" if parent else field.name
        new = arriving.get(field.name)
        if new is None:
            made.append(field.with_nullable(True))
            continue
        kind = _type(field.type, new.type, path, frozen, wrong)
        if not kind.equals(field.type) and path in frozen:
            wrong.append((path, f"{field.type} (key or partition column)", str(new.type)))
            kind = field.type
        made.append(field.with_type(kind))
    known = {f.name for f in table}
    for new in incoming:
        if new.name in known:
            continue
        path = f"{parent}.{new.name}" if parent else new.name
        twin = lower.get(new.name.lower())
        if twin is not None:
            wrong.append((path, f"{twin.type}, named {twin.name}", str(new.type)))
        made.append(new.with_nullable(True))
    return made


def _type(
    old: pa.DataType, new: pa.DataType, path: str, frozen: frozenset[str], wrong: list[_Difference]
) -> pa.DataType:
    t = pa.types
    if old.equals(new):
        return old
    if t.is_struct(old) and t.is_struct(new):
        before = [old.field(i) for i in range(old.num_fields)]
        after = [new.field(i) for i in range(new.num_fields)]
        return pa.struct(_fields(before, after, path, frozen, wrong))
    if t.is_list(old) and t.is_list(new):
        kind = _type(old.value_type, new.value_type, f"{path}[]", frozen, wrong)
        return pa.list_(old.value_field.with_type(kind))
    if t.is_map(old) and t.is_map(new) and old.key_type.equals(new.key_type):
        kind = _type(old.item_type, new.item_type, f"{path}{{}}", frozen, wrong)
        return pa.map_(old.key_field, old.item_field.with_type(kind))
    if new in _WIDER.get(old, ()):
        return new
    if t.is_decimal128(old) and t.is_decimal128(new) and old.scale == new.scale:
        return new if new.precision > old.precision else old
    if _cast_on_the_way_in(old, new):
        return old
    wrong.append((path, str(old), str(new)))
    return old


def _cast_on_the_way_in(old: pa.DataType, new: pa.DataType) -> bool:
    t = pa.types
    if old in _WIDER.get(new, ()):
        return True
    # Avro reads strings as bytes and bytes as strings; the table keeps what it has, and bytes that
    # are no UTF-8 are refused when they are cast.
    if (t.is_string(old) or t.is_binary(old)) and (t.is_string(new) or t.is_binary(new)):
        return True
    # Another unit: values that the table's unit can't hold are refused when they are cast.
    times = t.is_timestamp(old) and t.is_timestamp(new)
    return bool(times or (t.is_time(old) and t.is_time(new)))
