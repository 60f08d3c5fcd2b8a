"""A filter of polars as one of pyarrow, as far as it is known to be one.

What comes out lets through every row that polars' filter does, and maybe more: polars filters
again. So of a part that is not understood nothing is claimed, and a version of polars that writes
its expressions in another way costs speed, and no rows.

Where they differ: NaN is the greatest number for polars, and compares as in IEEE 754 for pyarrow;
so of numbers of floating point only what NaN is never part of is passed on."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Callable, Mapping
from functools import reduce
from operator import and_, or_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_COMPARED: Mapping[str, Callable[[Any, Any], pc.Expression]] = {
    "Eq": lambda a, b: a == b,
    "NotEq": lambda a, b: a != b,
    "Lt": lambda a, b: a < b,
    "LtEq": lambda a, b: a <= b,
    "Gt": lambda a, b: a > b,
    "GtEq": lambda a, b: a >= b,
}
_NEGATED = {"Eq": "NotEq", "NotEq": "Eq", "Lt": "GtEq", "GtEq": "Lt", "Gt": "LtEq", "LtEq": "Gt"}
_TURNED = {"Eq": "Eq", "NotEq": "NotEq", "Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq"}
_WITHOUT_NAN = {"Eq", "Lt", "LtEq"}
# Kinds of literals, and of columns, whose values compare alike. Not: a floating number with a
# column of integers, as polars makes floating numbers of them, which large ones don't survive.
_ALIKE = ("whole", "floating", "decimal", "text", "bytes", "bool", "date")
_ZONES = ("timestamp in a zone", "timestamp without zone")
_COMPARABLE = {
    ("whole", "floating"),
    ("whole", "decimal"),
    *((one, one) for one in (*_ALIKE, *_ZONES)),
}
_BOUNDS = {
    "Both": ("GtEq", "LtEq"),
    "Left": ("GtEq", "Lt"),
    "Right": ("Gt", "LtEq"),
    "None": ("Gt", "Lt"),
}


def superset(predicate: Any, schema: pa.Schema) -> pc.Expression | None:
    """What is known of the rows that ``predicate``, a polars expression over ``schema``, lets
    through."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the form is polars' own
        try:
            tree = json.loads(predicate.meta.serialize(format="json"))
        except Exception:  # one that has no such form, with a function of Python in it
            return None
        found = _Reading(schema).known(tree, False)
    if found is None:
        return None
    try:
        schema.empty_table().filter(found)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return None
    return found


class _Reading:
    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema

    def known(self, node: Any, negated: bool) -> pc.Expression | None:
        """What is true wherever ``node`` is true (``negated``: false); None where nothing is
        known."""
        if not isinstance(node, dict) or len(node) != 1:
            return None
        ((kind, body),) = node.items()
        if kind == "BinaryExpr":
            return self._binary(body, negated)
        if kind == "Function":
            return self._function(body, negated)
        if kind == "Column":
            field = self._field(node)
            if field is None or not pa.types.is_boolean(field.type):
                return None
            return ~pc.field(field.name) if negated else pc.field(field.name)
        return None

    def _binary(self, body: Mapping[str, Any], negated: bool) -> pc.Expression | None:
        op, left, right = body["op"], body["left"], body["right"]
        if op in ("And", "LogicalAnd", "Or", "LogicalOr"):
            both = [self.known(left, negated), self.known(right, negated)]
            return _joined(op.endswith("And") != negated, both)
        if op not in _COMPARED:
            return None
        if self._field(left) is None:
            left, right, op = right, left, _TURNED[op]
        return self._compared(left, _NEGATED[op] if negated else op, right)

    def _compared(self, left: Any, op: str, right: Any) -> pc.Expression | None:
        field = self._field(left)
        if field is None or (pa.types.is_floating(field.type) and op not in _WITHOUT_NAN):
            return None
        value = _value(right, field.type)
        return None if value is None else _COMPARED[op](pc.field(field.name), value)

    def _function(self, body: Mapping[str, Any], negated: bool) -> pc.Expression | None:
        function, inputs = body.get("function"), body.get("input") or []
        what = function.get("Boolean") if isinstance(function, dict) else None
        if what == "Not":
            return self.known(inputs[0], not negated)
        field = self._field(inputs[0]) if inputs else None
        if field is None:
            return None
        column = pc.field(field.name)
        if what in ("IsNull", "IsNotNull"):
            return column.is_null() if (what == "IsNull") != negated else column.is_valid()
        if not isinstance(what, dict):
            return None
        if "IsBetween" in what and len(inputs) == 3:
            bounds = _BOUNDS.get(what["IsBetween"].get("closed"), ("", ""))
            ends = zip(inputs[1:], bounds, strict=True)
            ops = [(end, _NEGATED.get(op, "") if negated else op) for end, op in ends]
            found = [self._compared(inputs[0], op, end) if op else None for end, op in ops]
            return _joined(not negated, found)
        if "IsIn" in what and len(inputs) == 2 and not negated:
            values = None if pa.types.is_floating(field.type) else _values(inputs[1], field.type)
            return None if values is None else column.isin(values)
        return None

    def _field(self, node: Any) -> pa.Field | None:
        name = node.get("Column") if isinstance(node, dict) else None
        found = isinstance(name, str) and self.schema.get_field_index(name) >= 0
        return self.schema.field(name) if found else None


def _joined(every: bool, parts: list[pc.Expression | None]) -> pc.Expression | None:
    """Of parts that are all true those that are known; of such of which one is true all, or
    nothing."""
    known = [part for part in parts if part is not None]
    if not known or (not every and len(known) < len(parts)):
        return None
    return reduce(and_ if every else or_, known)


def _value(node: Any, kind: pa.DataType) -> pa.Scalar | None:
    """The value of an expression without columns, in the type of the column that it is compared
    with."""
    found = _literal(node)
    if found is None or len(found) != 1 or found.null_count:
        return None
    same = _same(found, kind)
    return None if same is None else same[0]


def _values(node: Any, kind: pa.DataType) -> pa.Array | None:
    found = _literal(node)
    if found is None or found.null_count:
        return None
    if pa.types.is_list(found.type) or pa.types.is_large_list(found.type):
        found = found.flatten()
    same = _same(found, kind)
    return None if same is None or same.null_count else same


def _literal(node: Any) -> pa.Array | None:
    """What polars makes of an expression without columns."""
    import polars

    if not isinstance(node, dict) or "Literal" not in node:
        return None
    try:
        text = io.StringIO(json.dumps(node))
        found = polars.select(polars.Expr.deserialize(text, format="json")).to_arrow().column(0)
    except Exception:  # no literal after all: nothing is known
        return None
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _same(values: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """``values`` as ``kind``, if they are of that kind and all stay what they are; NaN never
    does."""
    if (_family(values.type), _family(kind)) not in _COMPARABLE:
        return None
    try:
        found = values.cast(kind)
        back = found.cast(values.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return found if pc.all(pc.equal(back, values), min_count=0).as_py() else None


def _family(kind: pa.DataType) -> str:
    t = pa.types
    if t.is_timestamp(kind):
        return f"timestamp {'in a zone' if kind.tz else 'without zone'}"
    for name, test in {
        "whole": t.is_integer,
        "floating": t.is_floating,
        "decimal": t.is_decimal,
        "text": lambda k: t.is_string(k) or t.is_large_string(k) or t.is_string_view(k),
        "bytes": lambda k: t.is_binary(k) or t.is_large_binary(k) or t.is_binary_view(k),
        "bool": t.is_boolean,
        "date": t.is_date,
    }.items():
        if test(kind):
            return name
    return ""
