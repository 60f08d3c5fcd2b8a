"""What every layout promises: the contract of :class:`hoodoo.hookspecs.layout.Layout` as tests.

Usage::

    class TestMine(LayoutContract):
        @pytest.fixture
        def layout(self):
            return MyLayout(...)
"""

from __future__ import annotations

import pickle
from collections import Counter, defaultdict

import pytest

from hoodoo.hookspecs.layout import Layout, Slot
from hoodoo.model.filegroup import BaseFile, FileSlice, LogFile

_INSTANT = "20240101000000000"
_MIB = 1 << 20


def made_slice(path: str, number: int, size: int, logs: int = 0) -> FileSlice:
    """A slice with a base file of ``size`` bytes (None for a negative size) and some log files."""
    file_id = f"00000000-0000-4000-8000-{number:012d}-0"
    base = BaseFile(path, file_id, _INSTANT, "0-0-0", size=size) if size >= 0 else None
    files = tuple(LogFile(path, file_id, _INSTANT, i + 1, "0-0-0", size=100) for i in range(logs))
    return FileSlice(path, file_id, _INSTANT, base, files)


class LayoutContract:
    """Subclass, and answer the fixture ``layout``."""

    @pytest.fixture
    def layout(self) -> Layout:
        raise NotImplementedError("override the fixture `layout`")

    @pytest.fixture
    def slices(self) -> list[FileSlice]:
        sizes = {"p=1": (1, 50 * _MIB, 500 * _MIB, 2 * _MIB), "p=2": (3 * _MIB,), "old": (1,)}
        plain = [
            made_slice(path, 10 * i + j, size)
            for i, (path, some) in enumerate(sizes.items())
            for j, size in enumerate(some)
        ]
        return [*plain, made_slice("p=1", 97, -1, logs=2), made_slice("p=2", 98, 5, logs=1)]

    @pytest.mark.parametrize(
        ("rows", "row_bytes"),
        [(1, 0.5), (1, 1e9), (10, 1024.0), (500, 1e9), (1_000_000, 30.0), (40_000_000, 1024.0)],
    )
    def test_slots_are_places_for_the_arrivals(
        self, layout: Layout, slices: list[FileSlice], rows: int, row_bytes: float
    ) -> None:
        arrivals = {"p=1": rows, "p=2": 7, "new": rows}
        slots = layout.plan(arrivals, slices, row_bytes)
        assert all(isinstance(s, Slot) and s.weight >= 1 for s in slots)
        assert {s.partition_path for s in slots} == set(arrivals)
        weights: dict[str, int] = defaultdict(int)
        for slot in slots:
            weights[slot.partition_path] += slot.weight
        # Rows are spread in proportion, so less weight than rows would overfill each place.
        assert all(weights[path] >= rows for path, rows in arrivals.items())

    def test_only_file_groups_of_the_same_partition_are_named(
        self, layout: Layout, slices: list[FileSlice]
    ) -> None:
        known = {(s.partition_path, s.file_id) for s in slices}
        slots = layout.plan({"p=1": 1_000_000, "p=2": 10, "new": 10}, slices, 500.0)
        named = [(s.partition_path, s.file_id) for s in slots if s.file_id is not None]
        assert set(named) <= known
        assert max(Counter(named).values(), default=1) == 1, "a file group is named twice"

    def test_an_empty_table_gets_new_files(self, layout: Layout) -> None:
        slots = layout.plan({"": 10}, [], 100.0)
        assert slots and all(s.file_id is None and s.partition_path == "" for s in slots)

    def test_nothing_arrives(self, layout: Layout, slices: list[FileSlice]) -> None:
        assert tuple(layout.plan({}, slices, 100.0)) == ()

    def test_is_a_pure_function(self, layout: Layout, slices: list[FileSlice]) -> None:
        arrivals = {"p=1": 300_000, "p=2": 5, "new": 12}
        before = list(slices)
        first = layout.plan(arrivals, slices, 700.0)
        assert slices == before
        assert layout.plan(arrivals, slices, 700.0) == first
        assert pickle.loads(pickle.dumps(layout)).plan(arrivals, slices, 700.0) == first

    def test_order_of_listing_does_not_matter(
        self, layout: Layout, slices: list[FileSlice]
    ) -> None:
        arrivals = {"p=1": 300_000, "p=2": 5}
        turned = dict(reversed(arrivals.items()))
        assert layout.plan(turned, slices[::-1], 700.0) == layout.plan(arrivals, slices, 700.0)
