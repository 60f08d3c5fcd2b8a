"""Spark types and Arrow types of the same values, independent of session settings.

PySpark's own conversion varies with the version, the session's zone and its preference for large
types; a stream's declared schema may not.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hoodoo.errors import SchemaError
from hoodoo.model.schema import logical
from hoodoo_rows.model.conform import is_list_like

# Spark's typeName -> Arrow. Timestamps are microseconds since the epoch in UTC on both sides.
_LEAVES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "tinyint": pa.int8(),
    "short": pa.int16(),
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "int": pa.int32(),
    "long": pa.int64(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "char": pa.string(),
    "varchar": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "time": pa.time64("us"),
    "void": pa.null(),
    "daytimeinterval": pa.duration("us"),
}

# As PySpark 4 gives and takes VariantType.
_VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"}),
    ]
)
# How Spark Hudi says in a column's metadata which logical type it has.
_MARK = logical.MARK.decode()


def frame_schema(df: Any) -> Any:
    """The ``StructType`` of a DataFrame; SchemaError where it has a type unknown to PySpark."""
    try:
        return df.schema
    except Exception as error:  # a ValueError of some kind, from parsing the JVM's answer
        raise SchemaError(
            "DataFrame",
            f"has a column of a type that this PySpark can't name: {error}",
            "Cast it in the DataFrame, for example to string.",
        ) from error


def arrow_schema(struct: Any) -> pa.Schema:
    """The Arrow schema of a Spark ``StructType``.

    Raises SchemaError naming the column for types that have no Arrow equal (calendar intervals),
    and for two columns of one name.
    """
    seen: set[str] = set()
    for field in struct.fields:
        if field.name in seen:
            raise SchemaError(
                f"column {field.name!r}", "is there twice.", "Rename or drop one of the two."
            )
        seen.add(field.name)
    return pa.schema([_arrow_field(field, field.name) for field in struct.fields])


def _arrow_field(field: Any, path: str) -> pa.Field:
    made = _field(field.name, _arrow(field.dataType, path), field.nullable)
    text = (field.metadata or {}).get(_MARK)
    return made if text is None else made.with_metadata({_MARK: str(text)})


def _field(name: str, kind: pa.DataType, nullable: bool) -> pa.Field:
    """Spark says of ``array()`` that it holds no nulls, and that its elements have no type but that
    of null."""
    tagged = pa.types.is_struct(kind) and kind.equals(_VARIANT, check_metadata=True)
    marks = {_MARK: "VARIANT"} if tagged else None
    return pa.field(name, kind, nullable or pa.types.is_null(kind), marks)


def _arrow(kind: Any, path: str) -> pa.DataType:
    name = kind.typeName().split("(")[0].split(" ")[0]
    if name == "decimal":
        return pa.decimal128(kind.precision, kind.scale)
    if name == "array":
        element = _field("element", _arrow(kind.elementType, f"{path}[]"), kind.containsNull)
        return pa.list_(element)
    if name == "map":
        value = _field("value", _arrow(kind.valueType, f"{path}{{}}"), kind.valueContainsNull)
        key = _arrow(kind.keyType, f"{path}{{key}}")
        if pa.types.is_null(key):  # of map(), which Arrow can't say
            raise SchemaError(
                f"column {path!r}",
                "has Spark's type map<void, ...>, which Arrow lacks.",
                "Give it a type: CAST(map() AS MAP<STRING, STRING>).",
            )
        return pa.map_(key, value)
    if name == "struct":
        return pa.struct([_arrow_field(f, f"{path}.{f.name}") for f in kind.fields])
    if hasattr(kind, "sqlType"):  # a user-defined type travels as what it is made of
        return _arrow(kind.sqlType(), path)
    if name == "variant" and any(mark in path for mark in "[{"):
        raise SchemaError(
            f"column {path!r}",
            "is a variant within a list or a map, and none is written there.",
            "Make the whole column a variant, or cast it to string in the DataFrame.",
        )
    found = _VARIANT if name == "variant" else _LEAVES.get(name)
    if found is None:
        raise SchemaError(
            f"column {path!r}",
            f"has Spark's type {kind.simpleString()}, which Arrow lacks.",
            "Cast it in the DataFrame, for example to string.",
        )
    return found


def spark_schema(schema: pa.Schema) -> Any:
    """The Spark ``StructType`` of an Arrow schema; SchemaError for types that Spark lacks."""
    from pyspark.sql.types import StructType

    return StructType([_spark_field(field, field.name) for field in schema])


def _spark_field(field: pa.Field, path: str) -> Any:
    from pyspark.sql.types import StructField

    text = "VARIANT" if _is_variant(field.type) else logical.text_of(field.type)
    marks = {_MARK: text} if text else None
    return StructField(field.name, _spark(field.type, path), field.nullable, marks)


def _spark(kind: pa.DataType, path: str) -> Any:
    from pyspark.sql import types as T

    if _is_variant(kind) and hasattr(T, "VariantType"):  # PySpark 3 has its two binaries
        return T.VariantType()
    if isinstance(kind, pa.BaseExtensionType):
        return _spark(kind.storage_type, path)
    if pa.types.is_decimal128(kind):
        return T.DecimalType(kind.precision, kind.scale)
    if pa.types.is_dictionary(kind):
        return _spark(kind.value_type, path)
    if is_list_like(kind):
        element = kind.value_field
        return T.ArrayType(_spark(element.type, f"{path}[]"), element.nullable)
    if pa.types.is_map(kind):
        key, value = kind.key_type, kind.item_field
        return T.MapType(
            _spark(key, f"{path}{{key}}"), _spark(value.type, f"{path}{{}}"), value.nullable
        )
    if pa.types.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        return T.StructType([_spark_field(f, f"{path}.{f.name}") for f in fields])
    if pa.types.is_timestamp(kind):
        return T.TimestampType() if kind.tz else T.TimestampNTZType()
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return T.StringType()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return T.BinaryType()
    if pa.types.is_fixed_size_binary(kind):
        return T.BinaryType()
    if pa.types.is_time(kind) and hasattr(T, "TimeType"):
        return T.TimeType(3 if kind.unit == "ms" else 6)
    plain = {
        pa.bool_(): T.BooleanType,
        pa.int8(): T.ByteType,
        pa.int16(): T.ShortType,
        pa.int32(): T.IntegerType,
        pa.int64(): T.LongType,
        pa.float32(): T.FloatType,
        pa.float64(): T.DoubleType,
        pa.string(): T.StringType,
        pa.binary(): T.BinaryType,
        pa.date32(): T.DateType,
        pa.duration("us"): T.DayTimeIntervalType,
        pa.null(): T.NullType,
    }
    if kind not in plain:
        raise SchemaError(
            f"column {path!r}",
            f"has type {kind}, which this version of Spark lacks.",
            "Read it without Spark, or leave the column out.",
        )
    return plain[kind]()


def task_schema(struct: Any) -> pa.Schema:
    """The Arrow schema that Spark wants of tasks for ``struct``."""
    from pyspark.sql.pandas.types import to_arrow_schema

    try:
        return to_arrow_schema(struct, timezone="UTC")
    except TypeError:  # of PySpark 4.0 and 4.1
        return to_arrow_schema(struct)


def _is_variant(kind: pa.DataType) -> bool:
    stored = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    return logical.text_of(stored) == "VARIANT"


def is_not_native(kind: pa.DataType) -> bool:
    """Times of day, a type that Spark's reader has learned late, and not for every unit; variants,
    the same; and lists of a fixed size, which files store as bytes."""
    if pa.types.is_fixed_size_list(kind) or _is_variant(kind):
        return True
    if pa.types.is_nested(kind):
        return any(is_not_native(kind.field(i).type) for i in range(kind.num_fields))
    return bool(pa.types.is_time(kind))


def has_other_form(kind: pa.DataType) -> bool:
    """Times in another unit than tasks give Spark, variants, and lists of a fixed size."""
    if pa.types.is_fixed_size_list(kind) or _is_variant(kind):
        return True
    if pa.types.is_nested(kind):
        return any(has_other_form(kind.field(i).type) for i in range(kind.num_fields))
    return bool(pa.types.is_time(kind)) or (pa.types.is_timestamp(kind) and kind.unit != "us")
