"""The action ``restore``: the table becomes what it was at a point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.outcome import RolledBack
from hoodoo.storage.api import Storage
from hoodoo.timeline.heartbeat import Beating, Liveness
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

from hoodoo_services.outcome import Restored
from hoodoo_services.restore import plan as restore_plan
from hoodoo_services.restore import run as restore

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle


@frozen
class RestoreAction:
    """Implements :class:`~hoodoo.hookspecs.action.Action`. A restore is planned first; the next
    writer finishes the restore of a dead process."""

    @classmethod
    def from_settings(cls, settings: Settings) -> RestoreAction:
        return cls()

    def run(self, table: TableHandle, instant: str) -> Restored:
        with Beating(table.storage) as beats:
            planned = self._schedule(table, instant, beats)
            return Restored(instant, "") if planned is None else self._run(table, planned, beats)

    def schedule(self, table: TableHandle, instant: str) -> str | None:
        return self._schedule(table, instant)

    def _schedule(
        self, table: TableHandle, instant: str, beats: Beating | None = None
    ) -> str | None:
        table.check_writable()
        if not table.timeline().pending() and not self.check(table, instant):
            return None
        table.participants.before_restore()
        planned = None
        try:
            table.participants.drop_stale()
            planned = restore.schedule(table.storage, table.config, instant, beats)
        finally:
            if planned is None:  # no restore follows: rebuild the participants now
                table.participants.repair()
        return None if planned is None else planned.requested

    def run_planned(self, table: TableHandle, instant: str) -> Restored:
        return self._run(table, instant)

    def _run(self, table: TableHandle, instant: str, beats: Beating | None = None) -> Restored:
        table.participants.before_restore()
        table.check_writable()
        table.participants.drop_stale()
        done = restore.run(table.storage, table.config, instant, beats)
        table.participants.after_restore()
        return done

    def check(self, table: TableHandle, instant: str) -> tuple[str, ...]:
        """The requested times of the instants that a restore to ``instant`` would undo now. Raises
        the errors that a restore raises before it changes the table."""
        table.check_writable()
        timeline = table.timeline()
        for pending in restore_plan.pending_restores(timeline):
            begun = restore_plan.read_plan(Snapshot(table.storage, timeline), pending)
            if begun.point == instant:  # a restore to the same point finishes it
                return tuple(i.requested for i in begun.instants)
        plan = restore_plan.make_plan(Snapshot(table.storage, timeline), instant)
        return tuple(i.requested for i in plan.instants)

    def recover(
        self, storage: Storage, timeline: Timeline, living: Liveness
    ) -> tuple[RolledBack, ...]:
        return tuple(
            RolledBack(undone, restored.restore, ())
            for restored in restore.finish(Snapshot(storage, timeline), living)
            for undone in restored.undone
        )
