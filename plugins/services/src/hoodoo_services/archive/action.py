"""The action ``archive``: old instants move into the archived timeline."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from attrs import frozen
from hoodoo.actions.rollback.recovery import recover, sweep_undone
from hoodoo.errors import HoodooError
from hoodoo.hookspecs.action import AfterWrite
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.archived import archived_timeline
from hoodoo.model.instant import Instant
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

from hoodoo_services.archive import run as archive
from hoodoo_services.archive.plan import kept_by_cleaning
from hoodoo_services.archive.settings import ArchiveSettings
from hoodoo_services.clean.action import cleaning
from hoodoo_services.outcome import Archived

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle


@frozen
class ArchiveAction:
    """Implements :class:`~hoodoo.hookspecs.action.Action`: run after writes, never planned."""

    @classmethod
    def from_settings(cls, settings: Settings) -> ArchiveAction:
        return cls()

    def run(self, table: TableHandle) -> Archived:
        settings = ArchiveSettings.of(table.options)
        table.check_writable()
        recover(table.storage, table.config)
        return _archive(table, settings, table.timeline())

    def after_write(self, table: TableHandle) -> AfterWrite | None:
        settings = ArchiveSettings.of(table.options)
        if not settings.automatic:
            return None

        def due(timeline: Timeline, engine: Callable[[], Engine]) -> bool:
            return bool(_archive(table, settings, timeline).instants)

        writes = settings.most + 1
        return AfterWrite("archiving", due, order=40, by_hand="table.archive()", writes=writes)


def _archive(table: TableHandle, settings: ArchiveSettings, timeline: Timeline) -> Archived:
    def needed(timeline: Timeline) -> Instant | None:
        try:
            how = cleaning(table)
        except HoodooError:  # core alone has no policy
            return None
        now = datetime.now(timezone.utc)
        return kept_by_cleaning(timeline, how.policy, how.settings.window, now)

    def before() -> None:
        table.participants.drop_stale()
        # What is older than the timeline's start counts as committed.
        sweep_undone(Snapshot(table.storage, table.load_timeline()))

    kept = archived_timeline(table.settings)
    return archive.archive(Snapshot(table.storage, timeline), settings, kept, needed, before)
