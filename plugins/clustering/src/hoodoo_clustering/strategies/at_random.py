"""Groups at random: which slices come together says nothing of what they hold."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen
from hoodoo.hookspecs.registration import Settings

from hoodoo_clustering.hookspecs.clustering import Clusterable, ClusteringGroup, GroupSizes
from hoodoo_clustering.strategies.cut import cut, scattered
from hoodoo_clustering.strategies.every_group import EveryGroup
from hoodoo_clustering.strategies.planners import SEED


@frozen
class AtRandom(EveryGroup):
    """The same ``seed`` and file ids make the same groups: whoever plans twice plans alike."""

    seed: str = "0"

    @classmethod
    def from_settings(cls, settings: Settings) -> AtRandom:
        return cls(settings.value(SEED))

    def group(
        self, candidates: Sequence[Clusterable], sizes: GroupSizes
    ) -> Sequence[ClusteringGroup]:
        return cut(sorted(candidates, key=lambda item: scattered(item, self.seed)), sizes)
