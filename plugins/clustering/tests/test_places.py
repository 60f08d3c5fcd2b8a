"""The order of rows by their keys: every type, nulls first, NaN last, equal rows as they came."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hoodoo_clustering import places as placing
from hoodoo_clustering.places import places
from hypothesis import given, settings
from hypothesis import strategies as st

VALUES = {
    pa.int8(): st.integers(-128, 127),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats(),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(max_size=3),
    pa.binary(): st.binary(max_size=3),
    pa.date32(): st.dates(),
    pa.time64("us"): st.times(),
    pa.timestamp("us", "UTC"): st.datetimes(timezones=st.just(dt.timezone.utc)),
    pa.decimal128(20, 2): st.decimals(-(10**9), 10**9, places=2),
    pa.dictionary(pa.int32(), pa.string()): st.text("ab", max_size=3),
    pa.null(): st.none(),
}


def sortable(value: Any) -> tuple[Any, ...]:
    if value is None:
        return (0,)
    if isinstance(value, float) and math.isnan(value):
        return (2,)
    return (1, value.encode() if isinstance(value, str) else value)


@settings(deadline=None)
@given(data=st.data(), kinds=st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3))
def test_as_python_sorts(data: st.DataObject, kinds: list[pa.DataType]) -> None:
    count = data.draw(st.integers(0, 20))
    keys = []
    for kind in kinds:
        # Few distinct ones, so that the next key counts.
        some = data.draw(st.lists(st.none() | VALUES[kind], min_size=1, max_size=4))
        picked = data.draw(st.lists(st.sampled_from(some), min_size=count, max_size=count))
        keys.append(pa.array(picked, kind))
    rows = list(zip(*(key.to_pylist() for key in keys), strict=True))
    expected = sorted(range(count), key=lambda i: [sortable(v) for v in rows[i]])
    assert places(keys).tolist() == expected


def test_null_beside_a_number_that_a_signed_one_does_not_hold() -> None:
    assert places([pa.array([2**63 + 1, None, 2**63], pa.uint64())]).tolist() == [1, 2, 0]


@pytest.mark.parametrize("distinct", [50, 10**9])
@pytest.mark.parametrize("kind", [pa.string(), pa.int64(), pa.float64()])
def test_many_rows(kind: pa.DataType, distinct: int) -> None:
    """Text that repeats goes by its dictionary, numbers in words, the rest by comparing."""
    rng = np.random.default_rng(5)
    numbers = rng.integers(0, distinct, 40_000)
    values = pa.array(numbers).cast(kind)
    found = places([pa.chunked_array([values.slice(0, 9), values.slice(9)])])
    expected = np.argsort(numbers.astype(str) if kind == pa.string() else numbers, kind="stable")
    assert found.tolist() == expected.tolist()


def test_words_are_used_only_where_rows_fit_into_them(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    monkeypatch.setattr(placing, "_packed", lambda arrays, widths: used.append(len(arrays)))
    places([pa.array([0, 2**60 - 2]), pa.array([True, False])])
    assert used == [2]
    assert places([pa.array([0, 2**62]), pa.array([True, False])]).tolist() == [0, 1]
    assert used == [2]
