"""Groups by record key: slices whose ranges of keys are neighbours (RFC-19, "Scheduling
clustering", 2)."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.meta import RECORD_KEY

from hoodoo_clustering.hookspecs.clustering import Clusterable, ClusteringGroup, GroupSizes
from hoodoo_clustering.strategies.cut import cut


@frozen
class ByKeyRange:
    """Slices whose keys are not known come together, after the others."""

    @classmethod
    def from_settings(cls, settings: Settings) -> ByKeyRange:
        return cls()

    @property
    def bounds_of(self) -> tuple[str, ...]:
        return (RECORD_KEY,)

    def group(
        self, candidates: Sequence[Clusterable], sizes: GroupSizes
    ) -> Sequence[ClusteringGroup]:
        known = [(found, item) for item in candidates if (found := item.bounds.get(RECORD_KEY))]
        ordered = sorted(known, key=lambda pair: (*pair[0], pair[1].slice.file_id))
        unknown = [item for item in candidates if not item.bounds.get(RECORD_KEY)]
        return [*cut((item for _, item in ordered), sizes), *cut(unknown, sizes)]

    def choose(self, groups: Sequence[ClusteringGroup]) -> Sequence[ClusteringGroup]:
        return groups
