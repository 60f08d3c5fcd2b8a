"""Columns of logical types (:mod:`hoodoo.model.schema.logical`) as files have them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from hoodoo.model.schema import logical


def stored_type(kind: pa.DataType) -> pa.DataType:
    """``kind`` as files have it: another type where it is a logical one, or a struct with such."""
    own = logical.of(kind)
    if own is not None:
        found: pa.DataType = own.stored(kind)
        return found
    return pa.struct(list(map(stored_field, kind))) if pa.types.is_struct(kind) else kind


def stored_field(field: pa.Field) -> pa.Field:
    return field.with_type(stored_type(field.type)) if pa.types.is_nested(field.type) else field


def to_stored(array: Any, kind: pa.DataType) -> Any:
    """The array, chunked or not, of a column of the type ``kind``, as files have it."""
    if not pa.types.is_nested(kind):
        return array
    if isinstance(array, pa.ChunkedArray):
        chunks = [to_stored(chunk, kind) for chunk in array.chunks]
        return pa.chunked_array(chunks, stored_type(kind))
    own = logical.of(kind)
    if own is not None:
        return own.to_stored(array, kind)
    if not pa.types.is_struct(kind) or stored_type(kind) == kind:
        return array
    children = [to_stored(array.field(i), field.type) for i, field in enumerate(kind)]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(children, fields=list(stored_type(kind)), mask=mask)


def batch_to_stored(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of ``batch`` as files have them."""
    fields = [stored_field(field) for field in batch.schema]
    if all(new is old for new, old in zip(fields, batch.schema, strict=True)):
        return batch
    columns = [to_stored(c, f.type) for c, f in zip(batch.columns, batch.schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def footer(fields: Iterable[pa.Field]) -> dict[str, str]:
    """What the footer of a Parquet file says of those ``fields`` that are of logical types."""
    known: dict[str, tuple[Any, dict[str, pa.DataType]]] = {}
    for field in fields:
        if (own := logical.of(field.type)) is not None:
            known.setdefault(own.name, (own, {}))[1][field.name] = field.type
    texts = (own.footer(columns) for own, columns in known.values())
    return {key: text for one in texts for key, text in one.items()}
