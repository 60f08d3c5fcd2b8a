"""Columns: those of Arrow data as Spark has them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hoodoo.errors import SchemaError
from sqlglot import exp

from hoodoo_statements.spark_sql.casts import cast
from hoodoo_statements.spark_sql.kinds import (
    FLOAT,
    NAMES,
    STRING,
    Made,
    decimal,
    duckdb_name,
    is_variant,
    kind_of,
    spark_name,
)

_UNSIGNED = {8: pa.int16(), 16: pa.int32(), 32: pa.int64(), 64: decimal(20, 0)}


def known_column(sql: str, given: pa.DataType) -> Made:
    """The column ``sql`` of the Arrow type ``given``: as the nearest type that Spark has for all
    its values."""
    t = pa.types
    if t.is_unsigned_integer(given):
        kind: pa.DataType | None = _UNSIGNED[given.bit_width]
    elif t.is_float16(given):
        kind = FLOAT
    else:
        kind = kind_of(given)
    if (
        kind is None
        or kind == given
        or (kind in NAMES and t.is_string(kind) and not t.is_dictionary(given))
    ):
        return Made(sql, kind)
    return Made(f"CAST({sql} AS {duckdb_name(kind)})", kind)


def assigned(made: Made, to: pa.DataType, what: str) -> Made:
    """``made`` for a column of the type ``to``, as Spark assigns it; as it is where that is not
    known here. SchemaError for what Spark's ANSI store assignment refuses: a truth for a number, a
    time for a number, and the reverse. Unlike there, a text may stand for anything."""
    kind = kind_of(to)
    if kind is None or made.kind is None:
        return made
    if _family(made.kind) != _family(kind) and None not in (_family(made.kind), _family(kind)):
        name = spark_name(kind)
        raise SchemaError(
            what,
            f"is {spark_name(made.kind)}, and its column {name}: Spark assigns none to the other.",
            f"Cast it: CAST(... AS {name}).",
        )
    if is_variant(kind) and made.json:  # it is encoded when it is written, with all digits
        return Made(made.json, STRING, True)
    return cast(made, kind) or made


def _family(kind: pa.DataType) -> str | None:
    """Types whose values Spark assigns to each other; None for those distinguished later."""
    t = pa.types
    families = {
        "a truth": t.is_boolean,
        "a number": lambda one: t.is_integer(one) or t.is_floating(one) or t.is_decimal(one),
        "a time": lambda one: t.is_date(one) or t.is_timestamp(one),
    }
    return next((name for name, has in families.items() if has(kind)), None)


def compares_columns(made: Made, of: Any) -> bool:
    """Whether the condition ``of`` says that two columns are equal: what tables are joined by."""
    sides = (of.args.get("this"), of.args.get("expression"))
    return (
        isinstance(of, exp.EQ) and not made.raises and all(isinstance(s, exp.Column) for s in sides)
    )
