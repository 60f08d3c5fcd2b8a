"""What becomes of a write that meets a pending clustering: it is refused, or the clustering gives
way.

Source: ``org.apache.hudi.client.clustering.update.strategy``.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen
from hoodoo.hookspecs.clustering_updates import PendingPlan
from hoodoo.hookspecs.registration import Settings


@frozen
class Reject:
    """A file group that waits for its clustering is left as it is. Hudi's default."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Reject:
        return cls()

    def refuse(self, plan: PendingPlan, touched: Iterable[tuple[str, str]]) -> str | None:
        return "writes are refused until it is done"


@frozen
class Allow:
    """Writers go first: a clustering whose file groups were changed is not published."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Allow:
        return cls()

    def refuse(self, plan: PendingPlan, touched: Iterable[tuple[str, str]]) -> str | None:
        return None
