"""Pruning: of a condition, what pyarrow can say too, so that files and row groups are left out.

What comes out is true wherever the condition is: it may let more through, as the condition itself
is computed of every row that is read. So only comparisons of a column with a literal are taken, in
which Arrow, Parquet's statistics and SQL agree; what else there is counts as true."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Iterator
from operator import and_, or_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from hoodoo_statements.text.chains import flat, joined
from hoodoo_statements.text.scope import SOURCE, TARGET

_COMPARED: dict[type[exp.Expression], Callable[[Any, Any], pc.Expression]] = {
    exp.EQ: lambda a, b: a == b,
    exp.NullSafeEQ: lambda a, b: a == b,
    exp.LT: lambda a, b: a < b,
    exp.LTE: lambda a, b: a <= b,
    exp.GT: lambda a, b: a > b,
    exp.GTE: lambda a, b: a >= b,
}
_TURNED = {exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE}
# SQL has NaN above all numbers, Arrow has it nowhere.
_UPWARDS = (exp.GT, exp.GTE)


def implied(tree: exp.Expression, schema: pa.Schema) -> pc.Expression | None:
    """A filter over the table's columns that lets all rows through of which ``tree`` is true; None:
    nothing is known."""
    tree = tree.unnest()
    if tree.args.get("negate"):
        return None
    if isinstance(tree, exp.And):
        sides = [implied(side, schema) for side in flat(tree)]
        known = [side for side in sides if side is not None]
        return joined(known, and_) if known else None
    if isinstance(tree, exp.Or):
        ways: list[pc.Expression] = []
        for side in flat(tree):
            way = implied(side, schema)
            if way is None:
                return None
            ways.append(way)
        return joined(ways, or_)
    if type(tree) in _COMPARED:
        return _comparison(tree, schema)
    if isinstance(tree, exp.Between) and not tree.args.get("symmetric"):
        low = implied(exp.GTE(this=tree.this, expression=tree.args["low"]), schema)
        high = implied(exp.LTE(this=tree.this, expression=tree.args["high"]), schema)
        return high if low is None else low if high is None else low & high
    if isinstance(tree, exp.In) and not tree.args.get("query") and not tree.args.get("unnest"):
        return _one_of(tree, schema)
    if isinstance(tree, exp.Is) and isinstance(tree.expression, exp.Null):
        column = _column(tree.this, schema)
        return None if column is None else pc.field(column.name).is_null()
    return None


def equalities(tree: exp.Expression) -> Iterator[tuple[str, str]]:
    """The pairs of columns (of the table, of the source) that have to be equal where ``tree`` is
    true."""
    for part in conjuncts(tree):
        if isinstance(part, exp.EQ):
            sides = dict(s for s in map(_sided, (part.left, part.right)) if s is not None)
            if len(sides) == 2:
                yield sides[TARGET], sides[SOURCE]


def only_equal(tree: exp.Expression) -> tuple[tuple[str, str], ...]:
    """These pairs where ``tree`` says nothing else; else none."""
    pairs = tuple(equalities(tree))
    return pairs if len(pairs) == sum(1 for _ in conjuncts(tree)) else ()


def conjuncts(tree: exp.Expression) -> Iterator[exp.Expression]:
    tree = tree.unnest()
    for part in flat(tree) if isinstance(tree, exp.And) else [tree]:
        yield part.unnest()


def _sided(node: exp.Expression) -> tuple[str, str] | None:
    node = node.unnest()
    if not isinstance(node, exp.Column):
        return None
    side, _, name = node.name.partition(".")
    return side, name


def _column(node: exp.Expression, schema: pa.Schema) -> pa.Field | None:
    found = _sided(node)
    return schema.field(found[1]) if found is not None and found[0] == TARGET else None


def _comparison(tree: exp.Expression, schema: pa.Schema) -> pc.Expression | None:
    kind, left, right = type(tree), tree.left, tree.right
    column = _column(left, schema)
    if column is None:
        column, left, right, kind = _column(right, schema), right, left, _TURNED.get(kind, kind)
    if column is None or (pa.types.is_floating(column.type) and kind in _UPWARDS):
        return None
    value = _value(right, column.type)
    return None if value is None else _COMPARED[kind](pc.field(column.name), value)


def _one_of(tree: exp.In, schema: pa.Schema) -> pc.Expression | None:
    column = _column(tree.this, schema)
    if column is None or not tree.expressions:
        return None
    values = [v for v in (_value(n, column.type) for n in tree.expressions) if v is not None]
    if len(values) < len(tree.expressions):
        return None
    found = [v.as_py() for v in values]
    if pa.types.is_floating(column.type) and 0.0 in found:
        found += [0.0, -0.0]  # one number in SQL, and two values for Arrow's sets
    return pc.field(column.name).isin(pa.array(found, column.type))


def _value(node: exp.Expression, kind: pa.DataType) -> pa.Scalar | None:
    """The literal ``node`` as a value of the type ``kind``; None where it is none, or another value
    then."""
    node, t = node.unnest(), pa.types
    found: Any = None
    if isinstance(node, exp.Boolean) and t.is_boolean(kind):
        found = bool(node.this)
    elif isinstance(node, exp.Cast) and node.to.is_type("date") and t.is_date(kind):
        found = _day(node.this)
    elif isinstance(node, exp.Literal) and node.is_string:
        found = str(node.this) if t.is_string(kind) else _day(node) if t.is_date(kind) else None
    else:
        negative = isinstance(node, exp.Neg)
        inner = node.this if negative else node
        if isinstance(inner, exp.Literal) and not inner.is_string:
            found = _number(("-" if negative else "") + str(inner.this), kind)
    if found is None:
        return None
    try:
        return pa.scalar(found, kind)
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        return None


def _number(text: str, kind: pa.DataType) -> Any:
    try:
        number = decimal.Decimal(text)
    except decimal.InvalidOperation:
        return None
    if pa.types.is_integer(kind):
        return int(number) if number == int(number) else None
    if pa.types.is_float64(kind):
        return float(number) if decimal.Decimal(float(number)) == number else None
    return number if pa.types.is_decimal(kind) else None


def _day(node: exp.Expression) -> datetime.date | None:
    if not isinstance(node, exp.Literal) or not node.is_string:
        return None
    try:
        return datetime.date.fromisoformat(str(node.this))
    except ValueError:
        return None
