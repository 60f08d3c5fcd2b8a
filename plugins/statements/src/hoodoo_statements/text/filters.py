"""Filters: a condition of SQL as a pyarrow expression that is true of the same rows, for reads.

A read takes its filter to footers, to tasks and to the metadata table, where only pyarrow computes.
What pyarrow says otherwise than SQL is written so that it agrees: NaN is greater than all numbers
and equals itself, ``IN`` of a null is null. What it can't say is refused."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from datetime import date, datetime, timezone
from functools import reduce
from operator import and_, or_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import ConfigError, SchemaError
from sqlglot import exp

from hoodoo_statements.spark_sql.kinds import is_variant
from hoodoo_statements.text.chains import flat, joined, shallow
from hoodoo_statements.text.computed import computed, looks_within
from hoodoo_statements.text.parse import Expression, parsed
from hoodoo_statements.text.scope import TARGET, Scope
from hoodoo_statements.text.spark_column import is_column, text_of

_COMPARED: dict[type[exp.Expression], Callable[[Any, Any], pc.Expression]] = {
    exp.EQ: lambda a, b: a == b,
    exp.NEQ: lambda a, b: a != b,
    exp.LT: lambda a, b: a < b,
    exp.LTE: lambda a, b: a <= b,
    exp.GT: lambda a, b: a > b,
    exp.GTE: lambda a, b: a >= b,
}
_TURNED: dict[type[exp.Expression], type[exp.Expression]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}
_LESS, _MORE = (exp.LT, exp.LTE), (exp.GT, exp.GTE)
_WIDE = {
    exp.DataType.Type.INT: pa.int32(),
    exp.DataType.Type.BIGINT: pa.int64(),
    exp.DataType.Type.DOUBLE: pa.float64(),
}
_MOMENTS = {
    "date": "date",
    "to_date": "date",
    "timestamp": "timestamp",
    "to_timestamp": "timestamp",
}
_NULL = pc.scalar(pa.scalar(None, pa.bool_()))


def where(given: Any, schema: pa.Schema, table: str = "table") -> pc.Expression:
    """Convert a condition in SQL, or a Spark Column, over the columns of ``schema`` into a pyarrow
    expression that is true for the same rows: comparisons, IN, BETWEEN, LIKE, IS NULL, AND, OR,
    NOT.

    Raises SchemaError for unknown columns and for values that do not fit them, and ConfigError for
    expressions that pyarrow cannot compute (``hoodoo.sql`` can).

    >>> hoodoo.where("city = 'oslo' and fare > 10", table.schema)
    <pyarrow.compute.Expression ((city == "oslo") and ((fare > 10) or is_nan(fare)))>
    """
    if isinstance(given, pc.Expression):
        return given
    scope = Scope(table, schema)
    text = text_of(given, "where", schema, None) if is_column(given) else given
    if not isinstance(text, str):
        raise ConfigError(
            f"where={given!r}",
            f"is a {type(given).__name__}",
            "give SQL as text, a Column of Spark or a pyarrow expression.",
        )
    found = parsed(text, scope, "where")
    with shallow("where", text):
        return _Filter(schema, text, found).true(found.tree)


@frozen
class _Filter:
    schema: pa.Schema
    text: str
    whole: Expression

    def true(self, tree: exp.Expression, plain: bool = True) -> pc.Expression:
        """``plain``: rows of which it is null may count as those of which it is false."""
        tree = tree.unnest()
        if tree.args.get("negate"):  # so sqlglot has NOT LIKE, from some version on
            other = tree.copy()
            other.set("negate", None)
            return ~self.true(other, plain=False)
        if isinstance(tree, (exp.And, exp.Or)):
            parts = [self.true(part, plain) for part in flat(tree)]
            return joined(parts, and_ if isinstance(tree, exp.And) else or_)
        if isinstance(tree, exp.Not):
            return ~self.true(tree.this, plain=False)
        if looks_within(tree):
            return computed(self.whole, tree)
        if isinstance(tree, exp.NullSafeEQ):
            return self._same(tree)
        if isinstance(tree, exp.NullSafeNEQ):
            return ~self._same(tree)
        if type(tree) in _COMPARED:
            return self._compared(type(tree), tree.left, tree.right)
        if isinstance(tree, exp.Between) and not tree.args.get("symmetric"):
            return self._compared(exp.GTE, tree.this, tree.args["low"]) & self._compared(
                exp.LTE, tree.this, tree.args["high"]
            )
        if isinstance(tree, exp.In) and tree.expressions:
            return self._one_of(tree, plain)
        if isinstance(tree, exp.Is):
            return self._is(tree)
        if isinstance(tree, (exp.Like, exp.ILike)):
            return self._like(tree)
        if isinstance(tree, exp.Boolean):
            return pc.scalar(bool(tree.this))
        if isinstance(tree, exp.Null):
            return _NULL
        column = self._column(tree)
        if column is not None and pa.types.is_boolean(column[1]):
            return column[0]
        if column is not None:
            raise SchemaError(
                f"where {self.text!r}",
                f"is {column[1]}, neither true nor false",
                "compare it with something.",
            )
        raise self._unknown(tree)

    # --- operands ---------------------------------------------------------------------------------
    def _column(self, tree: exp.Expression) -> tuple[pc.Expression, pa.DataType] | None:
        """A column, or a field of a struct, and its type."""
        tree = tree.unnest()
        path: list[str] = []
        while isinstance(tree, exp.Anonymous) and tree.name == "struct_extract":
            inner, name = tree.expressions
            path.insert(0, name.name)
            tree = inner.unnest()
        if isinstance(tree, exp.Cast) and not path:
            return self._widened(tree)
        if not isinstance(tree, exp.Column):
            return None
        name = tree.name.removeprefix(f"{TARGET}.")
        kind = self.schema.field(name).type
        for part in path:
            kind = kind.field(part).type
        return pc.field(name, *path) if path else pc.field(name), kind

    def _widened(self, tree: exp.Cast) -> tuple[pc.Expression, pa.DataType] | None:
        """A column of numbers as one of wider ones: so Spark has a comparison of numbers of
        different types."""
        inner, wide = self._column(tree.this), _WIDE.get(tree.to.this)
        if inner is None:
            return None
        column, kind = inner
        if wide is None or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise self._unknown(tree)
        if kind == wide:
            return inner
        if wide.bit_width < kind.bit_width or (
            pa.types.is_floating(kind) and not pa.types.is_floating(wide)
        ):
            raise self._unknown(tree)
        return column.cast(wide, safe=False), wide

    def _value(self, tree: exp.Expression, kind: pa.DataType) -> Any:
        """The literal ``tree`` as a value to compare a column of ``kind`` with: of this type, a
        Decimal that is none of a column of integers, None for NULL."""
        node, t = tree.unnest(), pa.types
        if isinstance(node, exp.Null):
            return None
        if isinstance(node, exp.Boolean) and t.is_boolean(kind):
            return bool(node.this)
        if isinstance(node, exp.Cast) and node.to.this in _WIDE and _is_number(node.this):
            node = node.this.unnest()
        called = node.name.lower() if isinstance(node, exp.Anonymous) else ""
        if called in _MOMENTS and len(node.expressions) == 1:  # date('2024-01-01')
            node = exp.Cast(this=node.expressions[0], to=exp.DataType.build(_MOMENTS[called]))
        if isinstance(node, exp.Cast):
            return self._moment(node, kind)
        text = isinstance(node, exp.Literal) and node.is_string
        if text and t.is_string(kind):
            return str(node.this)
        if text and (t.is_date(kind) or t.is_timestamp(kind)):
            return self._of_text(str(node.this), kind)
        negative = isinstance(node, exp.Neg)
        inner = node.this.unnest() if negative else node
        if isinstance(inner, exp.Literal) and not inner.is_string:
            return self._number(("-" if negative else "") + str(inner.this), kind)
        if isinstance(node, (exp.Literal, exp.Boolean)):
            raise self._misfit(node, kind)
        raise self._unknown(node)

    def _number(self, text: str, kind: pa.DataType) -> Any:
        t, number = pa.types, decimal.Decimal(text)
        if t.is_integer(kind):
            whole = number.adjusted() < 20 and number == number.to_integral_value()
            return int(number) if whole else number
        if t.is_floating(kind):
            return float(number)
        if t.is_decimal(kind):
            return number
        raise self._misfit(exp.Literal.number(text), kind)

    def _moment(self, node: exp.Expression, kind: pa.DataType) -> Any:
        inner, t = node.this, pa.types
        known = isinstance(inner, exp.Literal) and inner.is_string
        if known and isinstance(node, exp.Cast):
            dated = node.to.is_type(
                "date", "timestamp", "timestamptz", "timestampltz", "timestampntz"
            )
            if not dated or not (t.is_date(kind) or t.is_timestamp(kind)):
                raise self._misfit(node, kind)
            if t.is_date(kind) and not node.to.is_type("date"):
                raise self._unknown(node)
        if not known:
            raise self._unknown(node)
        return self._of_text(str(inner.this), kind)

    def _of_text(self, text: str, kind: pa.DataType) -> Any:
        try:
            if pa.types.is_date(kind):
                return date.fromisoformat(text)
            found = datetime.fromisoformat(text)
        except ValueError:
            raise SchemaError(
                f"where {self.text!r}",
                f"compares {kind} with {text!r}, which is none",
                "write it as ISO 8601 does.",
            ) from None
        if kind.tz is None:
            if found.tzinfo is not None:
                raise self._misfit(exp.Literal.string(text), kind)
            return found
        return found if found.tzinfo is not None else found.replace(tzinfo=timezone.utc)

    # --- conditions -------------------------------------------------------------------------------
    def _compared(
        self, kind: type[exp.Expression], left: exp.Expression, right: exp.Expression
    ) -> pc.Expression:
        one, other = self._column(left), self._column(right)
        if one is not None and other is not None:
            return self._columns(kind, one, other)
        if one is None:
            one, right, kind = other, left, _TURNED.get(kind, kind)
        if one is None:
            raise self._unknown(left)
        column, of = one
        return self._with_value(kind, column, of, self._value(right, of))

    def _with_value(
        self, kind: type[exp.Expression], column: pc.Expression, of: pa.DataType, value: Any
    ) -> pc.Expression:
        if value is None:
            return _NULL
        if pa.types.is_integer(of) or pa.types.is_decimal(of):
            return _with_exact(kind, column, of, decimal.Decimal(value))
        if pa.types.is_floating(of):
            wide = column.cast(pa.float64()) if of != pa.float64() else column
            found = _COMPARED[kind](wide, pa.scalar(value, pa.float64()))
            # Above all numbers; other comparisons are false of NaN, or, for !=, true.
            return found | pc.is_nan(column) if kind in (exp.GT, exp.GTE) else found
        try:
            return _COMPARED[kind](column, pa.scalar(value, of))
        except (pa.ArrowException, OverflowError, ValueError, TypeError):
            raise self._misfit(exp.convert(str(value)), of) from None

    def _columns(
        self,
        kind: type[exp.Expression],
        left: tuple[pc.Expression, pa.DataType],
        right: tuple[pc.Expression, pa.DataType],
    ) -> pc.Expression:
        (a, of), (b, other) = left, right
        floats = [pa.types.is_floating(k) for k in (of, other)]
        numbers = [pa.types.is_integer(k) or f for k, f in zip((of, other), floats)]
        if of != other and not (all(numbers) or str(of)[:9] == str(other)[:9]):
            raise SchemaError(
                f"where {self.text!r}",
                f"compares {of} with {other}",
                "compare columns of one type.",
            )
        if not any(floats):
            return _COMPARED[kind](a, b)
        a, b = a.cast(pa.float64(), safe=False), b.cast(pa.float64(), safe=False)
        nan_a, nan_b = pc.is_nan(a), pc.is_nan(b)
        if kind is exp.NEQ:
            return ~((a == b) | (nan_a & nan_b))
        found = _COMPARED[kind](a, b)
        if kind is exp.EQ:
            return found | (nan_a & nan_b)
        above, below = (nan_a, nan_b) if kind in (exp.GT, exp.GTE) else (nan_b, nan_a)
        return (
            found | (above & (below if kind in (exp.GTE, exp.LTE) else ~below)) | (above & ~below)
        )

    def _same(self, tree: exp.Expression) -> pc.Expression:
        sides = [self._column(side) for side in (tree.left, tree.right)]
        column = sides[0] or sides[1]
        other = tree.right if sides[0] else tree.left
        if column is None or all(sides):
            raise self._unknown(tree)
        if isinstance(other.unnest(), exp.Null):
            return column[0].is_null()
        return self._compared(exp.EQ, tree.left, tree.right) & column[0].is_valid()

    def _one_of(self, tree: exp.In, plain: bool) -> pc.Expression:
        column = self._column(tree.this)
        if column is None:
            raise self._unknown(tree.this)
        values = [self._value(node, column[1]) for node in tree.expressions]
        given = [v for v in values if v is not None]
        simple = (
            plain and not pa.types.is_floating(column[1]) and not pa.types.is_decimal(column[1])
        )
        if simple and given and not any(isinstance(v, decimal.Decimal) for v in given):
            try:
                return column[0].isin(pa.array(given, column[1]))
            except (pa.ArrowException, OverflowError):
                pass  # one by one: what does not fit equals nothing
        found = [self._with_value(exp.EQ, *column, v) for v in values]
        return reduce(lambda a, b: a | b, found)

    def _is(self, tree: exp.Is) -> pc.Expression:
        column, what = self._column(tree.this), tree.expression
        if isinstance(what, exp.Null):
            if column is None:
                raise self._unknown(tree.this)
            return column[0].is_null()
        if isinstance(what, exp.Boolean):
            found = self.true(tree.this, plain=False)
            true = pc.coalesce(found if what.this else ~found, pc.scalar(False))
            return true
        raise self._unknown(tree)

    def _like(self, tree: exp.Expression) -> pc.Expression:
        column, pattern = self._column(tree.this), tree.expression
        known = isinstance(pattern, exp.Literal) and pattern.is_string
        if column is None or not known or not pa.types.is_string(column[1]):
            raise self._unknown(tree)
        text = str(pattern.this)
        return pc.match_like(column[0], text, ignore_case=isinstance(tree, exp.ILike))

    # --- errors -----------------------------------------------------------------------------------
    def _misfit(self, node: exp.Expression, kind: pa.DataType) -> SchemaError:
        return SchemaError(
            f"where {self.text!r}",
            f"compares {kind} with {_shown(node)}",
            "compare it with a value of its type.",
        )

    def _unknown(self, node: exp.Expression) -> ConfigError:
        inner = self._column(node.this) if isinstance(node.unnest(), exp.Bracket) else None
        if inner is not None and is_variant(inner[1]):
            name = _shown(node.this)
            return ConfigError(
                f"where {self.text!r}",
                f"has {_shown(node)}, and {name} is a VARIANT, whose places are paths.",
                f"Write {name}:[0], or variant_get({name}, '$[0]', 'int').",
            )
        return ConfigError(
            f"where {self.text!r}",
            f"has {_shown(node)}, and a read compares columns with values.",
            'hoodoo.sql("SELECT ... WHERE ...", tables={"t": table}) computes it; so does a '
            "pyarrow expression.",
        )


def _is_number(node: exp.Expression) -> bool:
    node = node.unnest()
    inner = node.this.unnest() if isinstance(node, exp.Neg) else node
    return isinstance(inner, exp.Literal) and not inner.is_string


def _with_exact(
    kind: type[exp.Expression], column: pc.Expression, of: pa.DataType, value: decimal.Decimal
) -> pc.Expression:
    """A comparison of whole numbers or decimals. Zeros at the end of ``value`` mean nothing: 1.5000
    is 1.5."""
    scale = 0 if pa.types.is_integer(of) else of.scale
    typed = None
    if value == 0 or value.adjusted() < 38 - scale:  # not one of a million digits
        step = decimal.Decimal(1).scaleb(-scale)
        near = value.quantize(step, decimal.ROUND_DOWN, decimal.Context(prec=80))
        try:
            typed = pa.scalar(near if scale or pa.types.is_decimal(of) else int(near), of)
        except (pa.ArrowException, OverflowError):
            pass
    if typed is None:  # no value of the column is so far out
        return _always(column, kind is exp.NEQ or kind in (_LESS if value > 0 else _MORE))
    if near == value:
        return _COMPARED[kind](column, typed)
    if kind in (exp.EQ, exp.NEQ):  # it lies between two values of the column
        return _always(column, kind is exp.NEQ)
    if value > 0:
        return column > typed if kind in _MORE else column <= typed
    return column >= typed if kind in _MORE else column < typed


def _always(column: pc.Expression, true: bool) -> pc.Expression:
    """The same for all values; null of a null."""
    return pc.if_else(column.is_valid(), pc.scalar(true), _NULL)


def _shown(node: exp.Expression) -> str:
    return str(node.sql("spark").replace(f"{TARGET}.", ""))
