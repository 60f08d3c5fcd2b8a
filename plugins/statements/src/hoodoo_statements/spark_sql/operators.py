"""Operators: signs between values, and words between conditions."""

import re
from functools import reduce
from typing import Any

from attrs import frozen
from sqlglot import exp

from hoodoo_statements.spark_sql.columns import compares_columns
from hoodoo_statements.spark_sql.decimals import not_zero, of_decimals
from hoodoo_statements.spark_sql.function import quoted
from hoodoo_statements.spark_sql.kinds import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    MOST_DIGITS,
    NULL,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    WHOLE,
    Made,
    Refused,
    common,
    decimal,
    duckdb_name,
    is_decimal,
    is_fractional,
    is_number,
    result_fits,
    spark_name,
)
from hoodoo_statements.spark_sql.numbers import modulo
from hoodoo_statements.spark_sql.parts import Parts
from hoodoo_statements.text.chains import flat

ARITHMETIC = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "div",
    exp.Mod: "%",
}
BITS = {exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "^"}
_UNITS = {
    "DAY": "DAY",
    "WEEK": "WEEK",
    "MONTH": "MONTH",
    "YEAR": "YEAR",
    "HOUR": "HOUR",
    "MINUTE": "MINUTE",
    "SECOND": "SECOND",
}
_DAYS = ("DAY", "WEEK", "MONTH", "YEAR")
_CONSTANT = re.compile(r"(DATE|TIMESTAMP|TIMESTAMPTZ) '[^']*'")


def number(text: str) -> Made:
    bare = text.lstrip("-").lower()
    if "e" in bare:
        return Made(f"CAST({quoted(text)} AS DOUBLE)", DOUBLE)
    whole, point, fraction = bare.partition(".")
    if not point:
        value = int(text)
        kind = INT if -(2**31) <= value < 2**31 else BIGINT if -(2**63) <= value < 2**63 else None
        if kind is not None:
            return Made(f"CAST({text} AS BIGINT)" if kind == BIGINT else text, kind, literal=value)
    digits = len((whole + fraction).lstrip("0")) or 1
    digits = max(digits, len(fraction))
    if digits > MOST_DIGITS:
        raise Refused(
            f"has {text}, a number of more than {MOST_DIGITS} digits", "Write it with e: 1e40."
        )
    kind = decimal(digits, len(fraction))
    return Made(f"CAST({quoted(text)} AS {duckdb_name(kind)})", kind)


@frozen
class Operators(Parts):
    """Arithmetic, bits, intervals, and AND, OR and NOT."""

    def _paren(self, tree: Any) -> Made:
        inner = self._node(tree.unnest())
        return Made(f"({inner.sql})", inner.kind, inner.raises, inner.literal, inner.bare)

    def _neg(self, tree: Any) -> Made:
        inner = tree.this
        if isinstance(inner, exp.Literal) and not inner.is_string:
            return number(f"-{inner.this}")
        given = self._node(inner)
        if given.kind is not None and not is_number(given.kind) and given.kind != NULL:
            raise Refused(f"has - before a {spark_name(given.kind)}", "Cast it to a number.")
        return Made(f"(- {given.sql})", given.kind, True)

    def _not(self, tree: Any) -> Made:
        of = self.true(self._node(tree.this), "NOT")
        return Made(f"(NOT {of.sql})", BOOLEAN, of.raises)

    def _connected(self, tree: Any) -> Made:
        """What may be an error is computed of the rows only that what is before it has not decided,
        as Spark does."""
        is_and = isinstance(tree, exp.And)
        word = "AND" if is_and else "OR"
        parts = [self.true(self._node(part), word) for part in flat(tree)]
        plain = f" {word} ".join(p.sql for p in parts)
        if not any(p.raises for p in parts[1:]):
            return Made(f"({plain})", BOOLEAN, parts[0].raises)
        decided = "FALSE" if is_and else "TRUE"
        whens = " ".join(
            f"WHEN {'NOT ' if is_and else ''}{p.sql} THEN {decided}" for p in parts[:-1]
        )
        made = f"(CASE {whens} ELSE {plain} END)"
        if is_and:  # also beside it, where DuckDB can join and leave out rows by them
            first = next(n for n, p in enumerate(parts) if p.raises)
            joins = zip(parts, flat(tree))
            able = [
                p.sql for n, (p, of) in enumerate(joins) if n < first or compares_columns(p, of)
            ]
            made = f"({' AND '.join([*able, made])})"
        return Made(made, BOOLEAN, True)

    def _arithmetic(self, tree: Any) -> Made:
        sign = ARITHMETIC[type(tree)]
        if sign in "+-" and isinstance(tree.expression, exp.Interval):
            return self._later(self._node(tree.this), sign, tree.expression)
        if sign == "+" and isinstance(tree.this, exp.Interval):
            return self._later(self._node(tree.expression), sign, tree.this)
        a, b = self._node(tree.this), self._node(tree.expression)
        return self._computed(sign, a, b)

    def _computed(self, sign: str, a: Made, b: Made) -> Made:
        raises = True
        if a.kind == DATE and sign in "+-" and b.kind in (*WHOLE[:3], NULL):
            return Made(f"CAST({a.sql} {sign} {self._as(b, INT).sql} AS DATE)", DATE, raises)
        for side in (a, b):
            if side.kind is not None and not is_number(side.kind) and side.kind != NULL:
                raise Refused(f"has {sign} with a {spark_name(side.kind)}", "Cast it to a number.")
        if a.kind is None or b.kind is None:
            if sign in ("/", "%", "div"):
                raise Refused(f"has {sign} of values whose type is not known here", "Cast them.")
            return Made(f"({a.sql} {sign} {b.sql})", None, raises)
        if sign == "div":
            if not all(s.kind in (*WHOLE, NULL) for s in (a, b)):
                raise Refused("has div of what is not a whole number", "Cast both to BIGINT.")
            one, other = self._as(a, BIGINT), self._as(b, BIGINT)
            return Made(not_zero(one, other, f"{one.sql} // {other.sql}"), BIGINT, raises)
        kinds = (a.kind, b.kind)
        if any(map(is_decimal, kinds)) and not any(map(is_fractional, kinds)):
            return self._of_decimals(sign, a, b)
        if sign == "/":
            one, other = self._as(a, DOUBLE), self._as(b, DOUBLE)
            return Made(not_zero(one, other, f"{one.sql} / {other.sql}"), DOUBLE, raises)
        kind = common(a.kind, b.kind)
        assert kind is not None
        if kind == NULL:
            kind = DOUBLE
        one, other = self._as(a, kind), self._as(b, kind)
        if sign == "%":
            return modulo([one, other])
        fits = is_fractional(kind) or result_fits(sign, one, other)
        raises = not fits or one.raises or other.raises
        return Made(f"({one.sql} {sign} {other.sql})", kind, raises)

    def _of_decimals(self, sign: str, a: Made, b: Made) -> Made:
        found = of_decimals(sign, a, b, self._as, self.wide)
        if not isinstance(found, str):
            return found
        raise Refused(found, "Cast them to fewer digits, or to DOUBLE.")

    def _later(self, given: Made, sign: str, tree: Any) -> Made:
        unit = str(tree.args.get("unit") or "").upper().removesuffix("S")
        value = tree.this
        negative = isinstance(value, exp.Neg)
        text = str(value.this.this if negative else value.this) if value is not None else ""
        if (
            unit not in _UNITS
            or not text.strip("+- ").isdigit()
            or not isinstance(value.this if negative else value, exp.Literal)
        ):
            raise Refused(
                f"has {tree.sql('spark')}",
                "Write a whole number of days, months, hours or the like: INTERVAL 1 DAY.",
            )
        span = f"INTERVAL '{'-' if negative else ''}{text.strip()} {_UNITS[unit]}'"
        if given.kind == DATE and unit in _DAYS:
            made = f"CAST({given.sql} {sign} {span} AS DATE)"
            return Made(made, DATE, not _CONSTANT.fullmatch(given.sql))
        if given.kind == TIMESTAMP:
            made = f"CAST(CAST({given.sql} AS TIMESTAMP) {sign} {span} AS TIMESTAMPTZ)"
            return Made(made, TIMESTAMP, True)
        if given.kind == TIMESTAMP_NTZ:
            return Made(f"({given.sql} {sign} {span})", TIMESTAMP_NTZ, True)
        raise Refused(f"has an interval with a {spark_name(given.kind)}", "Cast that to TIMESTAMP.")

    def _bits(self, sign: str, sides: list[Made]) -> Made:
        kind = reduce(common, [s.kind for s in sides])
        if kind not in WHOLE:
            raise Refused(f"has {sign} of what is no whole number", "Cast it to BIGINT.")
        one, other = (self._as(s, kind) for s in sides)
        sql = f"xor({one.sql}, {other.sql})" if sign == "^" else f"({one.sql} {sign} {other.sql})"
        return Made(sql, kind, one.raises or other.raises)

    def _bit_not(self, tree: Any) -> Made:
        of = self._node(tree.this)
        if of.kind not in WHOLE:
            raise Refused("has ~ of what is no whole number", "Cast it to BIGINT.")
        return Made(f"(~ {of.sql})", of.kind, of.raises)
