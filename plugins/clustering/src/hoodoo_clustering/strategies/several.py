"""Groups by size where there is something to put together: Hudi's ``FlinkSkipSingleFileClusteringPlanStrategy``."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen
from hoodoo.hookspecs.registration import Settings

from hoodoo_clustering.hookspecs.clustering import Clusterable, ClusteringGroup, GroupSizes
from hoodoo_clustering.options import SORT_COLUMNS
from hoodoo_clustering.strategies.by_size import BySize


@frozen
class Several:
    """A partition path with one candidate is left alone, unless its rows are sorted."""

    by_size: BySize = BySize()
    sorts: bool = False

    @classmethod
    def from_settings(cls, settings: Settings) -> Several:
        return cls(BySize.from_settings(settings), bool(SORT_COLUMNS.given(settings.options)))

    @property
    def bounds_of(self) -> tuple[str, ...]:
        return ()

    def group(
        self, candidates: Sequence[Clusterable], sizes: GroupSizes
    ) -> Sequence[ClusteringGroup]:
        if len(candidates) == 1 and not self.sorts:
            return []
        return self.by_size.group(candidates, sizes)

    def choose(self, groups: Sequence[ClusteringGroup]) -> Sequence[ClusteringGroup]:
        return groups
