"""Every group: what planners share that look at no column, and leave no group out."""

from __future__ import annotations

from collections.abc import Sequence

from hoodoo_clustering.hookspecs.clustering import ClusteringGroup


class EveryGroup:
    @property
    def bounds_of(self) -> tuple[str, ...]:
        return ()

    def choose(self, groups: Sequence[ClusteringGroup]) -> Sequence[ClusteringGroup]:
        return groups
