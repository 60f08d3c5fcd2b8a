"""Copy: groups by size whose rows stay as they come, whatever columns are named to sort by.

Source: ``SparkStreamCopyClusteringPlanStrategy`` of Hudi 1.2.0, which also keeps files of different columns apart, as
they are joined byte by byte. Here rows are decoded (ADR 0018), and may be of any files. The plan does not name the
class that copies: in Spark Hudi that one stops at files whose key filters have different sizes.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen
from hoodoo.hookspecs.registration import Settings

from hoodoo_clustering.hookspecs.clustering import Clusterable, ClusteringGroup, GroupSizes
from hoodoo_clustering.strategies.by_size import BySize


@frozen
class AsTheyCome:
    by_size: BySize = BySize()
    order: str = "combine"

    @classmethod
    def from_settings(cls, settings: Settings) -> AsTheyCome:
        return cls(BySize.from_settings(settings))

    @property
    def bounds_of(self) -> tuple[str, ...]:
        return ()

    def group(
        self, candidates: Sequence[Clusterable], sizes: GroupSizes
    ) -> Sequence[ClusteringGroup]:
        return self.by_size.group(candidates, sizes)

    def choose(self, groups: Sequence[ClusteringGroup]) -> Sequence[ClusteringGroup]:
        return groups
