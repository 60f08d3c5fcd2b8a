"""How a table's schema takes in the schema of incoming rows."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import pyarrow as pa

from hoodoo.errors import SchemaError

# Avro's numeric promotions, which Hudi's own readers apply to files written before the change.
_WIDER: dict[pa.DataType, tuple[pa.DataType, ...]] = {
    pa.int32(): (pa.int64(), pa.float32(), pa.float64()),
    pa.int64(): (pa.float32(), pa.float64()),
    pa.float32(): (pa.float64(),),
}
_Difference = tuple[str, str, str]  # column, table's type, incoming type


def evolve(
    table: pa.Schema,
    incoming: pa.Schema,
    frozen: Collection[str] = (),
    *,
    ordering: Collection[str] = (),
    widen_integers: bool = False,
) -> pa.Schema:
    """The schema after rows in ``incoming`` (as the door left it) have been written to ``table``.

    New columns come last, nullable, in nested structs too; types grow as Avro promotes them, and
    decimals in precision. What is narrower than the table changes nothing: it is cast on the way
    in. A column that ``incoming`` lacks stays, and takes nulls. ``frozen`` names the key and
    partition columns: their types never change, as stored keys would no longer match.

    A column of integers stays one where floating numbers arrive, which are whole then or refused when
    they are cast: a double does not hold every int64. With ``widen_integers`` it becomes floating, as
    Avro promotes it and as Hudi does unasked; the caller sees to it that what is stored fits
    (:func:`outgrown`). Of the key, partition and ``ordering`` columns none does: numbers that differ as
    integers may be equal as doubles.

    Raises SchemaError with a table of all columns that can't be brought together.
    """
    if incoming.equals(table):
        return table
    wrong: list[_Difference] = []
    whole = frozenset([*frozen, *ordering]) if widen_integers else None
    rule = _Rule(frozenset(frozen), whole)
    fields = _fields(list(table), list(incoming), "", rule, wrong)
    if wrong:
        rows = [("column", "table", "incoming"), *wrong]
        widths = [max(len(row[i]) for row in rows) for i in range(2)]
        lines = [f"  {a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in rows]
        raise SchemaError(
            "incoming schema",
            "it is not a compatible change of the table's schema:\n" + "\n".join(lines) + "\n",
            "Cast these columns to the table's types, or rename them.",
        )
    return pa.schema(fields, metadata=table.metadata)


def outgrown(table: pa.Schema, grown: pa.Schema) -> pa.Schema:
    """Those columns of ``grown``, an evolution of ``table``, in which integers have become floating, at
    whatever depth."""
    before = {field.name: field.type for field in table}
    return pa.schema(
        [f for f in grown if f.name in before and holds_outgrown(before[f.name], f.type)]
    )


def holds_outgrown(old: pa.DataType, new: pa.DataType) -> bool:
    """Whether integers in ``old`` are floating in ``new``, its evolution."""
    t = pa.types
    if t.is_struct(old) and t.is_struct(new):
        after = {field.name: field.type for field in new}
        return any(f.name in after and holds_outgrown(f.type, after[f.name]) for f in old)
    if t.is_list(old) and t.is_list(new):
        return holds_outgrown(old.value_type, new.value_type)
    if t.is_map(old) and t.is_map(new):
        return holds_outgrown(old.item_type, new.item_type)
    return bool(t.is_integer(old) and t.is_floating(new))


class _Rule(NamedTuple):
    """``frozen`` columns never change their type; integers stay integers in ``whole`` ones (None: in all)."""

    frozen: frozenset[str]
    whole: frozenset[str] | None


def _fields(
    table: list[pa.Field],
    incoming: list[pa.Field],
    parent: str,
    rule: _Rule,
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
        kind = _type(field.type, new.type, path, rule, wrong)
        if not kind.equals(field.type) and path in rule.frozen:
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
    old: pa.DataType, new: pa.DataType, path: str, rule: _Rule, wrong: list[_Difference]
) -> pa.DataType:
    t = pa.types
    if old.equals(new):
        return old
    if t.is_struct(old) and t.is_struct(new):
        before = [old.field(i) for i in range(old.num_fields)]
        after = [new.field(i) for i in range(new.num_fields)]
        return pa.struct(_fields(before, after, path, rule, wrong))
    if t.is_list(old) and t.is_list(new):
        kind = _type(old.value_type, new.value_type, f"{path}[]", rule, wrong)
        return pa.list_(old.value_field.with_type(kind))
    if t.is_map(old) and t.is_map(new) and old.key_type.equals(new.key_type):
        kind = _type(old.item_type, new.item_type, f"{path}{{}}", rule, wrong)
        return pa.map_(old.key_field, old.item_field.with_type(kind))
    if t.is_integer(old) and t.is_floating(new) and (rule.whole is None or path in rule.whole):
        return old
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
