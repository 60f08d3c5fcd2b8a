"""File groups of the metadata table: their names, their number, and which one holds a key."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError
from hoodoo_metadata.table.layout import (
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
    RECORD_INDEX,
    estimated_groups,
    group_id,
    group_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st


def test_names() -> None:
    assert group_id(FILES, 0) == "files-0000-0"
    assert group_id(COLUMN_STATS, 1) == "col-stats-0001-0"
    assert group_id(PARTITION_STATS, 0) == "partition-stats-0000-0"
    assert group_id(RECORD_INDEX, 12345) == "record-index-12345-0"
    escaped = group_id(RECORD_INDEX, 3, "a_b=1/c-d é")
    assert escaped == "record-index-a%5Fb%3D1%2Fc%2Dd é-0003-0"
    assert group_id("bloom_filters", 0) == "bloom-filters-0000-0"
    with pytest.raises(ConfigError, match="expr_index"):
        group_id("expr_index", 0)


def java_group(key: str, groups: int) -> int:
    units = key.encode("utf-16-le")
    h = 0
    for i in range(0, len(units), 2):
        h = (31 * h + units[i] + 256 * units[i + 1]) & 0xFFFFFFFF
    signed = h - (1 << 32) if h >= 1 << 31 else h
    return abs(signed) % groups


@settings(deadline=None)
@given(st.lists(st.text(max_size=40)), st.integers(2, 10_000))
def test_groups_by_hudis_hash(keys: list[str], groups: int) -> None:
    expected = [java_group(key, groups) for key in keys]
    assert group_of(pa.array(keys, pa.string()), groups).tolist() == expected
    bytes_ = pa.array([key.encode() for key in keys], pa.binary())
    assert group_of(bytes_, groups).tolist() == expected
    for other in (pa.large_string(), pa.large_binary()):
        assert group_of(pa.array(keys, pa.string()).cast(other), groups).tolist() == expected
    assert group_of(bytes_, groups).dtype == np.int32
    assert not group_of(bytes_, 1).any()


def test_the_hash_whose_absolute_value_java_does_not_have() -> None:
    # Its hash is the least 32-bit number. abs(abs(h) % 7) in Java: h % 7 == -2.
    assert group_of(pa.array(["polygenelubricants"]), 7).tolist() == [2]


def test_a_slice_of_keys() -> None:
    keys = pa.array(["x", "long key", "ü", "y"], pa.string())
    assert group_of(keys.slice(1, 2), 10).tolist() == group_of(keys, 10).tolist()[1:3]


def test_number_of_groups() -> None:
    assert estimated_groups(1_000_000_000) == 89  # features page 1.3
    assert estimated_groups(0) == 10
    assert estimated_groups(10**15) == 10_000
    assert estimated_groups(5, least=4, most=4) == 4
    assert estimated_groups(5, least=0, most=0) == 1
    assert estimated_groups(1000, least=1, most=100, growth=1.5, group_bytes=4800) == 15
