"""A predicate as a polars expression."""

from __future__ import annotations

import decimal
from typing import Any

import polars as pl
import predicates as ast
from random_tables import is_float

_TYPES = {
    "int32": pl.Int32, "int64": pl.Int64, "float32": pl.Float32, "float64": pl.Float64,
    "text": pl.String, "bytes": pl.Binary, "bool": pl.Boolean, "date": pl.Date,
    "timestamp": pl.Datetime("us", "UTC"), "local": pl.Datetime("us"), "decimal": pl.Decimal(10, 2),
    "long decimal": pl.Decimal(38, 10),
}  # fmt: skip


def polars(p: ast.Predicate) -> pl.Expr:
    if isinstance(p, ast.Compare):
        return _compare(p)
    if isinstance(p, ast.In):
        return _in(p)
    if isinstance(p, ast.IsNull):
        return _term(p.term).is_null()
    if isinstance(p, ast.IsNan):
        return _term(p.term).is_nan()
    if isinstance(p, ast.Text):
        return _text(p)
    if isinstance(p, ast.Flag):
        return _term(p.term)
    if isinstance(p, ast.Constant):
        return pl.lit(p.value, dtype=pl.Boolean)
    if isinstance(p, ast.Both):
        a, b = polars(p.a), polars(p.b)
        # Of polars' own ^, nulls are nobody's promise: not equal is the same.
        return (a != b) if p.how == "xor" else (a & b if p.how == "and" else a | b)
    if isinstance(p, ast.Not):
        return ~polars(p.a)
    if isinstance(p, ast.Unknown):
        return polars(p.a).is_null()
    when = polars(p.when)
    chosen = pl.when(when).then(polars(p.a)).when(~when).then(polars(p.b))
    return chosen.otherwise(pl.lit(None, dtype=pl.Boolean))


def _compare(p: ast.Compare) -> pl.Expr:
    a = _term(p.term)
    other = isinstance(p.other, ast.Term)
    b = _term(p.other) if other else _literal(p.other, p.term.kind)
    nans = [t.is_nan() for t, k in ((a, p.term.kind), (b, p.other.kind if other else "")) if is_float(k)]  # fmt: skip
    plain: pl.Expr = {
        "==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b,
    }[p.op]  # fmt: skip
    if not nans and not ast.is_nan(p.other):
        return plain
    # NaN is not equal to anything, and otherwise no comparison with it is true.
    unlike = pl.lit(p.op == "!=")
    nan = pl.any_horizontal(*nans, pl.lit(ast.is_nan(p.other)))
    return pl.when(plain.is_null()).then(plain).when(nan).then(unlike).otherwise(plain)


def _in(p: ast.In) -> pl.Expr:
    a = _term(p.term)
    found = pl.lit(False)
    for value in p.values:
        if value is None:
            found = found | a.is_null()
        elif ast.is_nan(value):
            found = found | a.is_nan().fill_null(False)
        else:
            found = found | (a == _literal(value, p.term.kind)).fill_null(False)
    return found


def _text(p: ast.Text) -> pl.Expr:
    a = _term(p.term)
    if p.how == "like":
        return a.str.contains(f"(?s)^(?:{ast.like_regex(p.text)})\\z")
    if p.how == "contains":
        return a.str.contains(p.text, literal=True)
    return a.str.starts_with(p.text) if p.how == "starts" else a.str.ends_with(p.text)


def _term(term: ast.Term) -> pl.Expr:
    if isinstance(term, ast.Length):
        a = _term(term.of)
        return (a.str.len_chars() if term.of.kind == "text" else a.list.len()).cast(pl.Int64)
    if isinstance(term, ast.Coalesce):
        return pl.coalesce(_term(term.of), _literal(term.default, term.kind))
    found = pl.col(term.path[0])
    for part in term.path[1:]:
        found = found.struct.field(part)
    return found


def _literal(value: Any, kind: str) -> pl.Expr:
    if isinstance(value, float):
        return pl.lit(value, dtype=pl.Float64)
    if isinstance(value, int) and not isinstance(value, bool):
        return pl.lit(value, dtype=pl.Int64)
    if isinstance(value, decimal.Decimal):
        kind = "long decimal"  # the literal may have more digits than the column
    return pl.lit(value, dtype=_TYPES[kind])
