"""Creates the participants of one table, and calls them around its operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from attrs import evolve

from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.participant import RebuildRequest, TableState
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.config import TableConfig
from hoodoo.participants.of_table import Joined, Participants
from hoodoo.storage.together import at_once
from hoodoo.table.opened import OpenTable
from hoodoo.timeline import properties
from hoodoo.timeline.timeline import Timeline


class TableParticipants:
    """The participants of ``table``, with its storage and properties."""

    def __init__(self, table: OpenTable) -> None:
        self.table = table
        # The settings for which :meth:`drop_stale` has run.
        self._fresh: Settings | None = None

    @property
    def each(self) -> Participants:
        """All that are installed, made for the table's properties and options as they are now."""
        return self.table.installed

    def join(self, timeline: Timeline, now: TableConfig | None = None) -> Joined | None:
        """The participants in an action that begins with ``timeline``; None if there are none. The
        properties ``now`` are read after the timeline, so they describe all that it has; a later
        change is detected at the decision."""
        storage = self.table.storage
        return self.each.join(storage, evolve(timeline, config=now or properties.load(storage)))

    def drop_stale(self) -> None:
        """Remove data that no installed participant brings up to date, before the first write; if
        the storage is remote, only after a change of the properties or options."""
        now = self.table.settings
        if at_once(self.table.storage) < 2 or now != self._fresh:
            self.table.use_properties(self.each.stale(self.table.storage, self.table.config))
            self._fresh = Settings(self.table.config, dict(now.options))

    def created(self) -> None:
        """Of a new table: make what its participants need."""
        self.each.created(self.table.storage, self.table.config)
        self.repair()

    def repair(self, fresh: bool = False) -> bool:
        """Complete what another process has begun to make, and left. True if this changed the
        properties. ``fresh``: the properties have just been read."""
        if not fresh:
            self.table.refresh()
        before = self.table.config
        self.table.use_properties(self.each.repair(self.request()))
        return self.table.config != before

    def request(
        self,
        name: str | None = None,
        engine: str | Engine | None = None,
        source: Callable[[TableState], pa.Table] | None = None,
        own_index: str | None = None,
        is_index: bool = False,
        shape: Mapping[str, Any] | None = None,
    ) -> RebuildRequest:
        """A request to rebuild the data of the participant ``name``. The arguments are those of
        :class:`~hoodoo.hookspecs.participant.RebuildRequest`."""
        table = self.table

        def take_snapshot() -> TableState:
            return table.write_target(None, engine or table.default_engine, repair=False)

        how = (name, source, own_index, is_index, shape or {})
        return RebuildRequest(table.storage, table.config, take_snapshot, *how)

    # --- what undoes more than a participant can follow -------------------------------------------
    def before_rollback(self, instant: str, check: Callable[[], None]) -> bool:
        """Called before a completed ``instant`` is undone; the answer is for
        :meth:`after_rollback`. ``check`` raises where that is refused: then nothing is rebuilt."""
        table = self.table
        held = self.each.holds(table.storage, table.timeline(), instant)
        if held:
            check()
            self._retire()
        return held

    def after_rollback(self, held: bool) -> None:
        """Rebuild what could not follow the rollback. ``held``: the answer of
        :meth:`before_rollback`."""
        if held:  # another process may have rebuilt it from the undone instant
            self._refresh_and_retire()
        self.repair()

    def before_restore(self) -> None:
        """Stop the use of what participants store: a restore undoes more than they can follow."""
        self._refresh_and_retire()

    def after_restore(self) -> None:
        """Rebuild what participants store, from the table as it is after the restore."""
        self._refresh_and_retire()
        self.repair()

    def _refresh_and_retire(self) -> None:
        self.table.refresh()
        self._retire()

    def _retire(self) -> None:
        """The answers of participants must not be used until they are rebuilt."""
        self.table.use_properties(self.each.retire(self.table.storage, self.table.config))
