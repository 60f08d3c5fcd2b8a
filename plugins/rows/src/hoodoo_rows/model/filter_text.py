"""Filters as text. Arrow cuts long values in the middle, also in the middle of a character, and
then ``str`` of the expression fails: bytes that are no character are shown as a replacement."""

from __future__ import annotations

from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from hoodoo_rows.model.conform import uuids_as_texts


def text_of(where: pc.Expression) -> str:
    """A filter as people read it; long values are cut, so two filters may have one text."""
    try:
        return str(where)
    except UnicodeDecodeError as exc:
        return bytes(exc.object).decode(errors="replace")


def whole(where: pc.Expression | None) -> Any:
    """What is equal for equal filters alone: Arrow's own form, in which no value is cut.
    Expressions have no equality of their own: ``==`` makes a new expression."""
    return None if where is None else where.__reduce__()[1][0].to_pybytes()


def without_uuids(where: pc.Expression) -> pc.Expression:
    """``where`` with texts in place of UUIDs, as columns have them. Arrow's own form of a filter
    keeps values as columns, and names them by their place."""
    try:
        make, (form,) = where.__reduce__()
    except pa.ArrowNotImplementedError:
        return where  # a column by its number, which reads refuse
    with pa.ipc.open_file(form) as file:
        batch = file.get_batch(0)
    plain = uuids_as_texts(batch)
    if plain is batch:
        return where
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, plain.schema) as made:
        made.write_batch(plain)
    return cast(pc.Expression, make(sink.getvalue()))
