"""Widen: rows as an older file has them -> rows as the table has them now.

Columns are found by name at every depth. What a file lacks is null, what the table has dropped
goes, and types grow as Hudi lets a table's schema evolve. Unlike rows on their way in
(:mod:`hoodoo_rows.model.conform`), stored rows are not asked to keep every digit: a table whose
long became a double is read as doubles."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import SchemaError
from hoodoo.model.schema import logical

from hoodoo_rows.model.conform import within
from hoodoo_rows.write.promote import promoted


def widened(batch: pa.RecordBatch, schema: pa.Schema, path: str) -> pa.RecordBatch:
    """The rows of ``batch`` in ``schema`` (all nullable); columns already right are not copied.

    Raises SchemaError naming the file ``path`` and the column whose types don't go together.
    """
    if batch.schema.equals(schema, check_metadata=True):
        return batch
    if not schema.names:
        return batch.select([])  # the only way to keep the number of rows without columns
    batch = promoted(batch, schema)
    columns = []
    for field in schema:
        at = batch.schema.get_field_index(field.name)
        if at < 0:
            columns.append(pa.nulls(batch.num_rows, field.type))
            continue
        column = batch.column(at)
        columns.append(column if column.type == field.type else _cast(column, field, path))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cast(column: pa.Array, field: pa.Field, path: str) -> pa.Array:
    if (own := logical.of(field.type)) is not None:
        found: pa.Array = own.conform(column, field.type, f"{field.name} of {path}")
        return found
    if not readable(column.type, field.type):
        raise SchemaError(
            f"column {field.name} of {path}",
            f"the file has {column.type}, the table {field.type}, and these types can't be "
            "converted",
            "rewrite the file, or correct the table's schema.",
        )
    try:
        options = pc.CastOptions(field.type, allow_float_truncate=True)
        return pc.cast(column, options=options)
    except pa.ArrowInvalid as exc:
        raise SchemaError(
            f"column {field.name} of {path}",
            f"a {column.type} of the file doesn't fit the table's {field.type} ({exc})",
            "rewrite the file, or correct the table's schema.",
        ) from exc


def readable(found: pa.DataType, kind: pa.DataType) -> bool:
    """Whether values that a file has as ``found`` can be read as the table's ``kind``."""
    t = pa.types
    if found == kind or t.is_null(found):
        return True
    if t.is_dictionary(found):
        return readable(found.value_type, kind)
    if t.is_map(found) and t.is_map(kind) and not readable(found.key_type, kind.key_type):
        return False
    pairs = within(found, kind)
    if pairs or (t.is_struct(found) and t.is_struct(kind)):
        return all(readable(*pair) for pair in pairs)
    return _readable_leaf(found, kind)


def _readable_leaf(found: pa.DataType, kind: pa.DataType) -> bool:
    t = pa.types
    if t.is_integer(found) or t.is_floating(found):
        if t.is_string(kind):
            return True
        if t.is_integer(found) and t.is_floating(kind):
            return True
        same = t.is_integer(kind) if t.is_integer(found) else t.is_floating(kind)
        return bool(same and kind.bit_width >= found.bit_width)
    if t.is_decimal(found) and t.is_decimal(kind):
        whole = kind.precision - kind.scale >= found.precision - found.scale
        return bool(whole and kind.scale >= found.scale)
    families = (t.is_timestamp, t.is_time, t.is_date, _is_text)
    return any(family(found) and family(kind) for family in families)


def _is_text(kind: pa.DataType) -> bool:
    t = pa.types
    families = (t.is_string, t.is_binary, t.is_large_string, t.is_large_binary)
    return any(family(kind) for family in (*families, t.is_fixed_size_binary))
