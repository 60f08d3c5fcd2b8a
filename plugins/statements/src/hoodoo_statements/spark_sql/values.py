"""Functions that choose between values, and those of nested values and variants."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from attrs import evolve

from hoodoo_statements.spark_sql.casts import cast
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
    DOUBLE,
    INT,
    NULL,
    STRING,
    VARIANT,
    Made,
    is_variant,
    kind_named,
    spark_name,
)
from hoodoo_statements.spark_sql.variants import extracted
from hoodoo_statements.text.paths import steps_of

add_sql("isnull", "X", "{0} IS NULL", BOOLEAN)
add_sql("isnotnull", "X", "{0} IS NOT NULL", BOOLEAN)
add_sql("isnan", "D", "coalesce(isnan({0}), FALSE)", BOOLEAN)
add_sql("nanvl", "DD", "CASE WHEN isnan({0}) THEN {1} ELSE {0} END", DOUBLE)
add_sql("equal_null", "CC", "{0} IS NOT DISTINCT FROM {1}", BOOLEAN)


def _named(name: str) -> Builder:
    return lambda g: computed(g, f"{name}({', '.join(x.sql for x in g)})", g[0].kind)


add("coalesce", "C*", _named("coalesce"))
add("nvl ifnull", "CC", _named("coalesce"))
add("greatest", "CC*", _named("greatest"))
add("least", "CC*", _named("least"))
add(
    "nvl2",
    "XCC",
    lambda g: computed(
        g, f"(CASE WHEN {g[0].sql} IS NOT NULL THEN {g[1].sql} ELSE {g[2].sql} END)", g[1].kind
    ),
)
add(
    "nullif",
    "CC",
    lambda g: computed(
        g, f"(CASE WHEN {g[0].sql} = {g[1].sql} THEN NULL ELSE {g[0].sql} END)", g[0].kind
    ),
)
add(
    "if iff",
    "BCC",
    lambda g: computed(g, f"(CASE WHEN {g[0].sql} THEN {g[1].sql} ELSE {g[2].sql} END)", g[1].kind),
)
del FUNCTIONS["iff"]


# --- nested values ---
def _array(g: Sequence[Made]) -> Made | str:
    kind = g[0].kind if g else NULL
    return (
        "has no type"
        if kind is None
        else computed(g, f"[{', '.join(x.sql for x in g)}]", pa.list_(kind))
    )


def _named_struct(g: Sequence[Made]) -> Made | str:
    names, values = [x.literal for x in g[::2]], g[1::2]
    if len(names) != len(values) or not all(isinstance(n, str) for n in names):
        return "takes a text with the name of a field, then its value"
    if any(v.kind is None for v in values):
        return "has a value whose type is not known"
    fields = [f"{quoted(str(n))}: {v.sql}" for n, v in zip(names, values, strict=True)]
    kind = pa.struct([(str(n), v.kind) for n, v in zip(names, values, strict=True)])
    return computed(g, f"{{{', '.join(fields)}}}", kind)


add("array", "0 C*", _array)
add("named_struct", "sX*", _named_struct)
add_sql("size cardinality", "A", "CAST(len({0}) AS INTEGER)", INT)


# --- variants ---
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
    made = computed(given, f"CAST(CAST({given[0].sql} AS JSON) AS VARIANT)", VARIANT, True)
    return evolve(made, json=given[0].sql)


def _to_json(given: Sequence[Made]) -> Made | str:
    if not is_variant(given[0].kind):
        return f"takes a VARIANT, not {spark_name(given[0].kind)}"
    return computed(given, f"CAST(CAST({given[0].sql} AS JSON) AS VARCHAR)", STRING, True)


add("variant_get", "Xs Xss", lambda g: _variant_get(g, False))
add("try_variant_get", "Xs Xss", lambda g: _variant_get(g, True))
add("parse_json", "X", _parse_json)
add("to_json", "X", _to_json)
