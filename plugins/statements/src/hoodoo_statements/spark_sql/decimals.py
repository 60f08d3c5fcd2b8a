"""Decimals: what is computed of them has the digits that Spark gives it. DuckDB divides doubles."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from attrs import evolve

from hoodoo_statements.spark_sql.kinds import (
    BIGINT,
    MOST_DIGITS,
    NULL,
    Made,
    decimal,
    digits_of,
    duckdb_name,
    spark_name,
)

_OF_64_BITS = 18  # digits: DuckDB multiplies two decimals of no more into one of no more
_LEAST_SCALE = 6  # that Spark leaves a quotient whose digits are too many


def not_zero(divided: Made, divisor: Made, sql: str) -> str:
    """``sql``, which divides; an error where the divisor is 0, and NULL where NULL is divided."""
    zero = f"{divisor.sql} = 0"
    if divided.literal is None:
        zero = f"{zero} AND {divided.sql} IS NOT NULL"
    return f"(CASE WHEN {zero} THEN error('division by zero') ELSE {sql} END)"


def of_decimals(
    sign: str,
    a: Made,
    b: Made,
    converted: Callable[[Made, pa.DataType], Made],
    wide: bool = True,
) -> Made | str:
    """``a sign b`` of the digits that Spark gives the result; why not, where it would leave some
    out. ``converted``: a value as another type. ``wide``: products have 128 bits, even of two
    numbers of 64."""
    if a.kind == NULL or b.kind == NULL:
        return Made("CAST(NULL AS DECIMAL(38, 0))", decimal(38, 0))
    assert a.kind is not None and b.kind is not None
    one, other = digits_of(a.kind, a.literal), digits_of(b.kind, b.literal)
    if sign == "/":
        if _cast_literal(a) or _cast_literal(b):
            return "has / of a decimal and a number of the text that is cast"
        divided = quotient(converted(a, one), converted(b, other))
        return divided or f"has / of {spark_name(one)} and {spark_name(other)}"
    whole = max(one.precision - one.scale, other.precision - other.scale)
    scale = max(one.scale, other.scale)
    if sign == "*":
        digits, scale = one.precision + other.precision + 1, one.scale + other.scale
    elif sign == "%":
        digits = min(one.precision - one.scale, other.precision - other.scale) + scale
    else:
        digits = whole + scale + 1
    if digits > MOST_DIGITS and scale > _LEAST_SCALE:
        return f"has {sign} of decimals of more than {MOST_DIGITS} digits together"
    kind = decimal(min(digits, MOST_DIGITS), scale)
    if sign == "*":
        sides = [converted(a, one), converted(b, other)]
        small = (s.bare or k.precision <= _OF_64_BITS for s, k in zip(sides, (one, other)))
        narrow = all(small) and digits - 1 > _OF_64_BITS
        if narrow and wide:
            more = decimal(_OF_64_BITS + 1, one.scale)
            sides[0] = evolve(sides[0], sql=f"CAST({sides[0].sql} AS {duckdb_name(more)})")
        elif narrow:
            sides = [evolve(s, sql=s.bare or s.sql) for s in sides]
    else:
        both = decimal(min(whole + scale + (sign != "%"), MOST_DIGITS), scale)
        sides = [converted(a, both), converted(b, both)]
    sql = f"({sides[0].sql} {sign} {sides[1].sql})"
    if sign == "%":
        sql = not_zero(sides[0], sides[1], sql)
    raises = sign == "%" or digits > MOST_DIGITS or any(side.raises for side in sides)
    if sign == "*":
        raises = raises or (narrow and not wide)
        bare = sql if narrow and not wide else ""
        return Made(f"CAST({sql} AS {duckdb_name(kind)})", kind, raises, bare=bare)
    return Made(f"CAST({sql} AS {duckdb_name(kind)})", kind, raises)


def _cast_literal(of: Made) -> bool:
    """Whether it is ``cast(3 AS BIGINT)`` or ``3L``, which the parser does not tell apart: the
    digits of a quotient are by the type of the one, and by the value of the other."""
    if not isinstance(of.literal, int):
        return False
    large = not -(1 << 31) <= of.literal < 1 << 31
    written = f"CAST({of.literal} AS BIGINT" if large else str(of.literal)
    return of.sql.strip("()") != written


def average_of_decimals(of: Made, distinct: str, over: str = "") -> Made | None:
    """avg() with the digits that Spark gives it, or None. ``distinct``: the word, or nothing;
    ``over``: the window that it is of."""
    assert of.kind is not None
    kind = decimal(min(of.kind.precision + 4, MOST_DIGITS), of.kind.scale + 4)
    if kind.scale > kind.precision:
        return None
    total = Made(f"sum({distinct}{of.bare or of.sql}){over}", decimal(MOST_DIGITS, of.kind.scale))
    return quotient(total, Made(f"nullif(count({distinct}{of.sql}){over}, 0)", BIGINT), kind)


def quotient(a: Made, b: Made, kind: pa.DataType | None = None) -> Made | None:
    """``a / b``, rounded half up to the scale of ``kind`` (None: the type that Spark gives it). An
    error where ``b`` is 0, or the digits are more than 128 bits hold. None: not computed here.

    Source: ``Divide`` and ``DecimalType.adjustPrecisionScale`` of Spark."""
    one, other = digits_of(a.kind), digits_of(b.kind)
    if kind is None:
        scale = max(_LEAST_SCALE, one.scale + other.precision + 1)
        whole = one.precision - one.scale + other.scale
        if whole + scale > MOST_DIGITS:
            scale = max(MOST_DIGITS - whole, min(scale, _LEAST_SCALE))
        kind = decimal(min(whole + scale, MOST_DIGITS), scale)
    shift = kind.scale - one.scale + other.scale
    if shift < 0:
        return None
    above, below = _digits(a, one), _digits(b, other)
    ten = "1" + "0" * shift
    size = f"((abs({above}) * {ten}::HUGEINT * 2 + abs({below})) // (2 * abs({below})))"
    whole_part, fraction = (f"{size} {sign} {10**kind.scale}::HUGEINT" for sign in ("//", "%"))
    text = (
        f"CAST({whole_part} AS VARCHAR) || '.' || lpad(CAST({fraction} AS VARCHAR), "
        f"{kind.scale}, '0')"
    )
    sign = f"CASE WHEN ({above} < 0) <> ({below} < 0) THEN '-' ELSE '' END"
    made = f"CAST({sign} || {text} AS {duckdb_name(kind)})"
    by_zero = f"{below} = 0 AND {above} IS NOT NULL"  # of NULL, it is NULL
    sql = f"(CASE WHEN {by_zero} THEN error('division by zero') ELSE {made} END)"
    return Made(sql, kind, True)


def _digits(of: Made, kind: pa.DataType) -> str:
    """The digits of a decimal as a whole number."""
    if not kind.scale:
        return f"CAST({of.sql} AS HUGEINT)"
    if kind.precision + kind.scale < MOST_DIGITS:
        factor = f"CAST(1{'0' * kind.scale} AS DECIMAL({kind.scale + 1}, 0))"
        plain = kind.precision + kind.scale < _OF_64_BITS or kind.precision > _OF_64_BITS
        wide = of.sql if plain else f"CAST({of.sql} AS DECIMAL({_OF_64_BITS + 1}, {kind.scale}))"
        return f"CAST({wide} * {factor} AS HUGEINT)"
    return f"CAST(replace(CAST({of.sql} AS VARCHAR), '.', '') AS HUGEINT)"
