"""Types of columns as catalogs spell them: Hive's texts, and the JSON of Spark's schemas."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hoodoo.errors import SchemaError

_HIVE = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): "date",
}
_SPARK = {
    "tinyint": "byte",
    "smallint": "short",
    "int": "integer",
    "bigint": "long",
}


def hive_type(kind: pa.DataType, timestamps: bool) -> str:
    """The type as text. ``timestamps``: Hive's own type is used for them, not ``bigint``, as Hudi's
    sync tools do unless ``hoodie.datasource.hive_sync.support_timestamp`` is true. SchemaError for
    a type without a counterpart."""
    if kind in _HIVE:
        return _HIVE[kind]
    if _is_text(kind):
        return "string"
    if _is_bytes(kind):
        return "binary"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp" if timestamps else "bigint"
    if pa.types.is_time(kind):
        return "bigint" if kind.bit_width == 64 else "int"
    if _is_list(kind):
        return f"array<{hive_type(kind.value_type, timestamps)}>"
    if pa.types.is_map(kind):
        key, item = (hive_type(one, timestamps) for one in (kind.key_type, kind.item_type))
        return f"map<{key},{item}>"
    if pa.types.is_struct(kind):
        inner = (f"{f.name}:{hive_type(f.type, timestamps)}" for f in kind)
        return f"struct<{','.join(inner)}>"
    raise SchemaError(
        f"type {kind}",
        "has no counterpart in Hive's types, so a catalog cannot have the column.",
        "Store another type, or leave the table out of the catalog.",
    )


def spark_field(field: pa.Field) -> dict[str, Any]:
    """A column in the JSON of a Spark schema."""
    return {
        "name": field.name,
        "type": _spark_type(field.type),
        "nullable": field.nullable,
        "metadata": {},
    }


def _spark_type(kind: pa.DataType) -> Any:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        item = kind.value_field
        found = {"type": "array", "elementType": _spark_type(item.type)}
        return {**found, "containsNull": item.nullable}
    if pa.types.is_map(kind):
        return {
            "type": "map",
            "keyType": _spark_type(kind.key_type),
            "valueType": _spark_type(kind.item_type),
            "valueContainsNull": kind.item_field.nullable,
        }
    if pa.types.is_struct(kind):
        return {"type": "struct", "fields": [spark_field(f) for f in kind]}
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    text = hive_type(kind, timestamps=True)
    return _SPARK.get(text, text)


def _is_list(kind: pa.DataType) -> bool:
    of = pa.types
    return of.is_list(kind) or of.is_large_list(kind) or of.is_fixed_size_list(kind)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    return bool(binary or pa.types.is_fixed_size_binary(kind))
