"""How a table's schema takes in the schema of incoming rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import pyarrow as pa
from attrs import Factory
from attrs import frozen as frozen_class
from hoodoo.calls import nearest
from hoodoo.errors import MissingColumnError, SchemaError
from hoodoo.model.meta import IS_DELETED, OPERATION
from hoodoo.options.table import ADD_COLUMNS, FILL_COLUMNS, NAIVE_TIMESTAMPS

from hoodoo_rows.model.conform import within

MARKS = (IS_DELETED, OPERATION)  # columns that say what is done with a row

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
    add: bool = True,
    fill: bool = True,
) -> pa.Schema:
    """The schema after rows in ``incoming`` (as the door left it) have been written to ``table``.

    New columns come last, nullable, in nested structs too; types grow as Avro promotes them, and
    decimals in precision. Without ``add`` new columns are refused, and decimals stay. What is
    narrower than the table changes nothing: it is cast on the way in. A column that ``incoming``
    lacks stays, and takes nulls; without ``fill`` it is refused. ``frozen`` names the key and
    partition columns: their types never change, as stored keys would no longer match.

    A column of integers stays one where floating numbers arrive, which are whole then or refused
    when they are cast: a double does not hold every int64. With ``widen_integers`` it becomes
    floating, as Avro promotes it and as Hudi does unasked; the caller sees to it that what is
    stored fits (:func:`outgrown`). Of the key, partition and ``ordering`` columns none does:
    numbers that differ as integers may be equal as doubles.

    Raises SchemaError with a table of all columns that can't be brought together, and for a column
    too many; MissingColumnError for one too few."""
    if incoming.equals(table):
        return table
    wrong: list[_Difference] = []
    whole = frozenset([*frozen, *ordering]) if widen_integers else None
    rule = _Rule(frozenset(frozen), whole, add)
    fields = _fields(list(table), list(incoming), "", rule, wrong)
    if wrong:
        rows = [("column", "table", "incoming"), *wrong]
        widths = [max(len(row[i]) for row in rows) for i in range(2)]
        lines = [f"  {a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in rows]
        raise SchemaError(
            "incoming schema",
            "it is not a compatible change of the table's schema:\n" + "\n".join(lines) + "\n",
            "Cast these columns to the table's types, or rename them." + _zones(wrong),
        )
    if rule.new:
        _refuse_new(rule.new)
    if rule.lacking and not fill:
        raise MissingColumnError(
            f"column {', '.join(rule.lacking)}",
            "is not in the rows, and the options say that none may lack.",
            f"Add it to the rows, or set {FILL_COLUMNS.key}=true: it is null in them then.",
        )
    return pa.schema(fields, metadata=table.metadata)


def _zones(wrong: Iterable[_Difference]) -> str:
    """What to do where a timestamp with a time zone meets one without."""
    times = [d for d in wrong if d[1].startswith("timestamp[") and d[2].startswith("timestamp[")]
    lacks = [path for path, _old, new in times if "tz=" not in new]
    has = [path for path, old, _new in times if "tz=" not in old]
    fix = ""
    if lacks:
        option = f"{NAIVE_TIMESTAMPS.key}=UTC"
        fix = f" Give {', '.join(lacks)} a time zone, or set {option} if the values are UTC."
    if has:
        fix += f" The table's {', '.join(has)} has no time zone: take that of the values away."
    return fix


def _refuse_new(new: Sequence[tuple[str, Sequence[str]]]) -> None:
    """SchemaError for columns that the table lacks: their names, and those of the columns beside
    them."""
    meant = {}
    for path, names in new:
        parent, _, name = path.rpartition(".")
        found = nearest(name, names)
        if found:
            meant[path] = f"{parent}.{found}" if parent else found
    hints = " ".join(f"Did you mean {found!r}, not {path!r}?" for path, found in meant.items())
    raise SchemaError(
        f"column {', '.join(repr(path) for path, _names in new)}",
        f"is not in the table, which has {', '.join(new[0][1])}.",
        f"{hints + ' ' if hints else ''}If it is to be a new column: add_columns=True in the call, "
        "the option "
        f"{ADD_COLUMNS.key}=true, or table.alter(add=...) before.",
    )


def outgrown(table: pa.Schema, grown: pa.Schema) -> pa.Schema:
    """Those columns of ``grown``, an evolution of ``table``, in which integers have become
    floating, at whatever depth."""
    before = {field.name: field.type for field in table}
    return pa.schema(
        [f for f in grown if f.name in before and holds_outgrown(before[f.name], f.type)]
    )


def holds_outgrown(old: pa.DataType, new: pa.DataType) -> bool:
    """Whether integers in ``old`` are floating in ``new``, its evolution."""
    grown = pa.types.is_integer(old) and pa.types.is_floating(new)
    return grown or any(holds_outgrown(*pair) for pair in within(old, new))


@frozen_class
class _Rule:
    """``frozen`` columns never change their type; integers stay integers in ``whole`` ones (None:
    in all); whether the table may ``add`` to itself. Found so far: ``new`` columns that it may not,
    with the names beside each; columns that are ``lacking``."""

    frozen: frozenset[str]
    whole: frozenset[str] | None
    add: bool
    new: list[tuple[str, list[str]]] = Factory(list)
    lacking: list[str] = Factory(list)


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
            if path not in MARKS:
                rule.lacking.append(path)
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
        elif not rule.add and path not in MARKS:
            rule.new.append((path, [f.name for f in table]))
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
    if t.is_decimal128(old) and (t.is_decimal(new) or t.is_integer(new)):
        # What fits exactly is cast, and the rest refused then.
        grows = t.is_decimal128(new) and old.scale == new.scale and new.precision > old.precision
        return new if grows and rule.add else old
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
    times = t.is_timestamp(old) and t.is_timestamp(new) and (old.tz is None) == (new.tz is None)
    return bool(times or (t.is_time(old) and t.is_time(new)))
