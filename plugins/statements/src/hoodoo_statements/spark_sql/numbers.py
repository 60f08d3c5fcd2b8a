"""Functions of numbers."""

from __future__ import annotations

from collections.abc import Sequence

from hoodoo_statements.spark_sql.decimals import not_zero
from hoodoo_statements.spark_sql.function import (
    Builder,
    add,
    add_sql,
    computed,
)
from hoodoo_statements.spark_sql.kinds import (
    BIGINT,
    DOUBLE,
    MOST_DIGITS,
    WHOLE,
    Made,
    decimal,
    duckdb_name,
    is_decimal,
    is_fractional,
)

add("abs", "N", lambda g: computed(g, f"abs({g[0].sql})", g[0].kind, True))
add("negative", "N", lambda g: computed(g, f"(- {g[0].sql})", g[0].kind, True))
add("positive", "N", lambda g: g[0])
add_sql(
    "sign signum",
    "D",
    "CASE WHEN {0} = 0 OR isnan({0}) THEN {0} ELSE CAST(sign({0}) AS DOUBLE) END",
    DOUBLE,
)
add_sql("sqrt", "D", "CASE WHEN {0} < 0 THEN CAST('NaN' AS DOUBLE) ELSE sqrt({0}) END", DOUBLE)
add_sql("degrees", "D", "degrees({0})", DOUBLE, exact=False)
add_sql("radians", "D", "radians({0})", DOUBLE, exact=False)
add_sql("exp", "D", "exp({0})", DOUBLE, exact=False)
for _name in ("ln", "log10", "log2"):
    add_sql(_name, "D", f"CASE WHEN {{0}} > 0 THEN {_name}({{0}}) END", DOUBLE, exact=False)
add_sql("power pow", "DD", "pow({0}, {1})", DOUBLE, exact=False)


def modulo(g: Sequence[Made]) -> Made:
    """The sign is that of the first."""
    return computed(g, not_zero(g[0], g[1], f"{g[0].sql} % {g[1].sql}"), g[0].kind, True)


def _pmod(g: Sequence[Made]) -> Made:
    a, b = g[0].sql, g[1].sql
    first = f"({a} % {b})"
    made = f"CASE WHEN {first} < 0 THEN ({first} + {b}) % {b} ELSE {first} END"
    return computed(g, not_zero(g[0], g[1], made), g[0].kind, True)


add("mod", "NN", modulo)
add("pmod", "WW", _pmod)


def _rounded(even: bool) -> Builder:
    def build(g: Sequence[Made]) -> Made | str:
        value, kind = g[0].sql, g[0].kind
        places = g[1].literal if len(g) > 1 else 0
        assert kind is not None
        if not isinstance(places, int) or not -9 <= places <= 15:
            return "rounds to more places than are computed here"
        if kind in WHOLE:
            return g[0] if places >= 0 else "rounds a whole number to tens"
        if is_fractional(kind):
            of = f"CAST(CAST({value} AS VARCHAR) AS DECIMAL(38, 21))"
            made = _rounded_decimal(of, places, 21, even)
            back = f"CAST(CAST({made} AS VARCHAR) AS {duckdb_name(kind)})"
            odd = f"isnan({value}) OR isinf({value})" + (
                f" OR abs({value}) >= 1e16" if places >= 0 else ""
            )
            zero = f"CASE WHEN {back} = 0 THEN CAST(0 AS {duckdb_name(kind)}) ELSE {back} END"
            return computed(g, f"(CASE WHEN {odd} THEN {value} ELSE {zero} END)", kind, True)
        if not places >= 0:
            return "rounds a decimal to tens"
        if places >= kind.scale:
            return g[0]
        digits = min(MOST_DIGITS, kind.precision - kind.scale + places + 1)
        made = _rounded_decimal(value, places, kind.scale, even)
        to = decimal(digits, places)
        return computed(g, f"CAST({made} AS {duckdb_name(to)})", to, True)

    return build


def _rounded_decimal(value: str, places: int, scale: int, even: bool) -> str:
    up = f"round({value}, {places})"
    if not even:
        return up
    step = f"CAST({10.0**-places:.{max(places, 0)}f} AS DECIMAL(38, {max(places, 0)}))"
    half = (
        f"CAST({5 * 10.0 ** (-places - 1):.{max(places + 1, 1)}f} AS DECIMAL(38, "
        f"{max(places + 1, 1)}))"
    )
    tie = f"abs({up} - {value}) = {half} AND ({up} % (2 * {step})) <> 0"
    return f"(CASE WHEN {tie} THEN {up} - sign({value}) * {step} ELSE {up} END)"


add("round", "N Mi", _rounded(False))
add("bround", "N Mi", _rounded(True))


def _whole_number(name: str) -> Builder:
    def build(g: Sequence[Made]) -> Made | str:
        kind = g[0].kind
        if kind in WHOLE:
            return computed(g, f"CAST({g[0].sql} AS BIGINT)", BIGINT)
        if is_fractional(kind):
            return computed(g, f"CAST({name}({g[0].sql}) AS BIGINT)", BIGINT, True)
        if kind is None or not is_decimal(kind):
            return "is of no number"
        to = decimal(min(MOST_DIGITS, kind.precision - kind.scale + 1), 0)
        return computed(g, f"CAST({name}({g[0].sql}) AS {duckdb_name(to)})", to, True)

    return build


add("ceil ceiling", "N", _whole_number("ceil"))
add("floor", "N", _whole_number("floor"))
