"""Dialect: how the text of statements is read, and what Spark computes otherwise than DuckDB, for DuckDB to compute."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark


class HoodooSpark(Spark):  # type: ignore[misc]  # its types are not known to mypy
    """Spark's SQL as Spark reads it from version 4 on: a quote within a text is written twice, or with a backslash."""

    class Tokenizer(Spark.Tokenizer):  # type: ignore[misc]
        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']


# Text is read as Spark has it: Hudi's and Delta's statements are written for it.
DIALECT = HoodooSpark
_KINDS = exp.DataType.Type
_WHOLE = (_KINDS.TINYINT, _KINDS.SMALLINT, _KINDS.INT, _KINDS.BIGINT)
_DAY_OF_WEEK = ("dow", "dayofweek")
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)


def for_duckdb(tree: Any) -> Any:
    """``tree``, of which DuckDB computes what Spark would: a backslash escapes in patterns, numbers lose their fraction
    where they become whole, days of the week and positions in a text are counted from 1, and a 32 bit float is
    compared with a number that has a fraction as the double that it is."""
    holder = exp.Paren(this=tree.copy())
    for node in reversed(list(holder.walk())):  # what is within others first
        made = _made(node)
        if made is not None:
            node.replace(made)
    return holder.this


def _made(node: Any) -> Any:
    if isinstance(node, (*_COMPARISONS, exp.Between, exp.In)):
        return _as_doubles(node)
    if isinstance(node, (exp.Like, exp.ILike)) and not isinstance(node.parent, exp.Escape):
        return _escaped(node)
    if isinstance(node, exp.Cast) and node.to.this in _WHOLE:
        return _whole(node)
    if isinstance(node, exp.Cast) and node.to.this == _KINDS.TEXT:
        return _as_text(node)
    if isinstance(node, exp.Substring) and node.args.get("start") is not None:
        return _from_one(node)
    first = node.expressions[0].name.lower() if _is_called(node, "date_part") else ""
    if isinstance(node, exp.Extract) and node.this.name.lower() in _DAY_OF_WEEK:
        return _plus(node.copy(), 1)
    if isinstance(node, exp.DayOfWeek) or first in _DAY_OF_WEEK:
        return _plus(node.copy(), 1)
    if _is_called(node, "weekday"):  # from Monday on
        return _plus(_call("isodow", *node.expressions), -1)
    return None


def _as_doubles(node: Any) -> Any:
    """DuckDB makes a 32 bit float of the number, which then equals what is only near it."""
    sides = [*node.iter_expressions()]
    of = [side for side in sides if not _is_literal(side)]
    if len(of) != 1 or not any(_is_literal(s) and "." in s.sql() for s in sides):
        return None
    wide = node.copy()
    for side in [*wide.iter_expressions()]:
        if not _is_literal(side):
            side.replace(exp.Cast(this=side.copy(), to=exp.DataType.build("DOUBLE")))
    return exp.Paren(this=exp.Case().when(_is_of(of[0], "FLOAT"), wide).else_(node.copy()))


def _is_literal(node: Any) -> bool:
    node = node.unnest()
    node = node.this if isinstance(node, exp.Neg) else node
    return isinstance(node, exp.Null) or (isinstance(node, exp.Literal) and not node.is_string)


def _escaped(node: Any) -> Any:
    pattern = node.expression
    plain = isinstance(pattern, exp.Literal) and "\\" not in pattern.name
    if plain or isinstance(pattern, (exp.Any, exp.All)):
        return None
    return exp.Escape(this=node.copy(), expression=exp.Literal.string("\\"))


def _whole(node: Any) -> Any:
    """DuckDB rounds. Its types are known to it alone: of the branches it keeps one."""
    value = node.this
    if isinstance(value, exp.Literal) and not value.is_string and value.name.isdigit():
        return None

    def again(made: Any) -> Any:
        return type(node)(this=made, to=node.to.copy())

    number = _call("trunc", _tried(value, "DOUBLE"))
    digits = _call(
        "regexp_replace", _tried(value, "TEXT"), exp.Literal.string(r"(\d)\.\d*$"), exp.Literal.string(r"\1")
    )  # fmt: skip
    seconds = _call("floor", _call("epoch", _tried(value, "TIMESTAMPTZ")))
    return (
        exp.Case()
        .when(_is_of(value, "DOUBLE", "FLOAT"), again(number))
        .when(_is_of(value, "DECIMAL", "VARCHAR"), again(digits))
        .when(_is_of(value, "TIMESTAMP"), again(seconds))
        .else_(node.copy())
    )


def _as_text(node: Any) -> Any:
    """DuckDB adds the zone to a time."""
    if isinstance(node.this, exp.Literal):
        return None
    plain = type(node)(this=_tried(node.this, "TIMESTAMP"), to=node.to.copy())
    return exp.Case().when(_is_of(node.this, "TIMESTAMP"), plain).else_(node.copy())


def _from_one(node: Any) -> Any:
    start = node.args["start"]
    if isinstance(start, exp.Literal) and start.name != "0":
        return None
    made = node.copy()
    one, zero = exp.Literal.number(1), exp.Literal.number(0)
    first = exp.Case().when(exp.EQ(this=start.copy(), expression=zero), one).else_(start.copy())
    made.set("start", one if isinstance(start, exp.Literal) else first)
    return made


def _is_of(value: Any, *kinds: str) -> Any:
    """Whether the type of ``value`` begins with one of ``kinds``: those of decimals go on with their digits."""
    kind = _call(
        "split_part", exp.Typeof(this=value.copy()), exp.Literal.string("("), exp.Literal.number(1)
    )
    kind = _call("split_part", kind, exp.Literal.string(" "), exp.Literal.number(1))
    return exp.In(this=kind, expressions=[exp.Literal.string(name) for name in kinds])


def _tried(value: Any, kind: str) -> Any:
    return exp.TryCast(this=value.copy(), to=exp.DataType.build(kind))


def _is_called(node: Any, name: str) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() == name and bool(node.expressions)


def _call(name: str, *values: Any) -> Any:
    return exp.Anonymous(this=name, expressions=[value.copy() for value in values])


def _plus(value: Any, number: int) -> Any:
    sign = exp.Add if number > 0 else exp.Sub
    return exp.Paren(this=sign(this=value, expression=exp.Literal.number(abs(number))))
