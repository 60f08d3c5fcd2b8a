"""Groups by overlap: slices whose values of the sort columns overlap (RFC-19, "Scheduling
clustering", 4).

Of 8 files of half the target size, 2 that overlap become one file of the target size, and 4 become
two; what overlaps with nothing stays as it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.registration import Settings

from hoodoo_clustering.hookspecs.clustering import Clusterable, ClusteringGroup, GroupSizes
from hoodoo_clustering.options import SORT_COLUMNS as COLUMNS
from hoodoo_clustering.strategies.boxes import Boxes
from hoodoo_clustering.strategies.cut import cut


@frozen
class ByOverlap:
    """``columns``: one makes intervals, several make boxes. Slices of which they are not known may
    overlap with anything: these come together, and last."""

    columns: tuple[str, ...]

    @classmethod
    def from_settings(cls, settings: Settings) -> ByOverlap:
        """Raises ConfigError where no column is named."""
        columns = settings.given(COLUMNS) or ()
        if not columns:
            raise ConfigError(
                f"option {COLUMNS.key}",
                "names no column whose values could overlap.",
                "Name the columns that queries filter by, or group by size.",
            )
        return cls(columns)

    @property
    def bounds_of(self) -> tuple[str, ...]:
        return self.columns

    def group(
        self, candidates: Sequence[Clusterable], sizes: GroupSizes
    ) -> Sequence[ClusteringGroup]:
        known = [item for item in candidates if self._is_known(item)]
        unknown = [item for item in candidates if not self._is_known(item)]
        boxes = Boxes.of(known, self.columns)
        groups: list[ClusteringGroup] = []
        for component in boxes.components():
            # Of equal boxes the one with the lesser file id comes first: candidates are sorted by
            # it.
            if len(component) > 1:
                ends = (*boxes.low[:, component], *boxes.high[:, component])
                component = np.array(component)[np.lexsort(ends[::-1])].tolist()
            groups += cut([known[n] for n in component], sizes)
        return [*groups, *cut(unknown, sizes)]

    def choose(self, groups: Sequence[ClusteringGroup]) -> Sequence[ClusteringGroup]:
        """Most overlaps for each slice first; those in which nothing overlaps are left out."""
        ranked = [(self._overlap(group), group) for group in groups if len(group.slices) > 1]
        kept = [pair for pair in ranked if pair[0] is not None]
        return [group for _, group in sorted(kept, key=lambda pair: -(pair[0] or 0.0))]

    def _overlap(self, group: ClusteringGroup) -> float | None:
        """Slices that one of the group overlaps with, on average; None: none does. 0: not known."""
        if not all(self._is_known(item) for item in group.slices):
            return 0.0
        pairs = Boxes.of(group.slices, self.columns).meetings()
        return 2 * pairs / len(group.slices) if pairs else None

    def _is_known(self, item: Clusterable) -> bool:
        return all(item.bounds.get(column) is not None for column in self.columns)
