"""The usual policies: plans that nobody runs, and whatever may follow a write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attrs import frozen
from hoodoo.errors import CommitConflictError, ConfigError
from hoodoo.hookspecs.action import AfterWrite
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import kernel
from hoodoo.model.action import named
from hoodoo.table.after_write import AfterWrites, call_action
from hoodoo.table.handle import TableHandle
from hoodoo.timeline.heartbeat import Liveness
from hoodoo.timeline.timeline import Timeline


@frozen
class PendingPlans:
    """Runs the plans that lie on the timeline, oldest first, but for those that a living process
    works at.

    A writer may have planned them (``hoodie.clustering.schedule.inline``, ``table.schedule``), or a
    process that died while it ran one."""

    @classmethod
    def from_settings(cls, settings: Settings) -> PendingPlans:
        return cls()

    def services(self, table: TableHandle) -> Sequence[AfterWrite]:
        offered = {offer.name for offer in kernel().offers("action")}

        def run(timeline: Timeline, engine: Callable[[], Engine]) -> bool:
            living = Liveness(table.storage)
            done = False
            for instant in timeline.pending():
                if not instant.traits.is_service or instant.action not in offered:
                    continue
                if living.is_alive(instant.requested):
                    continue
                done |= self._run(table, instant.action, instant.requested, engine)
            return done

        return [AfterWrite("pending plans", run, order=5, by_hand="table.run_planned(...)")]

    def _run(
        self, table: TableHandle, action: str, instant: str, engine: Callable[[], Engine]
    ) -> bool:
        options: dict[str, Any] = {} if named(action).deletes else {"engine": engine()}
        try:
            call_action(table, action, "run_planned", options, instant)
        except (ConfigError, CommitConflictError):
            # Another process has finished it, works at it, or has taken it back meanwhile.
            pending = {other.requested for other in table.timeline().pending()}
            if instant not in pending or Liveness(table.storage).is_alive(instant):
                return False
            raise
        return True


@frozen
class Following:
    """Does what would follow a write, at the thresholds that the options say: compaction,
    clustering where it is switched on, cleaning, archiving, the services of participants, and the
    actions of other plugins."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Following:
        return cls()

    def services(self, table: TableHandle) -> Sequence[AfterWrite]:
        return AfterWrites(table).due()
