"""What becomes of a write that meets a pending resize: its rows go into the file groups to come,
too.

Source: ``SparkConsistentBucketDuplicateUpdateStrategy`` of Hudi 1.2.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen
from hoodoo.hookspecs.clustering_updates import PendingPlan
from hoodoo.hookspecs.registration import Settings


@frozen
class Duplicate:
    """Implements :class:`~hoodoo.hookspecs.clustering_updates.ClusteringUpdates`."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Duplicate:
        return cls()

    @property
    def doubles(self) -> bool:
        return True

    def refuse(self, plan: PendingPlan, touched: Iterable[tuple[str, str]]) -> str | None:
        """Of writes whose rows can't be put into file groups to come."""
        return (
            "its rows would have to be in the file groups to come as well, which is done by the "
            "buckets of consistent "
            "hashing, for rows that come in the place of no others, in tables without a record "
            "index"
        )
