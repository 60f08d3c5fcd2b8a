"""Copy: groups by size of files with the same columns, whose bytes Spark Hudi can copy.

Source: ``SparkStreamCopyClusteringPlanStrategy`` of Hudi 1.2.0. Who runs its plans there copies without a look at
schemas; Hoodoo decodes rows (ADR 0018), and would get along with any.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen
from hoodoo.hookspecs.registration import Settings

from hoodoo_clustering.hookspecs.clustering import Clusterable, ClusteringGroup, GroupSizes
from hoodoo_clustering.strategies.by_size import BySize


@frozen
class ToCopy:
    """Slices without a base file, of which nobody knows what they store, come together."""

    by_size: BySize = BySize()
    order: str = "copy"
    wants_stored: bool = True

    @classmethod
    def from_settings(cls, settings: Settings) -> ToCopy:
        return cls(BySize.from_settings(settings))

    @property
    def bounds_of(self) -> tuple[str, ...]:
        return ()

    def group(
        self, candidates: Sequence[Clusterable], sizes: GroupSizes
    ) -> Sequence[ClusteringGroup]:
        alike: dict[str | None, list[Clusterable]] = {}
        for item in candidates:
            alike.setdefault(item.stored, []).append(item)
        return [group for items in alike.values() for group in self.by_size.group(items, sizes)]

    def choose(self, groups: Sequence[ClusteringGroup]) -> Sequence[ClusteringGroup]:
        return groups
