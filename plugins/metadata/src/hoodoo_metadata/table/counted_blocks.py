"""Counted blocks: what counts of log files whose names do not say who wrote them (table version 6).

There a log file is named after the slice that it belongs to. Writers that can append put their
blocks into a file of others, and an instant that was undone may leave its block where it is, with a
rollback block behind it."""

from __future__ import annotations

from typing import Any

from attrs import evolve, frozen
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.timeline import Timeline
from hoodoo_rows.api import Visible

from hoodoo_metadata.life.beginnings import is_own_instant


@frozen
class CountedBlocks:
    """Those of instants that are completed in the metadata table (``told``) and in the table:
    ``decided``, or older than ``start``, where its timeline begins. Source:
    ``HoodieTableMetadataUtil.getValidInstantTimestamps``."""

    told: Visible
    decided: frozenset[str]
    start: str | None

    @classmethod
    def of(cls, own: Timeline, data: Timeline) -> CountedBlocks:
        decided = frozenset(i.requested for i in data.completed())
        return cls(Visible.of(own, None), decided, data.start)

    def packed(self) -> list[object]:
        """As JSON has it, for tasks that get no object."""
        return [
            sorted(self.told.committed or ()),
            self.told.start,
            sorted(self.decided),
            self.start,
        ]

    @classmethod
    def unpacked(cls, packed: list[Any]) -> CountedBlocks:
        committed, first, decided, start = packed
        return cls(Visible(None, frozenset(committed), first), frozenset(decided), start)

    def until(self, limit: str) -> CountedBlocks:
        """Those of instants up to ``limit``."""
        return evolve(self, told=evolve(self.told, limit=limit))

    def shows(self, instant: str) -> bool:
        """Whether the blocks of ``instant`` count."""
        if not self.told.shows(instant):
            return False
        if is_own_instant(instant) or instant in self.decided:
            return True
        return self.start is not None and order_key(instant) < order_key(self.start)
