"""Where a clustering looks: the filters of partition paths."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from hoodoo_clustering.hookspecs.partition_filter import PartitionFilter
from hoodoo_clustering.partitions import wanted_partitions
from hoodoo_clustering.settings import ClusteringSettings
from hoodoo_clustering.strategies.filters import DayRolling, NoFilter, Range, RecentDays
from hoodoo_clustering.testing.partition_filter import PartitionFilterContract, made_partition

DAYS = [f"2024/01/{day:02d}" for day in range(1, 10)]
NO_FILTER = NoFilter()
NOON = datetime(2024, 1, 10, 12, tzinfo=timezone.utc)


def days(*wanted: int) -> list[str]:
    return [f"2024/01/{day:02d}" for day in wanted]


def wanted(
    paths: list[str] = DAYS, now: datetime = NOON, only: Any = NO_FILTER, **settings: Any
) -> list[str]:
    partitions = [made_partition(path) for path in sorted(paths)]
    return wanted_partitions(partitions, ClusteringSettings(**settings), only, now)


class TestNoFilter(PartitionFilterContract):
    @pytest.fixture
    def partition_filter(self) -> PartitionFilter:
        return NoFilter()


class TestRecentDays(PartitionFilterContract):
    @pytest.fixture
    def partition_filter(self) -> PartitionFilter:
        return RecentDays(3, 2)


class TestRange(PartitionFilterContract):
    @pytest.fixture
    def partition_filter(self) -> PartitionFilter:
        return Range("2024/01/04", "2024/01/20")


class TestDayRolling(PartitionFilterContract):
    @pytest.fixture
    def partition_filter(self) -> PartitionFilter:
        return DayRolling()


def test_all_of_them_the_oldest_first() -> None:
    assert wanted() == DAYS
    assert wanted(latest_first=True) == DAYS[::-1]
    assert wanted([""]) == [""]  # a table without partitions


@pytest.mark.parametrize(
    ("lookback", "skip", "expected"),
    [
        (2, 0, [8, 9]),
        (2, 1, [7, 8]),
        (3, 8, [1]),
        (3, 9, []),
        (0, 7, [1, 2]),
        (50, 0, range(1, 10)),
    ],
)
def test_recent_days(lookback: int, skip: int, expected: list[int]) -> None:
    """The newest come first, as in Hudi: a plan that has room for few groups takes these."""
    found = wanted(only=RecentDays(lookback, skip))
    assert found == days(*reversed(expected))


def test_recent_days_the_latest_first() -> None:
    assert wanted(only=RecentDays(), latest_first=True) == days(9, 8)


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [("2024/01/03", "2024/01/05", [3, 4, 5]), (None, "2024/01/02", [1, 2]), ("2024/01/09", None, [9]),
     ("2025", None, []), (None, None, range(1, 10))],
)  # fmt: skip
def test_a_range(begin: str | None, end: str | None, expected: list[int]) -> None:
    assert wanted(only=Range(begin, end)) == days(*expected)


def test_each_partition_at_one_hour_of_the_day() -> None:
    paths = [f"p{n:03d}" for n in range(50)]
    hours = [NOON.replace(hour=hour) for hour in range(24)]
    found = [wanted(paths, hour, DayRolling()) for hour in hours]
    assert found[1] == ["p001", "p025", "p049"]
    assert sorted(path for some in found for path in some) == paths


def test_named_partitions_and_those_that_match() -> None:
    assert wanted(selected=("2024/01/07", "2024/01/02", "2023")) == days(2, 7)
    assert wanted(pattern=r"2024/01/0[45]") == days(4, 5)
    assert wanted(pattern="01") == []  # the whole path has to match
    # As in Hudi: named ones need not match; the filter counts for both.
    assert wanted(selected=("2024/01/02",), pattern="x") == days(2)
    assert wanted(pattern=".*0[1-3]", only=RecentDays(1)) == days(3)
