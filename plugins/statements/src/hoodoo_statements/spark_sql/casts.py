"""Casts: between all types that Spark's ANSI mode casts between, and try_cast."""

from __future__ import annotations

import re
from datetime import datetime

import pyarrow as pa

from hoodoo_statements.spark_sql.kinds import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    FLOAT,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    WHOLE,
    Made,
    digits_of,
    duckdb_name,
    is_decimal,
    is_fractional,
    is_number,
    is_variant,
    spark_name,
)
from hoodoo_statements.spark_sql.variants import cast_variant

_TIMES = (TIMESTAMP, TIMESTAMP_NTZ)
# What Spark takes off a text before it reads a value: white space and control characters.
_AROUND = r"[\x00-\x20\x7f]*"
_WHOLE = rf"^{_AROUND}[+-]?[0-9]+{_AROUND}$"
_NUMBER = rf"^{_AROUND}[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?{_AROUND}$"
# More of these are numbers for Spark, in forms that are refused here.
_ODD_NUMBER = r"(?i)^[\x00-\x20\x7f]*[+-]?(0x|inf|nan|[0-9.]+(e[+-]?[0-9]+)?[fd])"
_DATE = rf"^{_AROUND}([0-9]{{4}})(?:-([0-9]{{1,2}})(?:-([0-9]{{1,2}})(?:[ T].*)?)?)?{_AROUND}$"
_ODD_DATE = rf"^{_AROUND}([+-]?[0-9]{{4,7}}|[0-9]{{1,2}}:|T)"
_CLOCK = r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.([0-9]{0,9}))?"
_ZONE = r"(Z|UTC|[+-][0-9]{2}:[0-9]{2})?"
_DAY = rf"-([0-9]{{1,2}})(?:[ T]{_CLOCK} ?{_ZONE})?"
_TIME = rf"^{_AROUND}([0-9]{{4}})(?:-([0-9]{{1,2}})(?:{_DAY})?)?{_AROUND}$"
# As nearly all texts of times are: what DuckDB and Python read as Spark does.
_USUAL_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.([0-9]{3}|[0-9]{6}))?)?"
)
_TRUE = "'t', 'true', 'y', 'yes', '1'"
_FALSE = "'f', 'false', 'n', 'no', '0'"


def cast(of: Made, to: pa.DataType, tried: bool = False) -> Made | None:
    """``of`` as ``to``, as Spark casts it: a value that does not fit is an error, with ``tried``
    NULL. None: Spark does not cast between these types, or what it makes is not known here."""
    kind = of.kind
    if kind is None:
        return None
    if is_variant(kind):
        return cast_variant(of, to, tried, cast)
    if kind == to:
        return of
    name = duckdb_name(to)
    if kind == NULL:
        return Made(f"CAST(NULL AS {name})", to)
    if kind == pa.list_(NULL) and pa.types.is_list(to):
        return Made(f"CAST({of.sql} AS {name})", to, of.raises)
    if isinstance(of.literal, str) and (value := _constant(of.literal, to)):
        return Made(value, to)
    made = _between(of.sql, kind, to, tried)
    return None if made is None else Made(made, to, of.raises or not _always_fits(kind, to))


def _constant(text: str, to: pa.DataType) -> str | None:
    """``text`` as a value of a time, if it is in the usual form: DuckDB plans with constants, and
    can leave out files and rows by them. None: the cast reads it."""
    if (to != DATE and to not in _TIMES) or not _USUAL_TIME.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if to == DATE:
        return f"DATE '{moment.date().isoformat()}'"
    zone = "+00:00" if to == TIMESTAMP else ""
    return f"{duckdb_name(to)} '{moment.isoformat(sep=' ')}{zone}'"


def _always_fits(kind: pa.DataType, to: pa.DataType) -> bool:
    """Whether each value of ``kind`` is one of ``to``, so that the cast is no error of any row."""
    if kind in WHOLE and to in WHOLE:
        return WHOLE.index(kind) <= WHOLE.index(to)
    if is_decimal(to) and (kind in WHOLE or is_decimal(kind)):
        own = digits_of(kind)
        return bool(own.scale <= to.scale and own.precision - own.scale <= to.precision - to.scale)
    if is_fractional(to):
        return kind in WHOLE or kind == FLOAT
    return to == STRING and (kind in WHOLE or kind == BOOLEAN or is_decimal(kind))


def _between(sql: str, kind: pa.DataType, to: pa.DataType, tried: bool) -> str | None:
    if to == STRING:
        return _to_text(sql, kind)
    if kind == STRING:
        return _from_text(sql, to, tried)
    if is_number(to) and (is_number(kind) or kind == BOOLEAN or kind in _TIMES):
        return _to_number(sql, kind, to, tried)
    if to == BOOLEAN and is_number(kind):
        return f"(({sql}) <> 0)"
    if (to in _TIMES and kind == DATE) or {kind, to} == set(_TIMES):
        return _plain(sql, to, tried)
    if kind in _TIMES and to == DATE:
        return _plain(sql, to, tried)
    return None


def _plain(sql: str, to: pa.DataType, tried: bool = False) -> str:
    return f"{'TRY_CAST' if tried else 'CAST'}({sql} AS {duckdb_name(to)})"


def _to_number(sql: str, kind: pa.DataType, to: pa.DataType, tried: bool) -> str | None:
    if kind in _TIMES:
        if to not in WHOLE or kind == TIMESTAMP_NTZ:
            return None
        return _plain(seconds(sql), to, tried)
    if kind == BOOLEAN:
        return _plain(f"CAST({sql} AS INTEGER)", to, tried)
    if to in WHOLE and is_fractional(kind):
        whole = _plain(f"trunc({sql})", to, tried)
        if to != BIGINT:
            return whole
        # The least double above all whole numbers counts as the largest of these.
        return (
            f"(CASE WHEN {sql} = 9223372036854775808.0::DOUBLE THEN 9223372036854775807 ELSE "
            f"{whole} END)"
        )
    if to in WHOLE and is_decimal(kind):
        digits = f"regexp_replace(CAST({sql} AS VARCHAR), '\\.[0-9]*$', '')"
        return _plain(digits, to, tried)
    if (is_decimal(to) and is_fractional(kind)) or (is_fractional(to) and is_decimal(kind)):
        # Through text, which has the digits that Spark goes by, and is rounded once. Of a float
        # they are those of the double with its value.
        number = f"CAST({sql} AS DOUBLE)" if is_fractional(kind) else sql
        return _plain(f"CAST({number} AS VARCHAR)", to, tried)
    return _plain(sql, to, tried)


def seconds(sql: str, unit: int = 1_000_000) -> str:
    """Whole seconds since 1970 of a time, downwards; ``unit``: how many microseconds are one of
    what is counted."""
    of = f"epoch_us(CAST({sql} AS TIMESTAMP))"
    return f"(({of} - (({of} % {unit}) + {unit}) % {unit}) // {unit})"


def _to_text(sql: str, kind: pa.DataType) -> str | None:
    if is_fractional(kind):
        return _java_number(sql)
    if kind in WHOLE or kind == BOOLEAN or is_decimal(kind):
        return f"CAST({sql} AS VARCHAR)"
    if kind == BINARY:
        return f"decode({sql})"
    if kind in (DATE, *_TIMES):
        plain = sql if kind == DATE else f"CAST({sql} AS TIMESTAMP)"
        years = f"year({plain}) NOT BETWEEN 1 AND 9999"
        refused = "error('a date before the year 1 or after 9999 as text')"
        return f"(CASE WHEN {years} THEN {refused} ELSE CAST({plain} AS VARCHAR) END)"
    return None


def _java_number(sql: str) -> str:
    """As Java writes it: an exponent from 10 million on and below a thousandth. The digits are the
    fewest that mean the number, which Java has from version 19 on."""
    text = f"CAST({sql} AS VARCHAR)"
    known = rf"regexp_replace({text}, '^(-?[0-9])\.?([0-9]*)e\+?(-?)0*([0-9]+)$', '\1.\2E\3\4')"
    known = f"replace({known}, '.E', '.0E')"
    large = rf"regexp_replace({text}, '^(-?[0-9])([0-9]*)\.?([0-9]*)$', '\1.\2\3')"
    large = rf"regexp_replace(regexp_replace({large}, '0+$', ''), '\.$', '.0')"
    above = rf"CAST(length(regexp_replace({text}, '^-|\..*$', '', 'g')) - 1 AS VARCHAR)"
    small = rf"regexp_replace({text}, '^(-?)0\.0*([1-9])([0-9]*)$', '\1\2.\3')"
    small = rf"regexp_replace({small}, '\.$', '.0')"
    below = rf"CAST(length(regexp_replace({text}, '^-?0\.(0*)[1-9][0-9]*$', '\1')) + 1 AS VARCHAR)"
    tiny = f"abs(CAST({sql} AS DOUBLE)) < 1e-300 AND {sql} <> 0"  # Java chooses other digits there
    return (
        f"(CASE WHEN {tiny} THEN error('a number below 1e-300 as text') WHEN isnan({sql}) THEN "
        f"'NaN' WHEN isinf({sql}) THEN CASE WHEN {sql} > 0 THEN 'Infinity' "
        f"ELSE '-Infinity' END WHEN contains({text}, 'e') THEN {known} "
        f"WHEN abs({sql}) >= 1e7 THEN {large} || 'E' || {above} "
        f"WHEN abs(CAST({sql} AS DOUBLE)) < 1e-3 AND {sql} <> 0 THEN {small} || 'E-' || {below} "
        f"ELSE {text} END)"
    )


def _from_text(sql: str, to: pa.DataType, tried: bool) -> str | None:
    bad = f"error('the text ' || {sql} || ' is no {spark_name(to)}')"
    odd = f"error('the text ' || {sql} || ' as {spark_name(to)} is not computed here')"
    misfit = "NULL" if tried else bad
    if to == BINARY:
        return f"encode({sql})"
    if to == BOOLEAN:
        plain = rf"lower(regexp_replace({sql}, '^{_AROUND}|{_AROUND}$', '', 'g'))"
        return (
            f"(CASE WHEN {plain} IN ({_TRUE}) THEN TRUE WHEN {plain} IN ({_FALSE}) THEN FALSE "
            f"WHEN {sql} IS NULL THEN NULL ELSE {misfit} END)"
        )
    if is_number(to):
        whole = to in WHOLE
        bare = rf"regexp_replace({sql}, '^{_AROUND}\+?|{_AROUND}$', '', 'g')"
        number = _plain(bare, to, tried)
        unusual = f"WHEN regexp_matches({sql}, '{_ODD_NUMBER}') THEN {odd} " if not whole else ""
        return (
            f"(CASE WHEN {sql} IS NULL THEN NULL WHEN regexp_matches({sql}, "
            f"'{_WHOLE if whole else _NUMBER}') "
            f"THEN {number} {unusual}ELSE {misfit} END)"
        )
    if to == DATE:
        return _read(sql, _DATE, _plain(_day(sql, _DATE), to, tried), odd, misfit)
    if to in _TIMES:
        return _time(sql, to, tried, odd, misfit)
    return None


def _read(sql: str, pattern: str, made: str, odd: str, misfit: str) -> str:
    return (
        f"(CASE WHEN {sql} IS NULL THEN NULL WHEN regexp_matches({sql}, '{pattern}') THEN {made} "
        f"WHEN regexp_matches({sql}, '{_ODD_DATE}') THEN {odd} ELSE {misfit} END)"
    )


def _day(sql: str, pattern: str) -> str:
    def part(n: int) -> str:
        return f"regexp_extract({sql}, '{pattern}', {n})"

    def two(n: int) -> str:
        return f"CASE WHEN {part(n)} = '' THEN '01' ELSE lpad({part(n)}, 2, '0') END"

    return f"({part(1)} || '-' || {two(2)} || '-' || {two(3)})"


def _time(sql: str, to: pa.DataType, tried: bool, odd: str, misfit: str) -> str:
    def part(n: int) -> str:
        return f"regexp_extract({sql}, '{_TIME}', {n})"

    clock = " || ':' || ".join(f"lpad({part(n)}, 2, '0')" for n in (4, 5, 6))
    fraction = f"CASE WHEN {part(7)} = '' THEN '' ELSE '.' || substring({part(7)}, 1, 6) END"
    zone = f"CASE WHEN {part(8)} IN ('', 'Z', 'UTC') THEN '+00:00' ELSE {part(8)} END"
    if to == TIMESTAMP_NTZ:
        zone = "''"
    seen = f"CASE WHEN {part(4)} = '' THEN '00:00:00' ELSE {clock} || {fraction} END"
    whole = f"{_day(sql, _TIME)} || ' ' || ({seen}) || ({zone})"
    return _read(sql, _TIME, _plain(whole, to, tried), odd, misfit)
