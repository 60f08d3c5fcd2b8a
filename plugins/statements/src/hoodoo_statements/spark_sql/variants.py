"""Variants: what is at a path within one, and what it is as another type, as Spark computes it.

DuckDB has the type, and reads Arrow's. Its casts differ from those of Spark, so that each value is
cast by the type that it has."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from hoodoo_statements.spark_sql.kinds import (
    BOOLEAN,
    DOUBLE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    WHOLE,
    Made,
    duckdb_name,
    is_number,
    is_variant,
)
from hoodoo_statements.text.paths import Step

Cast = Callable[[Made, pa.DataType, bool], "Made | None"]


def extracted(of: Made, steps: Sequence[Step]) -> Made:
    """What is there within the variant ``of``; null where there is nothing."""
    sql = of.sql
    for step in steps:
        place = f"{step + 1}::UINTEGER" if isinstance(step, int) else _quoted(step)
        sql = f"variant_extract({sql}, {place})"
    return Made(sql, VARIANT, of.raises)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def cast_variant(of: Made, to: pa.DataType, tried: bool, cast: Cast) -> Made | None:
    """The variant ``of`` as ``to``; what it is no ``to`` of is an error, with ``tried`` null."""
    if is_variant(to):
        return of
    if pa.types.is_nested(to) or pa.types.is_null(to):
        return None
    plain = f"{'TRY_CAST' if tried else 'CAST'}({of.sql} AS {duckdb_name(to)})"
    cases: dict[str, pa.DataType | str] = {"= 'VARCHAR'": STRING}
    if to == STRING:
        cases = {
            "LIKE 'OBJECT%'": f"CAST(CAST({of.sql} AS JSON) AS VARCHAR)",
            "LIKE 'ARRAY%'": f"CAST(CAST({of.sql} AS JSON) AS VARCHAR)",
            "IN ('DOUBLE', 'FLOAT')": DOUBLE,
            "LIKE 'TIMESTAMP%_TZ'": TIMESTAMP,
        }
    elif is_number(to) or to == BOOLEAN:
        cases["IN ('DOUBLE', 'FLOAT')"] = DOUBLE
        if to in WHOLE:
            cases["LIKE 'DECIMAL%'"] = pa.decimal128(38, 0)
    elif to in (TIMESTAMP, TIMESTAMP_NTZ):
        cases["LIKE 'TIMESTAMP%'"] = TIMESTAMP_NTZ if to == TIMESTAMP_NTZ else TIMESTAMP
    whens = []
    for condition, kind in cases.items():
        if isinstance(kind, str):
            whens.append(f"WHEN variant_typeof({of.sql}) {condition} THEN {kind}")
            continue
        if kind == pa.decimal128(38, 0):  # its digits before the point, whatever its scale is
            text = f"regexp_replace(CAST({of.sql} AS VARCHAR), '\\.[0-9]*$', '')"
            whens.append(
                f"WHEN variant_typeof({of.sql}) {condition} THEN "
                f"{'TRY_CAST' if tried else 'CAST'}({text} AS {duckdb_name(to)})"
            )
            continue
        made = cast(Made(f"CAST({of.sql} AS {duckdb_name(kind)})", kind), to, tried)
        if made is not None and kind != to:
            whens.append(f"WHEN variant_typeof({of.sql}) {condition} THEN {made.sql}")
    return Made(f"(CASE {' '.join(whens)} ELSE {plain} END)" if whens else plain, to, True)


def compared_variants(left: Made, right: Made, cast: Cast) -> tuple[Made, Made]:
    """Both sides of a comparison. Spark refuses one of a variant with a number, a text, a truth
    value or a time: here the variant is taken for that, and is null where it is not."""
    if left.kind is None or right.kind is None or is_variant(left.kind) == is_variant(right.kind):
        return left, right
    if is_variant(right.kind):
        other, one = compared_variants(right, left, cast)
        return one, other
    wanted = DOUBLE if is_number(right.kind) else right.kind
    made = cast_variant(left, wanted, True, cast)
    number = cast(right, wanted, False) if made is not None else None
    return (left, right) if made is None or number is None else (made, number)
