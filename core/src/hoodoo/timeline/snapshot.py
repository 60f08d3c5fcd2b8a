"""Snapshot: one look at a table, which reads, writes and services share."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from typing import Any

import pyarrow as pa
from attrs import evolve, frozen

from hoodoo.model.commit import CommitMetadata
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.instant import Instant
from hoodoo.storage.api import Storage
from hoodoo.timeline.layouts import TimelineLayout
from hoodoo.timeline.timeline import Timeline, reload

Look = Callable[[Collection[str] | None], tuple[FileSlice, ...]]


@frozen
class Snapshot:
    """A table as one listing of its timeline shows it. All that is done to a table begins with
    one, and another one is taken to see what came since."""

    storage: Storage
    timeline: Timeline

    @property
    def root(self) -> str:
        """The address of the table."""
        return self.storage.root

    @property
    def config(self) -> TableConfig:
        """The properties, as reads use them."""
        return self.timeline.config

    @property
    def layout(self) -> TimelineLayout:
        """What differs between table versions on the timeline."""
        return self.timeline.layout

    @property
    def instants(self) -> tuple[Instant, ...]:
        """Those of the timeline."""
        return self.timeline.instants

    def pending(self) -> tuple[Instant, ...]:
        """As :meth:`Timeline.pending`."""
        return self.timeline.pending()

    def completed(self) -> tuple[Instant, ...]:
        """As :meth:`Timeline.completed`."""
        return self.timeline.completed()

    def writes(self) -> tuple[Instant, ...]:
        """As :meth:`Timeline.writes`."""
        return self.timeline.writes()

    def find(self, requested: str) -> Instant | None:
        """As :meth:`Timeline.find`."""
        return self.timeline.find(requested)

    def at(self, timeline: Timeline) -> Snapshot:
        """The same table, as ``timeline`` shows it."""
        return Snapshot(self.storage, timeline)

    def reload(self) -> Snapshot:
        """The table now: one listing of the timeline."""
        return Snapshot(self.storage, reload(self.storage, self.timeline))

    def path(self, instant: Instant) -> str:
        """As :meth:`Timeline.path`."""
        return self.timeline.path(instant)

    def metadata(self, instant: Instant) -> CommitMetadata:
        """As :meth:`Timeline.metadata`."""
        return self.timeline.metadata(self.storage, instant)

    def contents(self, instant: Instant) -> dict[str, Any]:
        """As :meth:`Timeline.contents`."""
        return self.timeline.contents(self.storage, instant)


@frozen
class TableSnapshot(Snapshot):
    """With what is in the table then. ``properties``: those that are stored. ``schema``: the
    table's own columns (no meta columns). ``look``: the newest slice of each file group in the
    partition paths given (None: all). ``paths``: those that it is of."""

    properties: TableConfig
    schema: pa.Schema
    look: Look
    paths: Collection[str] | None = None

    @cached_property
    def slices(self) -> tuple[FileSlice, ...]:
        """Those of all ``paths``. Whoever knows which ones count asks :meth:`within` first."""
        return self.look(None)

    def within(self, paths: Collection[str]) -> TableSnapshot:
        """The same of a table that has no other partition ``paths``."""
        found = self.look(paths) if paths else ()
        return evolve(self, look=lambda asked: found, paths=paths)
