"""Functions: those that text may call, with the kinds of their arguments, their result, and what
DuckDB computes for them.

A signature has a letter for each argument: S text, V text that is no other value as text, I int, L
bigint, D double, B boolean, T date, E date and no timestamp, Z timestamp, Q timestamp and no date,
Y binary, N any number, W any whole number, M a number with digits after the point (decimal or
double), C any plain value, of one kind with the other C; X: anything, also nested. In lower case: a
literal of the statement. ``*`` repeats the last one. ``0``: no argument."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import pyarrow as pa
from attrs import evolve, frozen

from hoodoo_statements.spark_sql import patterns
from hoodoo_statements.spark_sql.casts import cast, seconds
from hoodoo_statements.spark_sql.decimals import not_zero
from hoodoo_statements.spark_sql.kinds import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    MOST_DIGITS,
    NULL,
    STRING,
    TIMESTAMP,
    VARIANT,
    WHOLE,
    Made,
    common,
    decimal,
    duckdb_name,
    is_decimal,
    is_fractional,
    is_variant,
    kind_named,
    spark_name,
)
from hoodoo_statements.spark_sql.variants import extracted
from hoodoo_statements.text.paths import steps_of

Builder = Callable[[Sequence[Made]], "Made | str"]  # a text says why not


@frozen
class Function:
    """``build``: of arguments that have the kinds of one of ``signatures``, what is computed, or
    why it is not. ``exact``: whether it gives Spark's value to the last bit; else within one unit
    in the last place of a double."""

    name: str
    signatures: tuple[str, ...]
    build: Builder
    exact: bool = True


FUNCTIONS: dict[str, Function] = {}


def _add(names: str, signatures: str, build: Builder, exact: bool = True) -> None:
    for name in names.split():
        FUNCTIONS[name] = Function(name, tuple(signatures.split()), build, exact)


def _text(names: str, signatures: str, sql: str, kind: pa.DataType, *, exact: bool = True) -> None:
    """A function that is a text with the arguments in it, of the type ``kind``; it may be an error
    where it casts."""
    raises = "CAST" in sql or "error(" in sql or "make_" in sql

    def build(given: Sequence[Made]) -> Made:
        made = f"({sql.format(*[g.sql for g in given])})"
        return Made(made, kind, raises or any(g.raises for g in given))

    _add(names, signatures, build, exact)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _any(given: Sequence[Made], sql: str, kind: pa.DataType | None, raises: bool = False) -> Made:
    return Made(sql, kind, raises or any(g.raises for g in given))


# --- texts ----------------------------------------------------------------------------------------
@functools.cache
def _longer_in_capitals() -> tuple[tuple[str, str], ...]:
    """Characters that become several ones in capitals, such as the German sharp s."""
    return tuple((chr(n), chr(n).upper()) for n in range(0x10000) if len(chr(n).upper()) > 1)


def upper(sql: str) -> str:
    pairs = _longer_in_capitals()
    long = functools.reduce(
        lambda text, pair: f"replace({text}, '{pair[0]}', '{pair[1]}')", pairs, sql
    )
    known = "".join(one for one, _ in pairs)
    return (
        f"(CASE WHEN regexp_matches({sql}, '[{known}]') THEN upper({long}) ELSE upper({sql}) END)"
    )


def lower(sql: str) -> str:
    sigma = "error('lower() of a text with a capital sigma, whose form depends on its place')"
    plain = f"lower(replace({sql}, '\u0130', 'i\u0307'))"
    return f"(CASE WHEN contains({sql}, '\u03a3') THEN {sigma} ELSE {plain} END)"


_add("upper ucase", "S", lambda g: _any(g, upper(g[0].sql), STRING))
_add("lower lcase", "S", lambda g: _any(g, lower(g[0].sql), STRING, True))
_text("length char_length character_length len", "S", "CAST(length({0}) AS INTEGER)", INT)
_text("octet_length", "S", "CAST(strlen({0}) AS INTEGER)", INT)
_text("octet_length_binary", "Y", "CAST(octet_length({0}) AS INTEGER)", INT)
del FUNCTIONS["octet_length_binary"]
_text("trim btrim", "S", "trim({0}, ' ')", STRING)
_text("ltrim", "S", "ltrim({0}, ' ')", STRING)
_text("rtrim", "S", "rtrim({0}, ' ')", STRING)
_add("concat", "S*", lambda g: _any(g, f"({' || '.join(x.sql for x in g)})", STRING))
_add(
    "concat_ws",
    "SS*",
    lambda g: _any(g, f"concat_ws({', '.join(x.sql for x in g)})", STRING),
)
_text("replace", "SSS", "replace({0}, {1}, {2})", STRING)
_text("startswith", "SS", "starts_with({0}, {1})", BOOLEAN)
_text("endswith", "SS", "suffix({0}, {1})", BOOLEAN)
_text("contains", "SS", "contains({0}, {1})", BOOLEAN)
_text("instr", "SS", "CAST(instr({0}, {1}) AS INTEGER)", INT)
_text("locate position", "SS", "CAST(instr({1}, {0}) AS INTEGER)", INT)
# Characters that a call makes at most: a text of two billion is a mistake, and the end of the
# process.
_LONGEST = 10_000_000
_many = f"CAST({{1}} AS BIGINT) * length({{0}}) > {_LONGEST}"
_refusal = f"error('repeat() of more than {_LONGEST} characters')"
_none = "{1} < 0 AND {0} IS NOT NULL"
_text(
    "repeat",
    "SI",
    f"CASE WHEN {_many} THEN {_refusal} WHEN {{1}} >= 0 THEN repeat({{0}}, {{1}}) WHEN {_none} "
    "THEN '' END",
    STRING,
)
for _name in ("left", "right"):
    _text(
        _name,
        "SI",
        f"CASE WHEN {{1}} > 0 THEN {_name}({{0}}, {{1}}) WHEN {{1}} <= 0 AND {{0}} IS NOT NULL "
        "THEN '' END",
        STRING,
    )
_text("md5", "V", "md5({0})", STRING)
_text("sha sha1", "V", "sha1({0})", STRING)
_text("ascii", "S", "CAST(ascii({0}) AS INTEGER)", INT)
_text("hex", "V", "hex({0})", STRING)
_text(
    "levenshtein",
    "SS",
    "CASE WHEN length({0}) = strlen({0}) AND length({1}) = strlen({1}) THEN "
    "CAST(levenshtein({0}, {1}) AS INTEGER) ELSE error('levenshtein() of a text that is not "
    "ASCII') END",
    INT,
)
_text("translate", "SSS", "translate({0}, {1}, {2})", STRING)


def _substring(g: Sequence[Made]) -> Made:
    text, start = g[0].sql, g[1].sql
    length = g[2].sql if len(g) > 2 else "2147483647"
    if isinstance(g[1].literal, int) and g[1].literal > 0:
        return _any(g, f"substring({text}, {start}, greatest({length}, 0))", STRING)
    size = f"CAST(length({text}) AS BIGINT)"
    begin = (
        f"(CASE WHEN {start} > 0 THEN CAST({start} AS BIGINT) - 1 WHEN {start} < 0 THEN {size} + "
        f"{start} ELSE 0 END)"
    )
    low, high = f"greatest({begin}, 0)", f"({begin} + {length})"
    if len(g) == 2:
        high = size
    cut = f"substring({text}, {low} + 1, greatest({high} - {low}, 0))"
    return _any(
        g,
        f"(CASE WHEN {text} IS NULL OR {start} IS NULL OR {length} IS NULL THEN NULL WHEN {start} "
        f"= -2147483648 THEN error('substring() from the least of all numbers') ELSE {cut} END)",
        STRING,
    )


_add("substring substr", "SI SII", _substring)


def _padded(name: str) -> Builder:
    def build(g: Sequence[Made]) -> Made:
        pad = g[2].sql if len(g) > 2 else "' '"
        text, size = g[0].sql, f"greatest({g[1].sql}, 0)"
        made = (
            f"(CASE WHEN {g[1].sql} > {_LONGEST} THEN error('{name}() to more than {_LONGEST} "
            "characters') "
            f"WHEN {pad} = '' THEN substring({text}, 1, {size}) ELSE {name}({text}, {size}, {pad}) "
            "END)"
        )
        nulls = " OR ".join(f"{x.sql} IS NULL" for x in g)
        return _any(g, f"(CASE WHEN {nulls} THEN NULL ELSE {made} END)", STRING, True)

    return build


_add("lpad", "SI SIS", _padded("lpad"))
_add("rpad", "SI SIS", _padded("rpad"))


def _sha2(g: Sequence[Made]) -> Made | str:
    if g[1].literal not in (0, 256):
        return "has other bits than 256"
    return _any(g, f"sha256({g[0].sql})", STRING)


_add("sha2", "Vi", _sha2)


def rlike(g: Sequence[Made]) -> Made | str:
    made = patterns.re2(str(g[1].literal))
    if made is None:
        return _PATTERN
    text = g[0].sql
    found = f"regexp_matches({text}, {quoted(made)})"
    if "$" not in made:
        return _any(g, found, BOOLEAN)
    return _any(g, _at_line_ends(text, found), BOOLEAN, True)


def _at_line_ends(text: str, sql: str) -> str:
    ends = f"regexp_matches({text}, '[{patterns.ENDS}]\\z')"
    return (
        f"(CASE WHEN {ends} THEN error('a pattern with $ on a text that ends a line') ELSE {sql} "
        "END)"
    )


_PATTERN = "has a pattern that Java may read otherwise than the RE2 of DuckDB"
_add("rlike regexp regexp_like", "Ss", rlike)


def _regexp_replace(g: Sequence[Made]) -> Made | str:
    pattern = str(g[1].literal)
    made = patterns.re2(pattern)
    if made is None or patterns.matches_nothing(pattern) or "^" in pattern.replace("[^", ""):
        return _PATTERN
    put = patterns.replacement(str(g[2].literal), patterns.groups_of(pattern))
    if put is None:
        return "has a replacement that names no group of the pattern"
    text = g[0].sql
    sql = f"regexp_replace({text}, {quoted(made)}, {quoted(put)}, 'g')"
    if "$" not in made:
        return _any(g, sql, STRING)
    return _any(g, _at_line_ends(text, sql), STRING, True)


_add("regexp_replace", "Sss", _regexp_replace)


# --- null and choice ------------------------------------------------------------------------------
_text("isnull", "X", "{0} IS NULL", BOOLEAN)
_text("isnotnull", "X", "{0} IS NOT NULL", BOOLEAN)
_text("isnan", "D", "coalesce(isnan({0}), FALSE)", BOOLEAN)
_text("nanvl", "DD", "CASE WHEN isnan({0}) THEN {1} ELSE {0} END", DOUBLE)
_text("equal_null", "CC", "{0} IS NOT DISTINCT FROM {1}", BOOLEAN)


def _named(name: str) -> Builder:
    return lambda g: _any(g, f"{name}({', '.join(x.sql for x in g)})", g[0].kind)


_add("coalesce", "C*", _named("coalesce"))
_add("nvl ifnull", "CC", _named("coalesce"))
_add("greatest", "CC*", _named("greatest"))
_add("least", "CC*", _named("least"))
_add(
    "nvl2",
    "XCC",
    lambda g: _any(
        g, f"(CASE WHEN {g[0].sql} IS NOT NULL THEN {g[1].sql} ELSE {g[2].sql} END)", g[1].kind
    ),
)
_add(
    "nullif",
    "CC",
    lambda g: _any(
        g, f"(CASE WHEN {g[0].sql} = {g[1].sql} THEN NULL ELSE {g[0].sql} END)", g[0].kind
    ),
)
_add(
    "if iff",
    "BCC",
    lambda g: _any(g, f"(CASE WHEN {g[0].sql} THEN {g[1].sql} ELSE {g[2].sql} END)", g[1].kind),
)
del FUNCTIONS["iff"]

# --- numbers --------------------------------------------------------------------------------------
_add("abs", "N", lambda g: _any(g, f"abs({g[0].sql})", g[0].kind, True))
_add("negative", "N", lambda g: _any(g, f"(- {g[0].sql})", g[0].kind, True))
_add("positive", "N", lambda g: g[0])
_text(
    "sign signum",
    "D",
    "CASE WHEN {0} = 0 OR isnan({0}) THEN {0} ELSE CAST(sign({0}) AS DOUBLE) END",
    DOUBLE,
)
_text("sqrt", "D", "CASE WHEN {0} < 0 THEN CAST('NaN' AS DOUBLE) ELSE sqrt({0}) END", DOUBLE)
_text("degrees", "D", "degrees({0})", DOUBLE, exact=False)
_text("radians", "D", "radians({0})", DOUBLE, exact=False)
_text("exp", "D", "exp({0})", DOUBLE, exact=False)
for _name in ("ln", "log10", "log2"):
    _text(_name, "D", f"CASE WHEN {{0}} > 0 THEN {_name}({{0}}) END", DOUBLE, exact=False)
_text("power pow", "DD", "pow({0}, {1})", DOUBLE, exact=False)


def modulo(g: Sequence[Made]) -> Made:
    """The sign is that of the first."""
    return _any(g, not_zero(g[0], g[1], f"{g[0].sql} % {g[1].sql}"), g[0].kind, True)


def _pmod(g: Sequence[Made]) -> Made:
    a, b = g[0].sql, g[1].sql
    first = f"({a} % {b})"
    made = f"CASE WHEN {first} < 0 THEN ({first} + {b}) % {b} ELSE {first} END"
    return _any(g, not_zero(g[0], g[1], made), g[0].kind, True)


_add("mod", "NN", modulo)
_add("pmod", "WW", _pmod)


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
            return _any(g, f"(CASE WHEN {odd} THEN {value} ELSE {zero} END)", kind, True)
        if not places >= 0:
            return "rounds a decimal to tens"
        if places >= kind.scale:
            return g[0]
        digits = min(MOST_DIGITS, kind.precision - kind.scale + places + 1)
        made = _rounded_decimal(value, places, kind.scale, even)
        to = decimal(digits, places)
        return _any(g, f"CAST({made} AS {duckdb_name(to)})", to, True)

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


_add("round", "N Mi", _rounded(False))
_add("bround", "N Mi", _rounded(True))


def _whole_number(name: str) -> Builder:
    def build(g: Sequence[Made]) -> Made | str:
        kind = g[0].kind
        if kind in WHOLE:
            return _any(g, f"CAST({g[0].sql} AS BIGINT)", BIGINT)
        if is_fractional(kind):
            return _any(g, f"CAST({name}({g[0].sql}) AS BIGINT)", BIGINT, True)
        if kind is None or not is_decimal(kind):
            return "is of no number"
        to = decimal(min(MOST_DIGITS, kind.precision - kind.scale + 1), 0)
        return _any(g, f"CAST({name}({g[0].sql}) AS {duckdb_name(to)})", to, True)

    return build


_add("ceil ceiling", "N", _whole_number("ceil"))
_add("floor", "N", _whole_number("floor"))

# --- dates and times ------------------------------------------------------------------------------
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
    _text(_names, "T", f"CAST({_part} AS INTEGER)", INT)
for _name in ("hour", "minute", "second"):
    _text(_name, "Z", f"CAST({_name}(CAST({{0}} AS TIMESTAMP)) AS INTEGER)", INT)
_text("last_day", "T", "last_day({0})", DATE)
_text("date_add dateadd", "TI", "CAST({0} + {1} AS DATE)", DATE)
_text("date_sub", "TI", "CAST({0} - {1} AS DATE)", DATE)
_text("datediff date_diff", "TT", "CAST({0} - {1} AS INTEGER)", INT)
_text("add_months", "TI", "CAST({0} + to_months({1}) AS DATE)", DATE)
_text("make_date", "III", "make_date({0}, {1}, {2})", DATE)
_text("unix_date", "E", "CAST({0} - DATE '1970-01-01' AS INTEGER)", INT)
_text("date_from_unix_date", "I", "CAST(DATE '1970-01-01' + {0} AS DATE)", DATE)
# These cut off what cast(... AS BIGINT) and unix_seconds round down.
_text(
    "unix_timestamp to_unix_timestamp", "Z", "epoch_us(CAST({0} AS TIMESTAMP)) // 1000000", BIGINT
)
for _name, _unit in {"unix_seconds": 1_000_000, "unix_millis": 1000, "unix_micros": 1}.items():
    _add(_name, "Q", lambda g, unit=_unit: _any(g, seconds(g[0].sql, unit), BIGINT))  # type: ignore[misc]
for _name, _unit in {
    "timestamp_seconds": 1_000_000,
    "timestamp_millis": 1000,
    "timestamp_micros": 1,
}.items():
    _text(
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
    _add(_name, _signatures, lambda g, kind=_kind: cast(g[0], kind) or _NO)  # type: ignore[misc]
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
    return _any(g, f"CAST(date_trunc('{unit}', {g[0].sql}) AS DATE)", DATE)


def _date_trunc(g: Sequence[Made]) -> Made | str:
    unit = _unit_of(g[0], _CLOCK)
    if unit is None:
        return f"has the unit {g[0].literal!r}"
    of = f"date_trunc('{unit}', CAST({g[1].sql} AS TIMESTAMP))"
    return _any(g, f"CAST({of} AS TIMESTAMPTZ)", TIMESTAMP)


_add("trunc", "Ts", _trunc)
_add("date_trunc", "sZ", _date_trunc)


def _date_format(g: Sequence[Made]) -> Made | str:
    made = patterns.date_format(str(g[1].literal))
    if made is None:
        return f"has the format {g[1].literal!r}"
    of = f"CAST({g[0].sql} AS TIMESTAMP)"
    refused = "error('date_format() of a year before 1 or after 9999')"
    text = f"strftime({of}, {quoted(made)})"
    return _any(
        g,
        f"(CASE WHEN year({of}) NOT BETWEEN 1 AND 9999 THEN {refused} ELSE {text} END)",
        STRING,
        True,
    )


_add("date_format", "Zs", _date_format)
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


_add("date_part datepart", "sZ", _date_part)


# --- nested values --------------------------------------------------------------------------------
def _array(g: Sequence[Made]) -> Made | str:
    kind = g[0].kind if g else NULL
    return (
        "has no type"
        if kind is None
        else _any(g, f"[{', '.join(x.sql for x in g)}]", pa.list_(kind))
    )


def _named_struct(g: Sequence[Made]) -> Made | str:
    names, values = [x.literal for x in g[::2]], g[1::2]
    if len(names) != len(values) or not all(isinstance(n, str) for n in names):
        return "takes a text with the name of a field, then its value"
    if any(v.kind is None for v in values):
        return "has a value whose type is not known"
    fields = [f"{quoted(str(n))}: {v.sql}" for n, v in zip(names, values, strict=True)]
    kind = pa.struct([(str(n), v.kind) for n, v in zip(names, values, strict=True)])
    return _any(g, f"{{{', '.join(fields)}}}", kind)


_add("array", "0 C*", _array)
_add("named_struct", "sX*", _named_struct)
_text("size cardinality", "A", "CAST(len({0}) AS INTEGER)", INT)


# --- of many rows, and of the rows around one -----------------------------------------------------
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
    if is_decimal(kind):
        return decimal(min(MOST_DIGITS, kind.precision + 10), kind.scale)  # type: ignore[union-attr]
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


# --- variants -----------------------------------------------------------------------------------
def _variant_get(given: Sequence[Made], tried: bool) -> Made | str:
    of, path = given[0], str(given[1].literal)
    steps = steps_of(path)
    if not is_variant(of.kind):
        return f"takes a VARIANT, not {spark_name(of.kind)}"
    if steps is None:
        return f"takes a path such as $.a[0], not {path}"
    found = extracted(of, steps)
    if len(given) == 2:
        return found
    kind = kind_named(str(given[2].literal))
    made = None if kind is None else cast(found, kind, tried)
    return f"does not give {given[2].literal}" if made is None else made


def _parse_json(given: Sequence[Made]) -> Made | str:
    if is_variant(given[0].kind):  # text of a source, which is read as the column's type
        return given[0]
    if given[0].kind not in (STRING, NULL):
        return f"takes text, not {spark_name(given[0].kind)}"
    made = _any(given, f"CAST(CAST({given[0].sql} AS JSON) AS VARIANT)", VARIANT, True)
    return evolve(made, json=given[0].sql)


def _to_json(given: Sequence[Made]) -> Made | str:
    if not is_variant(given[0].kind):
        return f"takes a VARIANT, not {spark_name(given[0].kind)}"
    return _any(given, f"CAST(CAST({given[0].sql} AS JSON) AS VARCHAR)", STRING, True)


_add("variant_get", "Xs Xss", lambda g: _variant_get(g, False))
_add("try_variant_get", "Xs Xss", lambda g: _variant_get(g, True))
_add("parse_json", "X", _parse_json)
_add("to_json", "X", _to_json)

__all__ = ["AGGREGATES", "FUNCTIONS", "WINDOWS", "Function", "common"]
