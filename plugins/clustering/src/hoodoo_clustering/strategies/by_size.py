"""Groups by size: as many slices together as a group may read. Hudi's default.

Source: ``PartitionAwareClusteringPlanStrategy``, ``ClusteringFileSliceComparator`` of Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import frozen
from hoodoo.hookspecs.registration import Settings
from hoodoo.timeline.instants import order_key

from hoodoo_clustering.hookspecs.clustering import Clusterable, ClusteringGroup, GroupSizes
from hoodoo_clustering.strategies.cut import filled
from hoodoo_clustering.strategies.every_group import EveryGroup
from hoodoo_clustering.strategies.planners import SORT_BY

_SIZE, _INSTANT = "SIZE", "INSTANT_TIME"


@frozen
class BySize(EveryGroup):
    """``sort_by``: what slices are sorted by before they are packed, the first counts most: SIZE,
    the largest first; INSTANT_TIME, the oldest first."""

    sort_by: tuple[str, ...] = (_SIZE,)

    @classmethod
    def from_settings(cls, settings: Settings) -> BySize:
        """Raises ConfigError for another word than these."""
        return cls(settings.value(SORT_BY))

    def group(
        self, candidates: Sequence[Clusterable], sizes: GroupSizes
    ) -> Sequence[ClusteringGroup]:
        return filled(sorted(candidates, key=self._key), sizes.group)

    def _key(self, item: Clusterable) -> tuple[Any, ...]:
        values = {_SIZE: -item.size, _INSTANT: order_key(item.slice.instant)}
        return tuple(values[word] for word in self.sort_by)
