"""Rows on their way into an exchange: sorted by part and slot, those of a pair in their order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hoodoo.hookspecs.engine import PART, SLOT
from hoodoo_rows.engine.runs import buffers, routed


@pytest.mark.parametrize(
    ("parts", "low", "high"),
    [(3, 0, 5), (3, -7, 4), (40, 0, 5000), (2, -(2**31), 2**31 - 1), (1 << 20, 0, 3)],
)
def test_rows_of_a_pair_lie_together_in_their_order(parts: int, low: int, high: int) -> None:
    """Few pairs are sorted as short integers, many as long ones."""
    draw = np.random.default_rng(parts)
    part = draw.integers(0, parts, 3000).astype(np.int32)
    slot = draw.integers(low, high, 3000, endpoint=True).astype(np.int32)
    slot[:2] = low, high
    rows = pa.record_batch(
        [pa.array(part), pa.array(slot), pa.array(range(3000))], names=[PART, SLOT, "n"]
    )
    found, runs = routed(rows, parts)
    order = np.lexsort((np.arange(3000), slot, part))
    assert found.column("n").to_pylist() == order.tolist()
    at = 0
    for one, other, start, count in runs:
        assert start == at
        at += count
        piece = found.slice(start, count)
        assert set(piece.column(PART).to_pylist()) == {one}
        assert set(piece.column(SLOT).to_pylist()) == {other}
    assert at == 3000
    assert len(runs) == len({*zip(part.tolist(), slot.tolist(), strict=True)})


def test_a_batch_that_came_long_stays_long() -> None:
    schema = pa.schema([("n", pa.int64())])
    given = [pa.record_batch([pa.array(range(count))], schema=schema) for count in (100, 10, 10)]
    sizes = [batch.num_rows for batch in buffers(iter(given), schema, 400, 1600)]
    assert sizes == [100, 20]
    assert [b.num_rows for b in buffers(iter(given), schema, 400)] == [50, 50, 20]
