"""Groups by size: as many slices together as a group may read. Hudi's default.

Source: ``PartitionAwareClusteringPlanStrategy``, ``ClusteringFileSliceComparator`` of Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.clustering import Clusterable, ClusteringGroup, GroupSizes
from hoodoo.hookspecs.registration import Settings
from hoodoo.timeline.instants import order_key

from hoodoo_standard.cluster.cut import filled

SORT_BY = "hoodie.clustering.plan.strategy.file.slices.sort.by"
_SIZE, _INSTANT = "SIZE", "INSTANT_TIME"


@frozen
class BySize:
    """``sort_by``: what slices are sorted by before they are packed, the first counts most: SIZE, the largest
    first; INSTANT_TIME, the oldest first."""

    sort_by: tuple[str, ...] = (_SIZE,)

    @classmethod
    def from_settings(cls, settings: Settings) -> BySize:
        """Raises ConfigError for another word than these."""
        text = settings.get(SORT_BY) or _SIZE
        words = tuple(word.strip().upper() for word in text.split(","))
        if not set(words) <= {_SIZE, _INSTANT}:
            raise ConfigError(
                f"option {SORT_BY}", f"takes {_SIZE} and {_INSTANT}, with a comma between, not {text!r}.",
                f"Leave it out: the default is {_SIZE}.",
            )  # fmt: skip
        return cls(words)

    @property
    def bounds_of(self) -> tuple[str, ...]:
        return ()

    def group(
        self, candidates: Sequence[Clusterable], sizes: GroupSizes
    ) -> Sequence[ClusteringGroup]:
        return filled(sorted(candidates, key=self._key), sizes.group)

    def choose(self, groups: Sequence[ClusteringGroup]) -> Sequence[ClusteringGroup]:
        return groups

    def _key(self, item: Clusterable) -> tuple[Any, ...]:
        values = {_SIZE: -item.size, _INSTANT: order_key(item.slice.instant)}
        return tuple(values[word] for word in self.sort_by)
