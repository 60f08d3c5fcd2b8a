"""Functions of texts."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from hoodoo_statements.spark_sql import patterns
from hoodoo_statements.spark_sql.function import (
    FUNCTIONS,
    Builder,
    add,
    add_sql,
    computed,
    quoted,
)
from hoodoo_statements.spark_sql.kinds import (
    BOOLEAN,
    INT,
    STRING,
    Made,
)


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


add("upper ucase", "S", lambda g: computed(g, upper(g[0].sql), STRING))
add("lower lcase", "S", lambda g: computed(g, lower(g[0].sql), STRING, True))
add_sql("length char_length character_length len", "S", "CAST(length({0}) AS INTEGER)", INT)
add_sql("octet_length", "S", "CAST(strlen({0}) AS INTEGER)", INT)
add_sql("octet_length_binary", "Y", "CAST(octet_length({0}) AS INTEGER)", INT)
del FUNCTIONS["octet_length_binary"]
add_sql("trim btrim", "S", "trim({0}, ' ')", STRING)
add_sql("ltrim", "S", "ltrim({0}, ' ')", STRING)
add_sql("rtrim", "S", "rtrim({0}, ' ')", STRING)
add("concat", "S*", lambda g: computed(g, f"({' || '.join(x.sql for x in g)})", STRING))
add(
    "concat_ws",
    "SS*",
    lambda g: computed(g, f"concat_ws({', '.join(x.sql for x in g)})", STRING),
)
add_sql("replace", "SSS", "replace({0}, {1}, {2})", STRING)
add_sql("startswith", "SS", "starts_with({0}, {1})", BOOLEAN)
add_sql("endswith", "SS", "suffix({0}, {1})", BOOLEAN)
add_sql("contains", "SS", "contains({0}, {1})", BOOLEAN)
add_sql("instr", "SS", "CAST(instr({0}, {1}) AS INTEGER)", INT)
add_sql("locate position", "SS", "CAST(instr({1}, {0}) AS INTEGER)", INT)
# Characters that a call makes at most: a text of two billion is a mistake, and the end of the
# process.
_LONGEST = 10_000_000
_many = f"CAST({{1}} AS BIGINT) * length({{0}}) > {_LONGEST}"
_refusal = f"error('repeat() of more than {_LONGEST} characters')"
_none = "{1} < 0 AND {0} IS NOT NULL"
add_sql(
    "repeat",
    "SI",
    f"CASE WHEN {_many} THEN {_refusal} WHEN {{1}} >= 0 THEN repeat({{0}}, {{1}}) WHEN {_none} "
    "THEN '' END",
    STRING,
)
for _name in ("left", "right"):
    add_sql(
        _name,
        "SI",
        f"CASE WHEN {{1}} > 0 THEN {_name}({{0}}, {{1}}) WHEN {{1}} <= 0 AND {{0}} IS NOT NULL "
        "THEN '' END",
        STRING,
    )
add_sql("md5", "V", "md5({0})", STRING)
add_sql("sha sha1", "V", "sha1({0})", STRING)
add_sql("ascii", "S", "CAST(ascii({0}) AS INTEGER)", INT)
add_sql("hex", "V", "hex({0})", STRING)
add_sql(
    "levenshtein",
    "SS",
    "CASE WHEN length({0}) = strlen({0}) AND length({1}) = strlen({1}) THEN "
    "CAST(levenshtein({0}, {1}) AS INTEGER) ELSE error('levenshtein() of a text that is not "
    "ASCII') END",
    INT,
)
add_sql("translate", "SSS", "translate({0}, {1}, {2})", STRING)


def _substring(g: Sequence[Made]) -> Made:
    text, start = g[0].sql, g[1].sql
    length = g[2].sql if len(g) > 2 else "2147483647"
    if isinstance(g[1].literal, int) and g[1].literal > 0:
        return computed(g, f"substring({text}, {start}, greatest({length}, 0))", STRING)
    size = f"CAST(length({text}) AS BIGINT)"
    begin = (
        f"(CASE WHEN {start} > 0 THEN CAST({start} AS BIGINT) - 1 WHEN {start} < 0 THEN {size} + "
        f"{start} ELSE 0 END)"
    )
    low, high = f"greatest({begin}, 0)", f"({begin} + {length})"
    if len(g) == 2:
        high = size
    cut = f"substring({text}, {low} + 1, greatest({high} - {low}, 0))"
    return computed(
        g,
        f"(CASE WHEN {text} IS NULL OR {start} IS NULL OR {length} IS NULL THEN NULL WHEN {start} "
        f"= -2147483648 THEN error('substring() from the least of all numbers') ELSE {cut} END)",
        STRING,
    )


add("substring substr", "SI SII", _substring)


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
        return computed(g, f"(CASE WHEN {nulls} THEN NULL ELSE {made} END)", STRING, True)

    return build


add("lpad", "SI SIS", _padded("lpad"))
add("rpad", "SI SIS", _padded("rpad"))


def _sha2(g: Sequence[Made]) -> Made | str:
    if g[1].literal not in (0, 256):
        return "has other bits than 256"
    return computed(g, f"sha256({g[0].sql})", STRING)


add("sha2", "Vi", _sha2)


def rlike(g: Sequence[Made]) -> Made | str:
    made = patterns.re2(str(g[1].literal))
    if made is None:
        return _PATTERN
    text = g[0].sql
    found = f"regexp_matches({text}, {quoted(made)})"
    if "$" not in made:
        return computed(g, found, BOOLEAN)
    return computed(g, _at_line_ends(text, found), BOOLEAN, True)


def _at_line_ends(text: str, sql: str) -> str:
    ends = f"regexp_matches({text}, '[{patterns.ENDS}]\\z')"
    return (
        f"(CASE WHEN {ends} THEN error('a pattern with $ on a text that ends a line') ELSE {sql} "
        "END)"
    )


_PATTERN = "has a pattern that Java may read otherwise than the RE2 of DuckDB"
add("rlike regexp regexp_like", "Ss", rlike)


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
        return computed(g, sql, STRING)
    return computed(g, _at_line_ends(text, sql), STRING, True)


add("regexp_replace", "Sss", _regexp_replace)
