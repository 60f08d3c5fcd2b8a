"""Ranks: whole numbers that are looked up in a table have the ranks that a search finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hoodoo_clustering.strategies import ranks as module
from hoodoo_clustering.strategies.ranks import Ranks
from hypothesis import given
from hypothesis import strategies as st

KINDS = [pa.int32(), pa.uint32(), pa.int64(), pa.uint64(), pa.date32(), pa.timestamp("us")]


def searched(column: pa.Array, ranks: Ranks) -> list[int]:
    """By definition: the rank of the first edge that is not below the value; of null 0."""
    stored = pa.int32() if column.type == pa.date32() else column.type
    values = column.view(pa.int64() if pa.types.is_timestamp(stored) else stored).to_pylist()
    edges = ranks.edges.tolist()
    return [
        0 if v is None else int(ranks.ranks[sum(1 for edge in edges if edge < v)]) for v in values
    ]


@given(data=st.data(), kind=st.sampled_from(KINDS), bits=st.sampled_from([8, 16]))
def test_a_table_has_the_ranks_that_a_search_finds(
    data: st.DataObject, kind: pa.DataType, bits: int
) -> None:
    width = kind.bit_width
    signed = not pa.types.is_unsigned_integer(kind)
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
    middle = data.draw(st.sampled_from([low, high, (low + high) // 2]))
    near = st.integers(max(low, middle - 40), min(high, middle + 40))
    plain: pa.DataType = {32: pa.int32(), 64: pa.int64()}[width] if signed else kind
    sample = pa.array(data.draw(st.lists(near, min_size=1, max_size=30)), plain).view(kind)
    asked = data.draw(st.lists(st.none() | near | st.sampled_from([low, high]), min_size=1))
    column = pa.array(asked, plain).view(kind)
    ranks = Ranks.of(pa.chunked_array([sample]), bits, "n")
    assert ranks._table is not None
    assert ranks(column, "n").tolist() == searched(column, ranks)


@pytest.mark.parametrize(
    "sample", [[0.5, 1.5], ["a", "b"], [0, module._SPAN], [-(2**63), 2**63 - 1], [None, None]]
)
def test_what_has_no_order_of_whole_numbers_near_each_other_is_searched(sample: list[Any]) -> None:
    column = pa.array(sample)
    ranks = Ranks.of(pa.chunked_array([column]), 16, "n")
    assert ranks._table is None
    assert np.all(np.diff(ranks(column, "n").astype(np.int64)) >= 0)
