"""Prepare: what incoming rows may hold."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hoodoo.errors import SchemaError
from hoodoo.hookspecs.engine import Task
from hoodoo_rows.write.prepare import Conform

OFFSETS = pa.array([0, 2, 3], pa.int32())
# Two good texts and one that is no UTF-8, which Arrow does not look at.
TEXTS = pa.array([b"a", b"b", b"\xff"]).view(pa.string())
ROWS = {
    "plain": TEXTS.slice(1),
    "struct": pa.StructArray.from_arrays([TEXTS.slice(1)], ["s"]),
    "list": pa.ListArray.from_arrays(OFFSETS, TEXTS),
    "map": pa.MapArray.from_arrays(OFFSETS, pa.array(["x", "y", "z"]), TEXTS),
    "list of structs": pa.ListArray.from_arrays(
        OFFSETS, pa.StructArray.from_arrays([TEXTS], ["s"])
    ),
}


def conformed(array: pa.Array) -> pa.RecordBatch:
    batch = pa.record_batch([array], ["c"])
    (found,) = Conform(batch.schema, {})(iter([batch]), Task())
    return found


@pytest.mark.parametrize("kind", ROWS)
def test_a_text_that_is_no_utf8_is_refused_where_it_is(kind: str) -> None:
    with pytest.raises(SchemaError, match=r"column c.* no UTF-8"):
        conformed(ROWS[kind])
    # Rows are judged by their own texts, though all of an array share the same values.
    assert conformed(ROWS[kind].slice(0, 1)).num_rows == 1
    assert conformed(ROWS[kind].slice(0, 0)).num_rows == 0
