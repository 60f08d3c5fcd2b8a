"""What reads give: columns of logical types that Arrow has an extension type for are of that
type."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
from hoodoo.model.schema import logical


def shown_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of rows that are in ``schema`` in memory."""
    fields = [field.with_type(_shown(field.type)) for field in schema]
    return pa.schema(fields, schema.metadata)


def shown(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The ``batches``, which are in ``schema`` in memory, as reads give them. They are closed with
    what is returned."""
    given = shown_schema(schema)
    return batches if given.equals(schema) else _each(batches, given)


def _each(batches: Any, given: pa.Schema) -> Iterator[pa.RecordBatch]:
    with closing(batches):
        for batch in batches:
            columns = map(_column, batch.columns, given)
            yield pa.RecordBatch.from_arrays(list(columns), schema=given)


def _column(array: pa.Array, field: pa.Field) -> pa.Array:
    if field.type == array.type:
        return array
    return pa.ExtensionArray.from_storage(field.type, array)


def _shown(kind: pa.DataType) -> pa.DataType:
    own = logical.of(kind) if pa.types.is_nested(kind) else None
    return kind if own is None else own.shown(kind)
