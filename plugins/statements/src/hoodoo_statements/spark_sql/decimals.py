"""Decimals: a quotient with the digits that Spark gives it. DuckDB divides doubles."""

from __future__ import annotations

import pyarrow as pa

from hoodoo_statements.spark_sql.kinds import (
    MOST_DIGITS,
    Made,
    decimal,
    digits_of,
    duckdb_name,
)

_LEAST_SCALE = 6  # that Spark leaves a quotient whose digits are too many


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
    text = f"CAST({whole_part} AS VARCHAR) || '.' || lpad(CAST({fraction} AS VARCHAR), {kind.scale}, '0')"
    sign = f"CASE WHEN ({above} < 0) <> ({below} < 0) THEN '-' ELSE '' END"
    made = f"CAST({sign} || {text} AS {duckdb_name(kind)})"
    zero = f"CASE WHEN {below} = 0 THEN error('division by zero') ELSE {made} END"
    return Made(f"({zero})", kind, True)


def _digits(of: Made, kind: pa.DataType) -> str:
    """The digits of a decimal as a whole number."""
    if not kind.scale:
        return f"CAST({of.sql} AS HUGEINT)"
    if kind.precision + kind.scale < MOST_DIGITS:
        factor = f"CAST(1{'0' * kind.scale} AS DECIMAL({kind.scale + 1}, 0))"
        return f"CAST({of.sql} * {factor} AS HUGEINT)"
    return f"CAST(replace(CAST({of.sql} AS VARCHAR), '.', '') AS HUGEINT)"
