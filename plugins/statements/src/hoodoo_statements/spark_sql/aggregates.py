"""Aggregates: functions of many rows, and of the rows around one."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from attrs import frozen

from hoodoo_statements.spark_sql.kinds import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    MOST_DIGITS,
    WHOLE,
    decimal,
    is_decimal,
    is_fractional,
)


@frozen
class Aggregate:
    """``sql``: with the arguments as ``{0}``; ``kind``: of its value, by the kind of its first
    argument."""

    sql: str
    kind: Callable[[pa.DataType | None], pa.DataType | None]

    def text(self, of: str, distinct: str = "", only: str = "") -> str:
        """Its call for DuckDB. ``distinct``: the word, or nothing. ``only``: the condition on the
        rows that count, or nothing."""
        sql = self.sql.replace("({0})", f"({distinct}{of})", 1).replace("{0}", of)
        end = "), [])"
        if only and sql.endswith(end):
            return f"{sql.removesuffix(end)} AND {only}{end}"
        return f"{sql} FILTER (WHERE {only})" if only else sql


def _sum(kind: pa.DataType | None) -> pa.DataType | None:
    if kind is not None and is_decimal(kind):
        return decimal(min(MOST_DIGITS, kind.precision + 10), kind.scale)
    return BIGINT if kind in WHOLE else DOUBLE if is_fractional(kind) else None


def _average(kind: pa.DataType | None) -> pa.DataType | None:
    return DOUBLE if kind in WHOLE or is_fractional(kind) else None


def _same(kind: pa.DataType | None) -> pa.DataType | None:
    return kind


AGGREGATES = {
    "count": Aggregate("count({0})", lambda _: BIGINT),
    "sum": Aggregate("sum({0})", _sum),
    "avg": Aggregate("avg({0})", _average),
    "mean": Aggregate("avg({0})", _average),
    "min": Aggregate("min({0})", _same),
    "max": Aggregate("max({0})", _same),
    "first": Aggregate("first({0})", _same),
    "last": Aggregate("last({0})", _same),
    "any_value": Aggregate("first({0})", _same),
    "count_if": Aggregate("count_if({0})", lambda _: BIGINT),
    "bool_and": Aggregate("bool_and({0})", lambda _: BOOLEAN),
    "every": Aggregate("bool_and({0})", lambda _: BOOLEAN),
    "bool_or": Aggregate("bool_or({0})", lambda _: BOOLEAN),
    "some": Aggregate("bool_or({0})", lambda _: BOOLEAN),
    "collect_list": Aggregate(
        "coalesce(list({0}) FILTER (WHERE {0} IS NOT NULL), [])",
        lambda kind: kind and pa.list_(kind),
    ),
    "array_agg": Aggregate(
        "coalesce(list({0}) FILTER (WHERE {0} IS NOT NULL), [])",
        lambda kind: kind and pa.list_(kind),
    ),
    "stddev": Aggregate("stddev_samp({0})", lambda _: DOUBLE),
    "stddev_samp": Aggregate("stddev_samp({0})", lambda _: DOUBLE),
    "stddev_pop": Aggregate("stddev_pop({0})", lambda _: DOUBLE),
    "variance": Aggregate("var_samp({0})", lambda _: DOUBLE),
    "var_samp": Aggregate("var_samp({0})", lambda _: DOUBLE),
    "var_pop": Aggregate("var_pop({0})", lambda _: DOUBLE),
}
_RANK = Aggregate("", lambda _: INT)
WINDOWS = {
    **{name: _RANK for name in ("row_number", "rank", "dense_rank", "ntile")},
    **{name: Aggregate("", lambda _: DOUBLE) for name in ("percent_rank", "cume_dist")},
    **{
        name: Aggregate("", _same)
        for name in ("lag", "lead", "first_value", "last_value", "nth_value")
    },
}
