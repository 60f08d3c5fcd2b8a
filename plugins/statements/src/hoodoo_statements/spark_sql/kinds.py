"""Kinds: the type of each part of an expression, as Spark has it. A kind is a pyarrow type; None is
a type that is not known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from attrs import frozen
from hoodoo.model.schema import logical
from sqlglot import exp
from sqlglot.errors import SqlglotError

NULL, BOOLEAN, STRING, BINARY, DATE = (pa.null(), pa.bool_(), pa.string(), pa.binary(), pa.date32())
TINYINT, SMALLINT, INT, BIGINT = pa.int8(), pa.int16(), pa.int32(), pa.int64()
FLOAT, DOUBLE = pa.float32(), pa.float64()
TIMESTAMP, TIMESTAMP_NTZ = pa.timestamp("us", "UTC"), pa.timestamp("us")
WHOLE = (TINYINT, SMALLINT, INT, BIGINT)
_DIGITS = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 20}  # of a decimal that holds all values
MOST_DIGITS = 38
# As the tables have it (hoodoo-variant). It is equal to a struct of two binaries: ask is_variant.
_MARK = {logical.MARK: "VARIANT"}
VARIANT = pa.struct([pa.field("metadata", BINARY, metadata=_MARK), ("value", BINARY)])
NAMES = {
    BOOLEAN: "BOOLEAN",
    TINYINT: "TINYINT",
    SMALLINT: "SMALLINT",
    INT: "INTEGER",
    BIGINT: "BIGINT",
    FLOAT: "FLOAT",
    DOUBLE: "DOUBLE",
    STRING: "VARCHAR",
    BINARY: "BLOB",
    DATE: "DATE",
    TIMESTAMP: "TIMESTAMPTZ",
    TIMESTAMP_NTZ: "TIMESTAMP",
}
_SPARK = {
    "BOOLEAN": BOOLEAN,
    "TINYINT": TINYINT,
    "SMALLINT": SMALLINT,
    "INT": INT,
    "BIGINT": BIGINT,
    "FLOAT": FLOAT,
    "DOUBLE": DOUBLE,
    "TEXT": STRING,
    "VARCHAR": STRING,
    "BINARY": BINARY,
    "VARBINARY": BINARY,
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMPTZ": TIMESTAMP,
    "TIMESTAMPLTZ": TIMESTAMP,
    "TIMESTAMPNTZ": TIMESTAMP_NTZ,
}


class Refused(Exception):
    """``why``: what of the text is not computed; ``fix``: what to write."""

    def __init__(self, why: str, fix: str) -> None:
        super().__init__(why)
        self.why, self.fix = why, fix


@frozen
class Made:
    """``sql``: text for DuckDB. ``raises``: whether it may be an error of some row, so that it must
    not be computed of rows for which Spark would not compute it. ``literal``: the value of a text
    or a whole number in the statement."""

    sql: str
    kind: pa.DataType | None
    raises: bool = False
    literal: str | int | None = None
    bare: str = ""  # of a product: text for DuckDB without the cast to more bits
    json: str = ""  # of a variant: text for DuckDB of the JSON that it is made of


def result_fits(sign: str, a: Made, b: Made) -> bool:
    """Whether both are whole numbers of the text, and what comes out is an INT."""
    if not isinstance(a.literal, int) or not isinstance(b.literal, int):
        return False
    found = {"+": a.literal + b.literal, "-": a.literal - b.literal, "*": a.literal * b.literal}
    return sign in found and abs(found[sign]) < 1 << 31


def decimal(precision: int, scale: int) -> pa.DataType:
    return pa.decimal128(precision, scale)


def kind_of(given: pa.DataType) -> pa.DataType | None:
    """What Spark has for values of the Arrow type ``given``; None for a type that it lacks."""
    t = pa.types
    if is_variant(given):
        return VARIANT
    if given in NAMES or t.is_null(given):
        return given
    if t.is_decimal(given):
        return decimal(given.precision, given.scale) if given.scale >= 0 else None
    if t.is_large_string(given) or t.is_string_view(given):
        return STRING
    if t.is_large_binary(given) or t.is_binary_view(given) or t.is_fixed_size_binary(given):
        return BINARY
    if t.is_timestamp(given):
        return TIMESTAMP_NTZ if given.tz is None else TIMESTAMP
    if t.is_dictionary(given):
        return kind_of(given.value_type)
    if t.is_list(given) or t.is_large_list(given):
        return _nested([given.value_type], lambda inner: pa.list_(*inner))
    if t.is_map(given):
        return _nested([given.key_type, given.item_type], lambda inner: pa.map_(*inner))
    if t.is_struct(given):
        names = [field.name for field in given]
        return _nested(
            [field.type for field in given],
            lambda inner: pa.struct(list(zip(names, inner, strict=True))),
        )
    return None


def _nested(
    inner: list[pa.DataType], made: Callable[[list[pa.DataType]], pa.DataType]
) -> pa.DataType | None:
    known = [kind_of(one) for one in inner]
    whole = [one for one in known if one is not None]
    return made(whole) if len(whole) == len(inner) else None


def kind_written(tree: Any) -> pa.DataType | None:
    """The type that sqlglot has read; None for one that Spark or Hoodoo lacks."""
    name = getattr(tree.this, "name", str(tree.this))
    if name == "VARIANT":
        return VARIANT
    inner = list(tree.expressions)
    if name == "DECIMAL":
        digits = [int(part.name) for part in inner] or [10, 0]
        digits += [0] if len(digits) == 1 else []
        return decimal(*digits) if 0 < digits[0] <= MOST_DIGITS >= digits[1] >= 0 else None
    if name in ("VARCHAR", "CHAR", "NCHAR") and inner:
        return None  # Spark cuts and pads by the length
    return _SPARK.get(name)


def kind_named(text: str) -> pa.DataType | None:
    """The type that ``text`` names, such as decimal(9, 2)."""
    try:
        return kind_written(exp.DataType.build(text, dialect="spark"))
    except SqlglotError:
        return None


def duckdb_name(kind: pa.DataType) -> str:
    """What DuckDB calls ``kind``."""
    t = pa.types
    if is_variant(kind):
        return "VARIANT"
    if t.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if t.is_list(kind):
        return f"{duckdb_name(kind.value_type)}[]"
    if t.is_map(kind):
        return f"MAP({duckdb_name(kind.key_type)}, {duckdb_name(kind.item_type)})"
    if t.is_struct(kind):
        quoted = [f'"{f.name.replace(chr(34), chr(34) * 2)}"' for f in kind]
        fields = [f"{n} {duckdb_name(f.type)}" for n, f in zip(quoted, kind, strict=True)]
        return f"STRUCT({', '.join(fields)})"
    return NAMES.get(kind, '"NULL"')


def spark_name(kind: pa.DataType | None) -> str:
    """What people call ``kind``."""
    if kind is None:
        return "a type that is not known here"
    if is_variant(kind):
        return "VARIANT"
    named = {
        STRING: "STRING",
        INT: "INT",
        BINARY: "BINARY",
        TIMESTAMP: "TIMESTAMP",
        TIMESTAMP_NTZ: "TIMESTAMP_NTZ",
        NULL: "NULL",
    }
    return named.get(kind) or (str(kind).upper() if pa.types.is_nested(kind) else duckdb_name(kind))


def is_variant(kind: pa.DataType | None) -> bool:
    if isinstance(kind, pa.BaseExtensionType):
        return bool(kind.extension_name == "arrow.parquet.variant")
    return kind is not None and logical.text_of(kind) == "VARIANT"


def is_fractional(kind: pa.DataType | None) -> bool:
    return kind in (FLOAT, DOUBLE)


def is_number(kind: pa.DataType | None) -> bool:
    return kind is not None and (kind in WHOLE or is_fractional(kind) or pa.types.is_decimal(kind))


def is_decimal(kind: pa.DataType | None) -> bool:
    return kind is not None and pa.types.is_decimal(kind)


def is_plain(kind: pa.DataType | None) -> bool:
    """Whether the type is not nested."""
    return kind is not None and not pa.types.is_nested(kind)


def digits_of(kind: pa.DataType, literal: str | int | None = None) -> pa.DataType:
    """A number's decimal: of a whole literal, as many digits as it has."""
    if pa.types.is_decimal(kind):
        return kind
    if isinstance(literal, int):
        return decimal(len(str(abs(literal))), 0)
    return decimal(_DIGITS[kind], 0)


def common(a: pa.DataType | None, b: pa.DataType | None) -> pa.DataType | None:
    """The type that Spark's ANSI mode gives values of both; None: it refuses them, or it is not
    known."""
    if a == b or b == NULL:
        return a
    if a == NULL:
        return b
    if a is None or b is None:
        return None
    if a in WHOLE and b in WHOLE:
        return WHOLE[max(WHOLE.index(a), WHOLE.index(b))]
    if is_number(a) and is_number(b):
        if is_fractional(a) or is_fractional(b):
            return DOUBLE  # of a float and a whole number, too
        one, other = digits_of(a), digits_of(b)
        scale = max(one.scale, other.scale)
        whole = max(one.precision - one.scale, other.precision - other.scale)
        return decimal(whole + scale, scale) if whole + scale <= MOST_DIGITS else None
    if pa.types.is_list(a) and pa.types.is_list(b) and NULL in (a.value_type, b.value_type):
        return b if a.value_type == NULL else a  # array() is of any type
    times = (DATE, TIMESTAMP_NTZ, TIMESTAMP)
    if a in times and b in times:
        return times[max(times.index(a), times.index(b))]
    return None


def compared(a: pa.DataType | None, b: pa.DataType | None) -> pa.DataType | None:
    """The type that Spark's ANSI mode compares values of both as."""
    found = common(a, b)
    if found is not None:
        return found
    if is_decimal(a) and is_decimal(b):  # of too many digits together: Spark 4 rounds both
        whole = max(one.precision - one.scale for one in (a, b))  # type: ignore[union-attr]
        return decimal(MOST_DIGITS, MOST_DIGITS - whole)
    for one, other in ((a, b), (b, a)):
        if one == STRING and other is not None:
            if other in WHOLE:
                return BIGINT
            if is_number(other):
                return DOUBLE
            if other in (DATE, TIMESTAMP, TIMESTAMP_NTZ, BOOLEAN):
                return other
    return None
