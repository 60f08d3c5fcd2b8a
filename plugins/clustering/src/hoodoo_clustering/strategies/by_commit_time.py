"""Groups by commit time: slices that were written one after the other.

Hudi's ``CommitBasedClusteringPlanStrategy`` walks over the commits after
``hoodie.clustering.plan.strategy.earliest.commit.to.cluster`` and packs what they wrote, partition
by partition, whenever a group is full. Here the slices that are the newest now come in the order of
their base instants; core leaves out what is too old."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen
from hoodoo.hookspecs.registration import Settings
from hoodoo.timeline.instants import order_key

from hoodoo_clustering.hookspecs.clustering import Clusterable, ClusteringGroup, GroupSizes
from hoodoo_clustering.strategies.cut import cut
from hoodoo_clustering.strategies.every_group import EveryGroup


@frozen
class ByCommitTime(EveryGroup):
    @classmethod
    def from_settings(cls, settings: Settings) -> ByCommitTime:
        return cls()

    def group(
        self, candidates: Sequence[Clusterable], sizes: GroupSizes
    ) -> Sequence[ClusteringGroup]:
        def age(item: Clusterable) -> tuple[str, str]:
            return order_key(item.slice.instant), item.slice.file_id

        return cut(sorted(candidates, key=age), sizes)
