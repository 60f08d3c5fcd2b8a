"""Partition filter: the partition paths that a clustering looks at."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

from attrs import field, frozen
from hoodoo.hookspecs.answers import Some, answers
from hoodoo.hookspecs.family import Family
from hoodoo.model.filegroup import FileSlice
from hoodoo.timeline.instants import order_key


@frozen
class TablePartition:
    """A partition path of the table, with the newest slice of each of its file groups. ``changed``:
    writes have touched it since the last plan of a clustering, or nobody knows."""

    path: str
    slices: tuple[FileSlice, ...] = field(default=(), eq=False, repr=False)
    changed: bool = True

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(one.size for one in self.slices)

    @property
    def newest(self) -> str:
        """The instant of its newest slice."""
        return max((one.instant for one in self.slices), key=order_key, default="")


@runtime_checkable
class PartitionFilter(Protocol):
    """Contract suite: ``hoodoo_clustering.testing.partition_filter``. Pure: answers depend on the
    arguments."""

    @answers(Some("partitions", "partitions"))
    def wanted(
        self, partitions: Sequence[TablePartition], now: datetime
    ) -> Sequence[TablePartition]:
        """Those of the ``partitions`` to look at, the ones to cluster first first.

        They are all that the table has, or that are named by other options, sorted by path, whether
        they changed or not; of the answer, those that did not change are left out where only
        changed ones are asked for. ``now`` is of the time zone of the process that plans."""


FAMILY = Family(
    "hoodoo_partition_filters",
    """Offer filters of partition paths. When: a clustering is scheduled. Default: ``no_filter``,
    which lets all through.

    Names are looked up with ``hoodie.clustering.plan.partition.filter.mode``. The factory returns a
    :class:`PartitionFilter`.""",
    (PartitionFilter,),
)
