"""Record keys from columns: the plain form and the form ``field:value,field:value``.

Source: ``KeyGenUtils.getRecordKey`` and ``KeyGenerator.constructRecordKey`` of Hudi 1.2.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import NullKeyError

from hoodoo_standard.keygen.columns import column
from hoodoo_standard.keygen.key_text import key_text

NULL = "__null__"
EMPTY = "__empty__"


def plain_keys(batch: pa.RecordBatch, field: str, logical_timestamps: bool) -> pa.StringArray:
    """The values of ``field`` as keys; NullKeyError if one is null or empty."""
    text = key_text(column(batch, field), field, logical_timestamps)
    bad = pc.fill_null(pc.equal(text, ""), True)
    _refuse(bad, f"column {field!r}", "is null or empty")
    return text


def complex_keys(
    batch: pa.RecordBatch, fields: tuple[str, ...], logical_timestamps: bool
) -> pa.StringArray:
    """``f1:v1,f2:v2``; null is ``__null__``, empty ``__empty__``.

    NullKeyError where all values of a row are null or empty.
    """
    texts = [key_text(column(batch, f), f, logical_timestamps) for f in fields]
    empty = [pc.fill_null(pc.equal(t, ""), True) for t in texts]
    none = empty[0]
    for more in empty[1:]:
        none = pc.and_(none, more)
    names = ", ".join(repr(f) for f in fields)
    _refuse(none, f"columns {names}", "are all null or empty")
    parts: list[pa.Array] = []
    for number, (field, text) in enumerate(zip(fields, texts, strict=True)):
        parts.append(pa.scalar(f"{',' if number else ''}{field}:"))
        filled = pc.fill_null(text, NULL)
        parts.append(pc.if_else(pc.equal(filled, ""), EMPTY, filled))
    return pc.binary_join_element_wise(*parts, "")


def _refuse(bad: pa.BooleanArray, obj: str, what: str) -> None:
    found = np.flatnonzero(np.asarray(bad))
    if len(found):
        raise NullKeyError(
            f"record key, {obj}",
            f"{what} in {len(found)} of {len(bad)} rows of a batch; the first is row {found[0]}.",
            "fill the key or filter these rows out before writing.",
        )
