"""Groups by size where there is something to put together: Hudi's
``FlinkSkipSingleFileClusteringPlanStrategy``."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen
from hoodoo.hookspecs.registration import Settings

from hoodoo_clustering.hookspecs.clustering import Clusterable, ClusteringGroup, GroupSizes
from hoodoo_clustering.options import SORT_COLUMNS
from hoodoo_clustering.strategies.by_size import BySize
from hoodoo_clustering.strategies.planners import SORT_BY


@frozen
class Several(BySize):
    """A partition path with one candidate is left alone, unless its rows are sorted."""

    sorts: bool = False

    @classmethod
    def from_settings(cls, settings: Settings) -> Several:
        return cls(settings.value(SORT_BY), bool(SORT_COLUMNS.given(settings.options)))

    def group(
        self, candidates: Sequence[Clusterable], sizes: GroupSizes
    ) -> Sequence[ClusteringGroup]:
        if len(candidates) == 1 and not self.sorts:
            return []
        return super().group(candidates, sizes)
