"""Planners of clusterings: the contract, what each of them puts together, and what it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.meta import RECORD_KEY
from hoodoo_clustering.hookspecs.clustering import (
    Bounds,
    Clusterable,
    ClusteringGroup,
    ClusteringPlanner,
    GroupSizes,
)
from hoodoo_clustering.strategies.at_random import AtRandom
from hoodoo_clustering.strategies.boxes import Boxes
from hoodoo_clustering.strategies.by_commit_time import ByCommitTime
from hoodoo_clustering.strategies.by_key_range import ByKeyRange
from hoodoo_clustering.strategies.by_overlap import ByOverlap
from hoodoo_clustering.strategies.by_size import BySize
from hoodoo_clustering.strategies.copy import AsTheyCome
from hoodoo_clustering.strategies.planners import planners
from hoodoo_clustering.strategies.several import Several
from hoodoo_clustering.strategies.single_file import EachAlone
from hoodoo_clustering.testing.clustering_plan import ClusteringPlanContract, made_clusterable
from hypothesis import given
from hypothesis import strategies as st

MB = 1 << 20
SORT_COLUMNS = "hoodie.clustering.plan.strategy.sort.columns"
SORT_BY = "hoodie.clustering.plan.strategy.file.slices.sort.by"
SEED = "hoodoo.clustering.random.seed"
SIZES = GroupSizes(100 * MB, 250 * MB)


class TestSize(ClusteringPlanContract):
    @pytest.fixture
    def planner(self) -> ClusteringPlanner:
        return BySize(("INSTANT_TIME", "SIZE"))


class TestSeveral(ClusteringPlanContract):
    @pytest.fixture
    def planner(self) -> ClusteringPlanner:
        return Several()


class TestCopy(ClusteringPlanContract):
    @pytest.fixture
    def planner(self) -> ClusteringPlanner:
        return AsTheyCome()


class TestKeyRange(ClusteringPlanContract):
    @pytest.fixture
    def planner(self) -> ClusteringPlanner:
        return ByKeyRange()


class TestCommitTime(ClusteringPlanContract):
    @pytest.fixture
    def planner(self) -> ClusteringPlanner:
        return ByCommitTime()


class TestOverlap(ClusteringPlanContract):
    @pytest.fixture(params=[("n",), ("city", "n")], ids=["one", "two"])
    def planner(self, request: pytest.FixtureRequest) -> ClusteringPlanner:
        return ByOverlap(request.param)


class TestRandom(ClusteringPlanContract):
    @pytest.fixture
    def planner(self) -> ClusteringPlanner:
        return AtRandom("seven")


def item(
    number: int, size: int = 50 * MB, at: str = "20240101000000000", **bounds: Any
) -> Clusterable:
    """A slice; ``bounds`` by column, ``key`` is the record key."""
    known: dict[str, Bounds] = {
        RECORD_KEY if name == "key" else name: ends for name, ends in bounds.items()
    }
    return made_clusterable("p", number, size, known, at)


def numbers(groups: Sequence[ClusteringGroup]) -> list[list[int]]:
    return [[int(one.slice.file_id.split("-")[4]) for one in group.slices] for group in groups]


def by(planner: ClusteringPlanner, items: Sequence[Clusterable], sizes: GroupSizes = SIZES) -> Any:
    return numbers(planner.group(items, sizes))


# --- size -----------------------------------------------------------------------------------------
def test_the_largest_first_until_a_group_is_full() -> None:
    items = [item(n, size * MB) for n, size in enumerate([30, 90, 10, 200, 60, 90])]
    # As Hudi packs them: 200; 90 + 90 + 60; 30 + 10.
    assert by(BySize(), items) == [[3], [1, 5, 4], [0, 2]]


def test_a_slice_of_more_than_a_group_stands_alone() -> None:
    assert by(BySize(), [item(0, 900 * MB), item(1, MB)]) == [[0], [1]]


def test_the_oldest_first_if_asked_for() -> None:
    items = [item(0, 10, "20240103000000000"), item(1, 20, "20240101000000000"),
             item(2, 30, "20240101000000000")]  # fmt: skip
    both = BySize.from_settings(Settings(options={SORT_BY: "instant_time, SIZE"}))
    assert by(both, items) == [[2, 1, 0]]
    assert by(BySize(("INSTANT_TIME",)), items) == [[1, 2, 0]]


def test_another_word_than_size_and_instant_time() -> None:
    with pytest.raises(ConfigError, match="file.slices.sort.by"):
        BySize.from_settings(Settings(options={SORT_BY: "SIZE,AGE"}))


# --- neighbours -----------------------------------------------------------------------------------
def test_neighbours_by_record_key() -> None:
    ranges = [("m", "z"), ("a", "c"), ("d", "e"), ("b", "x"), None, ("k", "l"), None]
    items = [item(n, key=ends) for n, ends in enumerate(ranges)]
    # Four of 50 MB are 2 x the target; 250 MB, the most, is no multiple of it.
    assert by(ByKeyRange(), items) == [[1, 3, 2, 5], [0], [4, 6]]


def test_neighbours_by_commit_time() -> None:
    days = [5, 1, 4, 2, 3]
    items = [item(n, at=f"202401{day:02d}000000000") for n, day in enumerate(days)]
    items[1] = item(1, at="20240101000000")  # seconds, as old versions of Hudi
    assert by(ByCommitTime(), items) == [[1, 3, 4, 2], [0]]


def test_groups_are_multiples_of_the_target() -> None:
    items = [item(n, 25 * MB) for n in range(25)]
    for planner in (ByKeyRange(), ByCommitTime(), AtRandom(), ByOverlap(("n",))):
        groups = planner.group(items, GroupSizes(100 * MB, 390 * MB))
        assert [group.size // MB for group in groups] == [300, 300, 25]


def test_a_group_may_be_smaller_than_the_target() -> None:
    assert by(ByCommitTime(), [item(n) for n in range(4)], GroupSizes(200 * MB, 110 * MB)) == [
        [0, 1], [2, 3]
    ]  # fmt: skip


# --- random ---------------------------------------------------------------------------------------
def test_the_seed_decides() -> None:
    items = [item(n) for n in range(20)]
    one, other = by(AtRandom("1"), items), by(AtRandom("2"), items)
    assert one == by(AtRandom.from_settings(Settings(options={SEED: "1"})), items[::-1])
    assert one != other
    assert sorted(chain.from_iterable(one)) == sorted(chain.from_iterable(other)) == list(range(20))


# --- overlap --------------------------------------------------------------------------------------
def eight(overlapping: int) -> list[Clusterable]:
    """Files of half the target size, of which the first ones overlap."""
    lows = [n * 10 if n < overlapping else n * 100 for n in range(8)]
    return [item(n, n=(low, low + 15)) for n, low in enumerate(lows)]


@pytest.mark.parametrize(("overlapping", "outputs"), [(2, 1), (4, 2)])
def test_the_worked_example_of_the_rfc(overlapping: int, outputs: int) -> None:
    planner = ByOverlap(("n",))
    groups = planner.group(eight(overlapping), SIZES)
    assert numbers(groups) == [list(range(overlapping)), *([n] for n in range(overlapping, 8))]
    chosen = planner.choose(groups)
    assert numbers(chosen) == [list(range(overlapping))]
    assert [SIZES.outputs(group.size) for group in chosen] == [outputs]


def test_overlapping_hangs_together_through_others() -> None:
    ends = [(0, 10), (100, 200), (9, 50), (150, 160), (49, 60)]
    items = [item(n, 1, n=found) for n, found in enumerate(ends)]
    assert by(ByOverlap(("n",)), items) == [[0, 2, 4], [1, 3]]


def test_neighbours_that_share_an_end_do_not_overlap() -> None:
    items = [item(n, 1, n=(n * 10, n * 10 + 10)) for n in range(4)]
    assert by(ByOverlap(("n",)), items) == [[0], [1], [2], [3]]
    single = [item(n, 1, n=(7, 7)) for n in range(3)]
    assert by(ByOverlap(("n",)), single) == [[0, 1, 2]]
    inside = [item(0, 1, n=(0, 9)), item(1, 1, n=(5, 5)), item(2, 1, n=(9, 9))]
    assert by(ByOverlap(("n",)), inside) == [[0, 1], [2]]


def test_what_is_too_large_is_cut_by_its_lower_bounds() -> None:
    items = [item(n, n=((n * 3) % 7, 100)) for n in range(7)]  # lower bounds 0 3 6 2 5 1 4
    assert by(ByOverlap(("n",)), items) == [[0, 5, 3, 1], [6, 4, 2]]


def test_boxes_overlap_in_all_columns() -> None:
    one, two = ("a", "f"), ("f", "k")
    boxes = [
        (one, (0, 5)),
        (two, (6, 9)),
        (one, (6, 9)),
        (("b", "c"), (4, 7)),
        (("x", "z"), (0, 9)),
    ]
    items = [item(n, 1, city=city, n=ends) for n, (city, ends) in enumerate(boxes)]
    # Box 1 meets box 2 in the edge "f" alone, and both from 6 to 9 of the other column.
    assert by(ByOverlap(("city", "n")), items) == [[0, 2, 3, 1], [4]]
    apart = [item(0, 1, city=one, n=(0, 5)), item(1, 1, city=one, n=(6, 9))]
    assert by(ByOverlap(("city", "n")), apart) == [[0], [1]]


def test_the_most_overlapping_first_and_the_unknown_last() -> None:
    ends = [None, (0, 10), (5, 15), None, (100, 110), (100, 110), (105, 120), (500, 501)]
    planner = ByOverlap(("n",))
    groups = planner.group([item(n, 1, n=found) for n, found in enumerate(ends)], SIZES)
    assert numbers(planner.choose(groups)) == [[4, 5, 6], [1, 2], [0, 3]]


def test_what_was_cut_so_that_nothing_overlaps_is_left_out() -> None:
    # 0 and 3 hang together through 1 and 2 alone, which are in the group before.
    items = [item(0, 100 * MB, n=(0, 9)), item(1, 100 * MB, n=(5, 30)), item(2, n=(29, 40)),
             item(3, n=(39, 41))]  # fmt: skip
    planner = ByOverlap(("n",))
    groups = planner.group(items, SIZES)
    assert numbers(groups) == [[0, 1], [2, 3]]
    apart = [ClusteringGroup((items[0], items[3]))]
    assert numbers(planner.choose([*groups, *apart])) == [[0, 1], [2, 3]]


def test_overlap_needs_columns() -> None:
    with pytest.raises(ConfigError, match="sort.columns"):
        ByOverlap.from_settings(Settings(options={SORT_COLUMNS: " , "}))
    made = ByOverlap.from_settings(Settings(options={SORT_COLUMNS: "city, n,city"}))
    assert made.bounds_of == ("city", "n")


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 5)), min_size=1, max_size=14))
def test_components_are_those_of_the_graph(drawn: list[tuple[int, int]]) -> None:
    items = [item(n, 1, n=(low, low + width)) for n, (low, width) in enumerate(drawn)]
    boxes = Boxes.of(items, ["n"])
    near = [[bool(found) for found in boxes.overlapping(n)] for n in range(len(items))]
    assert near == [list(column) for column in zip(*near, strict=True)]  # whoever is asked
    reach = {n: {n} for n in range(len(items))}
    for _ in items:
        for n in reach:
            reach[n] |= {m for k in reach[n] for m in range(len(items)) if near[k][m]}
    parts = sorted({tuple(sorted(found)) for found in reach.values()})
    assert [tuple(found) for found in boxes.components()] == parts
    assert boxes.meetings() == sum(sum(row[n + 1 :]) for n, row in enumerate(near))


EDGES = st.tuples(st.integers(0, 12), st.integers(0, 5))


@given(
    st.integers(1, 3).flatmap(
        lambda n: st.lists(st.lists(EDGES, min_size=n, max_size=n), min_size=1, max_size=14)
    )
)
def test_components_of_boxes_are_those_of_the_graph(drawn: list[list[tuple[int, int]]]) -> None:
    ends = np.array(drawn, np.int64)  # boxes, their columns, begin and width
    low, width = ends[..., 0].T, ends[..., 1].T
    boxes = Boxes(low, low + width)
    near = [set(np.flatnonzero(boxes.overlapping(n)).tolist()) for n in range(len(drawn))]
    left, parts = set(range(len(drawn))), []
    while left:
        found, waiting = set(), {min(left)}
        while waiting:
            found |= waiting
            waiting = {m for n in waiting for m in near[n]} - found
        parts.append(sorted(found))
        left -= found
    assert boxes.components() == parts
    assert boxes.meetings() == sum(m > n for n, found in enumerate(near) for m in found)


# --- Hudi's other classes -------------------------------------------------------------------------
def test_one_file_alone_is_no_use_unless_rows_are_sorted() -> None:
    one, two = item(1, 5), item(2, 6)
    assert Several().group([one], SIZES) == []
    assert numbers(Several().group([one, two], SIZES)) == [[2, 1]]
    assert numbers(Several(sorts=True).group([one], SIZES)) == [[1]]


def test_each_alone_whatever_its_size() -> None:
    groups = EachAlone().group([item(1, 5), item(2, 900 * MB)], SIZES)
    assert [(numbers([group]), group.outputs) for group in groups] == [([[2]], 1), ([[1]], 1)]


# --- all of them ----------------------------------------------------------------------------------
EVERY = [Several(sorts=True), EachAlone(), AsTheyCome(), BySize(), BySize(("INSTANT_TIME",)), ByKeyRange(), ByCommitTime(), AtRandom("x"),
         ByOverlap(("n",)), ByOverlap(("n", RECORD_KEY))]  # fmt: skip
ENDS = st.none() | st.tuples(st.integers(0, 50), st.integers(0, 20)).map(lambda e: (e[0], sum(e)))


@pytest.mark.sampled(1, among="long")
@given(
    st.lists(st.tuples(st.integers(0, 120), ENDS, st.integers(0, 9)), max_size=12),
    st.integers(1, 100),
    st.integers(1, 300),
)
def test_groups_part_the_candidates_and_hold_to_the_cap(
    drawn: list[tuple[int, Any, int]], target: int, most: int
) -> None:
    items = [
        item(n, size, f"2024010{day + 1}000000000"[:17], n=ends,
             key=ends and tuple(f"{end:03d}" for end in ends))
        for n, (size, ends, day) in enumerate(drawn)
    ]  # fmt: skip
    sizes = GroupSizes(target, most)
    for planner in EVERY:
        groups = planner.group(items, sizes)
        assert sorted(chain.from_iterable(numbers(groups))) == list(range(len(items)))
        for group in groups:
            assert len(group.slices) == 1 or group.size <= most
        chosen = numbers(planner.choose(groups))
        assert all(found in numbers(groups) for found in chosen)
        assert numbers(planner.group(items, sizes)) == numbers(groups)


def test_names_and_factories() -> None:
    import pkgutil

    options = {SORT_COLUMNS: "n"}
    made = {
        r.name: pkgutil.resolve_name(str(r.factory))(Settings(options=options)) for r in planners()
    }
    assert made == {
        "size": BySize(), "several": Several(sorts=True), "single_file": EachAlone(),
        "copy": AsTheyCome(), "key_range": ByKeyRange(), "commit_time": ByCommitTime(),
        "overlap": ByOverlap(("n",)), "random": AtRandom("0"),
    }  # fmt: skip
    aliases = {alias.rpartition(".")[2]: r.name for r in planners() for alias in r.aliases}
    assert aliases == {
        **{f"{java}SizeBasedClusteringPlanStrategy": "size" for java in ("Spark", "Java", "Flink")},
        **{
            f"{java}RecentDaysClusteringPlanStrategy": "size" for java in ("Spark", "Java", "Flink")
        },
        **{
            f"{java}SelectedPartitionsClusteringPlanStrategy": "size" for java in ("Spark", "Flink")
        },
        "FlinkSizeBasedClusteringPlanStrategyRecently": "size",
        "FlinkSkipSingleFileClusteringPlanStrategy": "several",
        "SparkSingleFileSortPlanStrategy": "single_file",
        "SparkStreamCopyClusteringPlanStrategy": "copy",
        "CommitBasedClusteringPlanStrategy": "commit_time",
    }
