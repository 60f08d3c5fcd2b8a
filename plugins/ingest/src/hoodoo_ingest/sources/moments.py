"""Moments in JSON that Spark reads: its own parser takes numbers for seconds, whatever the unit of
the column is. So they are read as texts, and these become moments: numbers in the unit of the Avro
schema, or ISO texts."""

from __future__ import annotations

import pyarrow as pa

_BY_UNIT = {
    "s": "TIMESTAMP_SECONDS({})",
    "ms": "TIMESTAMP_MILLIS({})",
    "us": "TIMESTAMP_MICROS({})",
    "ns": "TIMESTAMP_MICROS({} DIV 1000)",
}


def in_texts(kind: pa.DataType) -> pa.DataType:
    """The type with texts in place of moments, at any depth."""
    if _is_moment(kind):
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(in_texts(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(in_texts(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(kind.key_field, kind.item_field.with_type(in_texts(kind.item_type)))
    return kind


def converted(at: str, kind: pa.DataType, depth: int = 0) -> str:
    """Spark's SQL for the value ``at``, which has the type ``in_texts(kind)``, in the type
    ``kind``."""
    if in_texts(kind) == kind:
        return at
    if pa.types.is_date(kind):
        days = f"DATE_FROM_UNIX_DATE(TRY_CAST({at} AS INT))"
        return f"COALESCE({days}, TRY_CAST({at} AS DATE))"
    if _is_moment(kind):
        number = _BY_UNIT[kind.unit].format(f"TRY_CAST({at} AS BIGINT)")
        return f"COALESCE({number}, TRY_CAST({at} AS TIMESTAMP_LTZ))"
    one = f"e{depth}"
    if pa.types.is_struct(kind):
        parts = (f"'{f.name}', {converted(_field(at, f), f.type, depth)}" for f in kind)
        return f"IF({at} IS NULL, NULL, NAMED_STRUCT({', '.join(parts)}))"
    if pa.types.is_map(kind):
        inner = converted(one, kind.item_type, depth + 1)
        return f"TRANSFORM_VALUES({at}, (k{depth}, {one}) -> {inner})"
    return f"TRANSFORM({at}, {one} -> {converted(one, kind.value_type, depth + 1)})"


def is_wrong(at: str, kind: pa.DataType, depth: int = 0) -> str:
    """Spark's SQL: whether there is a text at ``at`` that is no moment; null is no."""
    if in_texts(kind) == kind:
        return "FALSE"
    if _is_moment(kind):
        return f"({at} IS NOT NULL AND {converted(at, kind)} IS NULL)"
    one = f"e{depth}"
    if pa.types.is_struct(kind):
        parts = [is_wrong(_field(at, field), field.type, depth) for field in kind]
        return f"({' OR '.join(part for part in parts if part != 'FALSE')})"
    inner = kind.item_type if pa.types.is_map(kind) else kind.value_type
    items = f"MAP_VALUES({at})" if pa.types.is_map(kind) else at
    return f"COALESCE(EXISTS({items}, {one} -> {is_wrong(one, inner, depth + 1)}), FALSE)"


def _is_moment(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def _field(at: str, field: pa.Field) -> str:
    return f"{at}.`{field.name}`"
