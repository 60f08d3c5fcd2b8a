"""Policies that keep what the last writes made: so many of them, or those of so many hours.

Source: ``org.apache.hudi.table.action.clean.CleanPlanner`` and ``CleanerUtils`` of Hudi 1.2.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.instant import Instant
from hoodoo.timeline.instants import order_key

from hoodoo_services import options
from hoodoo_services.hookspecs.cleaning import Aged, History


@frozen
class ByCommits:
    """What the last ``retained`` writes made stays, and what was the newest before them. Hudi's
    default."""

    retained: int = 10
    policy = "KEEP_LATEST_COMMITS"
    by_writes = True

    @classmethod
    def from_settings(cls, settings: Settings) -> ByCommits:
        return cls(settings.value(options.COMMITS_RETAINED))

    def earliest(self, history: History) -> Instant | None:
        writes = history.writes
        return writes[-self.retained] if len(writes) > self.retained else None

    def surplus(self, aged: Aged, earliest: str | None) -> Sequence[FileSlice]:
        return behind(aged, earliest)


@frozen
class ByHours:
    """What the writes of the last ``hours`` made stays, and what was the newest before them.

    Where there are none, what the last write made counts: other than Hudi, which then cleans
    nothing."""

    hours: float = 24.0
    policy = "KEEP_LATEST_BY_HOURS"
    by_writes = True

    @classmethod
    def from_settings(cls, settings: Settings) -> ByHours:
        return cls(settings.value(options.HOURS_RETAINED))

    def earliest(self, history: History) -> Instant | None:
        limit = history.ago(self.hours)
        recent = (w for w in history.writes if order_key(w.requested) >= limit)
        return next(recent, history.writes[-1] if history.writes else None)

    def surplus(self, aged: Aged, earliest: str | None) -> Sequence[FileSlice]:
        return behind(aged, earliest)


def behind(aged: Aged, earliest: str | None) -> tuple[FileSlice, ...]:
    """The slices before the write ``earliest``, but for the newest of them, which a reader may have
    opened right before it; of a group that was replaced before it, all."""
    if earliest is None:
        return ()
    limit = order_key(earliest)
    if aged.replaced_by is not None and order_key(aged.replaced_by) < limit:
        return aged.group.slices
    if aged.replaced_by is not None:
        return ()
    older = [s for s in aged.group.slices if order_key(s.instant) < limit]
    return tuple(older[1:])
