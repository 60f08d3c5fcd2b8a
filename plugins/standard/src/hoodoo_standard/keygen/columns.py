"""The columns of a batch that keys are made of, ``struct.field`` included."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import MissingColumnError


def column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """The column ``name`` of ``batch``; a dotted name walks into structs.

    A null struct has null fields, as in Hudi. Raises MissingColumnError listing what there is.
    """
    if name in batch.schema.names:
        return batch.column(name)
    head, *rest = name.split(".")
    if not rest or head not in batch.schema.names:
        raise _missing(name, batch.schema.names)
    found = batch.column(head)
    for part in rest:
        names = [f.name for f in found.type] if pa.types.is_struct(found.type) else []
        if part not in names:
            raise _missing(name, [f"{head}.{n}" for n in names] or batch.schema.names)
        found = pc.struct_field(found, [part])
    return found


def column_type(schema: pa.Schema, name: str) -> pa.DataType | None:
    """The type of the column ``name`` (dotted or not), None if the schema lacks it."""
    if name in schema.names:
        return schema.field(name).type
    head, *rest = name.split(".")
    kind = schema.field(head).type if head in schema.names else None
    for part in rest:
        fields = {f.name: f.type for f in kind} if kind and pa.types.is_struct(kind) else {}
        kind = fields.get(part)
    return kind


def _missing(name: str, there: Iterable[str]) -> MissingColumnError:
    if known := ", ".join(there):
        return MissingColumnError(
            f"column {name!r}",
            f"is part of the table's keys but not among the incoming columns: {known}.",
            "add the column to the data; key columns of a table can't be left out.",
        )
    # Of a file whose keys are virtual, nothing but columns of the key is read to make them.
    return MissingColumnError(
        f"column {name!r}",
        "is part of the table's keys, and a file that is read lacks it.",
        "`hoodoo verify` says which; restore it to the state before it was changed.",
    )
