"""Curves: every point has its own place, and neighbours on Hilbert's curve are neighbours in space."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hoodoo_clustering.strategies.hilbert import Hilbert
from hoodoo_clustering.strategies.zorder import ZOrder, interleaved
from hypothesis import given
from hypothesis import strategies as st

GRIDS = [(1, 6), (2, 1), (2, 5), (3, 3), (4, 2), (5, 2), (8, 1)]


def grid(columns: int, bits: int) -> npt.NDArray[np.uint64]:
    """All points, one a row."""
    return np.array(list(itertools.product(range(1 << bits), repeat=columns)), np.uint64)


def place(curve: Any, points: npt.NDArray[np.uint64], bits: int) -> npt.NDArray[np.int64]:
    (words,) = curve.index([points[:, i].copy() for i in range(points.shape[1])], bits)
    return np.asarray(words).astype(np.int64)


@pytest.mark.parametrize(("columns", "bits"), GRIDS)
@pytest.mark.parametrize("curve", [ZOrder, Hilbert])
def test_every_point_has_its_own_place(curve: Any, columns: int, bits: int) -> None:
    points = grid(columns, bits)
    assert sorted(place(curve, points, bits).tolist()) == list(range(len(points)))


@pytest.mark.parametrize(("columns", "bits"), GRIDS)
def test_the_next_point_on_hilberts_curve_is_one_step_away(columns: int, bits: int) -> None:
    points = grid(columns, bits)
    along = points[np.argsort(place(Hilbert, points, bits))].astype(np.int64)
    assert set(np.abs(np.diff(along, axis=0)).sum(axis=1).tolist()) == {1}


def test_a_cell_of_hilberts_curve_is_filled_before_the_next_begins() -> None:
    points = grid(2, 4)
    along = points[np.argsort(place(Hilbert, points, 4))]
    cells = [tuple(p) for p in (along >> np.uint64(2)).tolist()]
    assert len(list(itertools.groupby(cells))) == 16


def spelled(point: list[int], bits: int) -> int:
    """The bits of the coordinates in turn, as text."""
    texts = [format(value, f"0{bits}b") for value in point]
    return int("".join(bit for level in zip(*texts, strict=True) for bit in level), 2)


@given(data=st.data(), columns=st.integers(1, 8), bits=st.sampled_from([1, 7, 8, 16, 33, 64]))
def test_z_order_takes_bits_in_turn(data: st.DataObject, columns: int, bits: int) -> None:
    values = st.lists(st.integers(0, (1 << bits) - 1), min_size=columns, max_size=columns)
    points = data.draw(st.lists(values, min_size=1, max_size=4))
    table = np.array(points, np.uint64)
    words = interleaved([table[:, i] for i in range(columns)], bits)
    assert len(words) == -(-columns * bits // 64)
    for row, point in enumerate(points):
        number = 0
        for word in words:
            number = number << 64 | int(word[row])
        assert number == spelled(point, bits)


@pytest.mark.sampled(1, among="long")
@given(points=st.lists(st.tuples(*[st.integers(0, 2**64 - 1)] * 3), min_size=1, max_size=20))
def test_of_64_bits_different_points_have_different_places(
    points: list[tuple[int, int, int]],
) -> None:
    table = np.array(points, np.uint64)
    words = Hilbert.index([table[:, i].copy() for i in range(3)], 64)
    places = list(zip(*(w.tolist() for w in words), strict=True))
    assert len(set(places)) == len(set(points))
