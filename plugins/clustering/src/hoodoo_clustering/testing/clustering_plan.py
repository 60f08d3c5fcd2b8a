"""What every planner of clusterings promises: the contract of
:class:`hoodoo_clustering.hookspecs.clustering.ClusteringPlanner` as tests.

Usage::

    class TestMine(ClusteringPlanContract):
        @pytest.fixture
        def planner(self):
            return MyPlanner(...)

The planner should group some of the suite's ``candidates``, or answer that fixture, too. They have
bounds of ``_hoodie_record_key`` and of the columns ``n`` (whole numbers) and ``city`` (text)."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import pytest
from hoodoo.model.filegroup import BaseFile, FileSlice, LogFile
from hoodoo.model.meta import RECORD_KEY

from hoodoo_clustering.hookspecs.clustering import (
    Bounds,
    Clusterable,
    ClusteringGroup,
    ClusteringPlanner,
    GroupSizes,
)

_MIB = 1 << 20
SIZES = GroupSizes(100 * _MIB, 250 * _MIB)


def made_clusterable(
    path: str,
    number: int,
    size: int,
    bounds: dict[str, Bounds] | None = None,
    instant: str = "20240101000000000",
    logs: Sequence[int] = (),
) -> Clusterable:
    """A slice in ``path`` whose base file (none if ``size`` is 0) and log files have these
    bytes."""
    file_id = f"00000000-0000-4000-8000-{number:012d}-0"
    base = BaseFile(path, file_id, instant, "0-0-0", size=size) if size else None
    files = tuple(
        LogFile(path, file_id, instant, n + 1, "0-0-0", size=one) for n, one in enumerate(logs)
    )
    known = bounds or {}
    return Clusterable(FileSlice(path, file_id, instant, base, files), known, 10 if known else None)


def _candidate(number: int, size: int, low: int | None, width: int = 0, **more: Any) -> Clusterable:
    bounds: dict[str, Bounds] = {RECORD_KEY: None, "n": None, "city": None}
    if low is not None:
        high = low + width
        bounds = {
            RECORD_KEY: (f"k{low:05d}", f"k{high:05d}"),
            "n": (low, high),
            "city": (f"{low:03d}", f"{high:03d}"),
        }
    instant = f"2024010100{number * 7 % 60:02d}00000"
    return made_clusterable("2024/01/01", number, size, bounds, instant, **more)


class ClusteringPlanContract:
    """Subclass, and answer the fixture ``planner``."""

    @pytest.fixture
    def planner(self) -> ClusteringPlanner:
        raise NotImplementedError("override the fixture `planner`")

    @pytest.fixture
    def candidates(self) -> list[Clusterable]:
        """As core hands them over: of one partition path, by file id."""
        return [
            _candidate(1, 50 * _MIB, 0, 100),
            _candidate(2, 60 * _MIB, 50, 100),
            _candidate(3, 1, 300, 1),
            _candidate(4, 299 * _MIB, 80, 30),
            _candidate(5, 100 * _MIB, None),
            _candidate(6, 20 * _MIB, 40, 20, logs=[5 * _MIB, 1]),
            _candidate(7, 0, None, logs=[30 * _MIB]),
            _candidate(8, 45 * _MIB, 120, 500),
            _candidate(9, 45 * _MIB, 120, 500),
            _candidate(10, 250 * _MIB, 10, 0),
            _candidate(11, 1, 10, 0),
        ]

    def test_obeys_the_protocol(self, planner: ClusteringPlanner) -> None:
        assert isinstance(planner, ClusteringPlanner)
        assert isinstance(planner.bounds_of, tuple)
        assert all(isinstance(column, str) for column in planner.bounds_of)

    def test_groups_something(
        self, planner: ClusteringPlanner, candidates: list[Clusterable]
    ) -> None:
        groups = planner.group(candidates, SIZES)
        assert any(len(group.slices) > 1 for group in groups), "a suite over nothing proves nothing"
        assert planner.choose(groups)

    def test_each_candidate_once_at_most(
        self, planner: ClusteringPlanner, candidates: list[Clusterable]
    ) -> None:
        grouped = [item for group in planner.group(candidates, SIZES) for item in group.slices]
        assert all(item in candidates for item in grouped)
        ids = [item.slice.file_id for item in grouped]
        assert len(ids) == len(set(ids)), "a file slice is in two groups: its rows would be doubled"

    def test_groups_are_not_empty(
        self, planner: ClusteringPlanner, candidates: list[Clusterable]
    ) -> None:
        assert all(group.slices for group in planner.group(candidates, SIZES))

    @pytest.mark.parametrize("most", [1, 40 * _MIB, 99 * _MIB, 250 * _MIB, 5000 * _MIB])
    def test_groups_hold_to_their_bytes(
        self, planner: ClusteringPlanner, candidates: list[Clusterable], most: int
    ) -> None:
        for group in planner.group(candidates, GroupSizes(100 * _MIB, most)):
            assert len(group.slices) == 1 or group.size <= most

    def test_no_candidates_no_groups(self, planner: ClusteringPlanner) -> None:
        assert list(planner.group([], SIZES)) == []
        assert list(planner.choose([])) == []

    def test_one_candidate(self, planner: ClusteringPlanner, candidates: list[Clusterable]) -> None:
        for candidate in candidates:
            groups = list(planner.group([candidate], SIZES))
            assert groups in ([], [ClusteringGroup((candidate,))])

    def test_nothing_is_known_of_the_columns(
        self, planner: ClusteringPlanner, candidates: list[Clusterable]
    ) -> None:
        """Statistics may be missing of every file: it is no error."""
        blank = [Clusterable(item.slice) for item in candidates]
        groups = list(planner.group(blank, SIZES))
        assert all(item in blank for group in groups for item in group.slices)
        planner.choose(groups)

    def test_chooses_among_the_groups(
        self, planner: ClusteringPlanner, candidates: list[Clusterable]
    ) -> None:
        groups = list(planner.group(candidates, SIZES))
        chosen = list(planner.choose(groups))
        assert all(group in groups for group in chosen)
        assert len({group.slices for group in chosen}) == len(chosen), "a group is chosen twice"

    def test_is_a_pure_function(
        self, planner: ClusteringPlanner, candidates: list[Clusterable]
    ) -> None:
        before = list(candidates)
        first = list(planner.group(candidates, SIZES))
        chosen = list(planner.choose(first))
        assert candidates == before, "it changed its argument"
        assert list(planner.group(tuple(candidates), SIZES)) == first
        again = pickle.loads(pickle.dumps(planner))
        assert list(again.group(candidates, SIZES)) == first
        assert list(again.choose(tuple(first))) == chosen
