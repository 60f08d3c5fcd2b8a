"""Record keys from columns: the plain form and the form ``field:value,field:value``.

Source: ``KeyGenUtils.getRecordKey`` and ``KeyGenerator.constructRecordKey`` of Hudi 1.2.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from hoodoo.errors import MissingColumnError, NullKeyError

from hoodoo_standard.keygen.key_text import key_text

NULL = "__null__"
EMPTY = "__empty__"


def plain_keys(batch: pa.RecordBatch, field: str, logical_timestamps: bool) -> pa.StringArray:
    """The values of ``field`` as keys; NullKeyError if one is null or empty."""
    values = column(batch, field)
    text = key_text(values, field, logical_timestamps)
    if _may_be_empty(values):
        _refuse(_empty(text), f"column {field!r}", "is null or empty")
    return text


def complex_keys(
    batch: pa.RecordBatch, fields: tuple[str, ...], logical_timestamps: bool
) -> pa.StringArray:
    """``f1:v1,f2:v2``; null is ``__null__``, empty ``__empty__``.

    NullKeyError where all values of a row are null or empty.
    """
    columns = [column(batch, f) for f in fields]
    texts = [key_text(c, f, logical_timestamps) for c, f in zip(columns, fields, strict=True)]
    # Each look at texts costs as much as the join, and the usual key has none that are empty.
    holes = [_may_be_empty(c) for c in columns]
    if all(holes):
        none = _empty(texts[0])
        for more in texts[1:]:
            none = pc.and_(none, _empty(more))
        names = ", ".join(repr(f) for f in fields)
        _refuse(none, f"columns {names}", "are all null or empty")
    parts: list[pa.Array] = []
    for number, (field, text) in enumerate(zip(fields, texts, strict=True)):
        parts.append(pa.scalar(f"{',' if number else ''}{field}:"))
        if holes[number]:
            filled = pc.fill_null(text, NULL)
            text = pc.if_else(pc.equal(filled, ""), EMPTY, filled)
        parts.append(text)
    return pc.binary_join_element_wise(*parts, "")


def _may_be_empty(values: pa.Array) -> bool:
    """Whether a key may have no text for one of ``values``. A number, a date, a time and a boolean
    always have one."""
    kind = values.type
    return values.null_count > 0 or not (
        pt.is_integer(kind)
        or pt.is_floating(kind)
        or pt.is_decimal(kind)
        or pt.is_boolean(kind)
        or pt.is_temporal(kind)
    )


def _empty(text: pa.StringArray) -> pa.BooleanArray:
    return pc.fill_null(pc.equal(text, ""), True)


def _refuse(bad: pa.BooleanArray, obj: str, what: str) -> None:
    found = np.flatnonzero(np.asarray(bad))
    if len(found):
        raise NullKeyError(
            f"record key, {obj}",
            f"{what} in {len(found)} of {len(bad)} rows of a batch; the first is row {found[0]}.",
            "fill the key or filter these rows out before writing.",
        )


# --- the columns of a batch that keys are made of, ``struct.field`` included ----------------------
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
