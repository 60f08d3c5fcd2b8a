"""Functions of dates and times."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from hoodoo_statements.spark_sql import patterns
from hoodoo_statements.spark_sql.casts import cast, seconds
from hoodoo_statements.spark_sql.function import (
    FUNCTIONS,
    Builder,
    Function,
    add,
    add_sql,
    computed,
    quoted,
)
from hoodoo_statements.spark_sql.kinds import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    Made,
)

for _names, _part in {
    "year": "year({0})",
    "month": "month({0})",
    "quarter": "quarter({0})",
    "day dayofmonth": "day({0})",
    "dayofyear": "dayofyear({0})",
    "dayofweek": "dayofweek({0}) + 1",
    "weekday": "isodow({0}) - 1",
    "weekofyear": "week({0})",
}.items():
    add_sql(_names, "T", f"CAST({_part} AS INTEGER)", INT)
for _name in ("hour", "minute", "second"):
    add_sql(_name, "Z", f"CAST({_name}(CAST({{0}} AS TIMESTAMP)) AS INTEGER)", INT)
add_sql("last_day", "T", "last_day({0})", DATE)
add_sql("date_add dateadd", "TI", "CAST({0} + {1} AS DATE)", DATE)
add_sql("date_sub", "TI", "CAST({0} - {1} AS DATE)", DATE)
add_sql("datediff date_diff", "TT", "CAST({0} - {1} AS INTEGER)", INT)
add_sql("add_months", "TI", "CAST({0} + to_months({1}) AS DATE)", DATE)
add_sql("make_date", "III", "make_date({0}, {1}, {2})", DATE)
add_sql("unix_date", "E", "CAST({0} - DATE '1970-01-01' AS INTEGER)", INT)
add_sql("date_from_unix_date", "I", "CAST(DATE '1970-01-01' + {0} AS DATE)", DATE)
# These cut off what cast(... AS BIGINT) and unix_seconds round down.
add_sql(
    "unix_timestamp to_unix_timestamp", "Z", "epoch_us(CAST({0} AS TIMESTAMP)) // 1000000", BIGINT
)


def _since_epoch(unit: int) -> Builder:
    return lambda g: computed(g, seconds(g[0].sql, unit), BIGINT)


for _name, _unit in {"unix_seconds": 1_000_000, "unix_millis": 1000, "unix_micros": 1}.items():
    add(_name, "Q", _since_epoch(_unit))
for _name, _unit in {
    "timestamp_seconds": 1_000_000,
    "timestamp_millis": 1000,
    "timestamp_micros": 1,
}.items():
    add_sql(
        _name,
        "L",
        f"CAST(make_timestamp({{0}} * CAST({_unit} AS BIGINT)) AS TIMESTAMPTZ)",
        TIMESTAMP,
    )
_NO = "is of a type that is not cast so"
for _name, _kind in {
    "to_date": DATE,
    "date": DATE,
    "to_timestamp": TIMESTAMP,
    "timestamp": TIMESTAMP,
    "string": STRING,
    "int": INT,
    "bigint": BIGINT,
    "double": DOUBLE,
    "boolean": BOOLEAN,
    "float": pa.float32(),
    "smallint": pa.int16(),
    "tinyint": pa.int8(),
    "binary": BINARY,
}.items():
    _signatures = {DATE: "V T Z", TIMESTAMP: "V T Z"}.get(_kind, "C")
    add(_name, _signatures, lambda g, kind=_kind: cast(g[0], kind) or _NO)  # type: ignore[misc]
_UNITS = {"yyyy": "year", "yy": "year", "mon": "month", "mm": "month", "dd": "day"}
_DAYS = ("year", "quarter", "month", "week")
_CLOCK = (*_DAYS, "day", "hour", "minute", "second", "millisecond", "microsecond")


def _unit_of(given: Made, known: Sequence[str]) -> str | None:
    name = str(given.literal).lower()
    name = _UNITS.get(name, name)
    return name if name in known else None


def _trunc(g: Sequence[Made]) -> Made | str:
    unit = _unit_of(g[1], _DAYS)
    if unit is None:
        return f"has the unit {g[1].literal!r}"
    return computed(g, f"CAST(date_trunc('{unit}', {g[0].sql}) AS DATE)", DATE)


def _date_trunc(g: Sequence[Made]) -> Made | str:
    unit = _unit_of(g[0], _CLOCK)
    if unit is None:
        return f"has the unit {g[0].literal!r}"
    of = f"date_trunc('{unit}', CAST({g[1].sql} AS TIMESTAMP))"
    return computed(g, f"CAST({of} AS TIMESTAMPTZ)", TIMESTAMP)


add("trunc", "Ts", _trunc)
add("date_trunc", "sZ", _date_trunc)


def _date_format(g: Sequence[Made]) -> Made | str:
    made = patterns.date_format(str(g[1].literal))
    if made is None:
        return f"has the format {g[1].literal!r}"
    of = f"CAST({g[0].sql} AS TIMESTAMP)"
    refused = "error('date_format() of a year before 1 or after 9999')"
    text = f"strftime({of}, {quoted(made)})"
    return computed(
        g,
        f"(CASE WHEN year({of}) NOT BETWEEN 1 AND 9999 THEN {refused} ELSE {text} END)",
        STRING,
        True,
    )


add("date_format", "Zs", _date_format)
_PARTS = {
    "year": "year",
    "y": "year",
    "years": "year",
    "quarter": "quarter",
    "qtr": "quarter",
    "month": "month",
    "mon": "month",
    "months": "month",
    "day": "day",
    "d": "day",
    "days": "day",
    "doy": "dayofyear",
    "week": "weekofyear",
    "w": "weekofyear",
    "weeks": "weekofyear",
    "dow": "dayofweek",
    "dayofweek": "dayofweek",
    "hour": "hour",
    "h": "hour",
    "hours": "hour",
    "minute": "minute",
    "m": "minute",
    "min": "minute",
    "minutes": "minute",
}


def part_of(name: str) -> Function | None:
    """What computes ``extract(name FROM ...)``."""
    return FUNCTIONS.get(_PARTS.get(name.lower(), ""))


def _date_part(g: Sequence[Made]) -> Made | str:
    found = part_of(str(g[0].literal))
    if found is None:
        return f"has the part {g[0].literal!r}"
    of = (
        g[1] if found.signatures == ("Z",) else Made(f"CAST({g[1].sql} AS DATE)", DATE, g[1].raises)
    )
    return found.build([of])


add("date_part datepart", "sZ", _date_part)
