"""What every filter of partitions promises: the contract of
:class:`hoodoo_clustering.hookspecs.partition_filter.PartitionFilter` as tests.

Usage::

    class TestMine(PartitionFilterContract):
        @pytest.fixture
        def partition_filter(self):
            return MyFilter(...)

The filter should let some of the suite's ``partitions`` through at one hour of the day at least, or
answer that fixture, too."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from datetime import datetime, timezone

import pytest
from hoodoo.model.filegroup import BaseFile, FileSlice

from hoodoo_clustering.hookspecs.partition_filter import PartitionFilter, TablePartition

_NOON = datetime(2024, 1, 31, 12, tzinfo=timezone.utc)
_MIB = 1 << 20


def made_partition(
    path: str,
    sizes: Sequence[int] = (_MIB,),
    instant: str = "20240101000000000",
    changed: bool = True,
) -> TablePartition:
    """A partition whose base files have these bytes."""
    slices = []
    for n, size in enumerate(sizes):
        file_id = f"00000000-0000-4000-8000-{n:012d}-0"
        base = BaseFile(path, file_id, instant, "0-0-0", size=size)
        slices.append(FileSlice(path, file_id, instant, base))
    return TablePartition(path, tuple(slices), changed)


class PartitionFilterContract:
    """Subclass, and answer the fixture ``partition_filter``."""

    @pytest.fixture
    def partition_filter(self) -> PartitionFilter:
        raise NotImplementedError("override the fixture `partition_filter`")

    @pytest.fixture
    def partitions(self) -> list[TablePartition]:
        """As a plan hands them over: sorted by path."""
        return [
            made_partition(
                f"2024/01/{day:02d}",
                [day * _MIB] * (day % 3 + 1),
                f"202401{day:02d}120000000",
                changed=day % 2 == 0,
            )
            for day in range(1, 31)
        ]

    @pytest.fixture
    def hours(self) -> list[datetime]:
        return [_NOON.replace(hour=hour) for hour in range(24)]

    def test_obeys_the_protocol(self, partition_filter: PartitionFilter) -> None:
        assert isinstance(partition_filter, PartitionFilter)

    def test_lets_something_through(
        self,
        partition_filter: PartitionFilter,
        partitions: list[TablePartition],
        hours: list[datetime],
    ) -> None:
        found = [partition_filter.wanted(partitions, hour) for hour in hours]
        assert any(found), "a suite over nothing proves nothing"

    def test_each_partition_once_at_most(
        self,
        partition_filter: PartitionFilter,
        partitions: list[TablePartition],
        hours: list[datetime],
    ) -> None:
        for hour in hours:
            paths = [one.path for one in partition_filter.wanted(partitions, hour)]
            assert set(paths) <= {one.path for one in partitions}
            assert len(paths) == len(set(paths)), "a partition would be planned twice"

    @pytest.mark.parametrize("count", [0, 1, 2])
    def test_few_partitions(
        self,
        partition_filter: PartitionFilter,
        partitions: list[TablePartition],
        hours: list[datetime],
        count: int,
    ) -> None:
        for hour in hours:
            found = partition_filter.wanted(partitions[:count], hour)
            assert all(one in partitions[:count] for one in found)

    def test_a_table_without_partitions(
        self, partition_filter: PartitionFilter, hours: list[datetime]
    ) -> None:
        whole = made_partition("")
        for hour in hours:
            assert list(partition_filter.wanted([whole], hour)) in ([], [whole])

    def test_is_a_pure_function(
        self,
        partition_filter: PartitionFilter,
        partitions: list[TablePartition],
        hours: list[datetime],
    ) -> None:
        before = list(partitions)
        first = [list(partition_filter.wanted(partitions, hour)) for hour in hours]
        assert partitions == before, "it changed its argument"
        again = pickle.loads(pickle.dumps(partition_filter))
        assert [list(again.wanted(tuple(partitions), hour)) for hour in hours] == first
