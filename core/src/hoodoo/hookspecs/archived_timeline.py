"""Archived timeline: where the instants are that have left the active timeline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from attrs import frozen

from hoodoo.hookspecs.family import Family
from hoodoo.model.config import TableConfig
from hoodoo.model.instant import Instant, State
from hoodoo.storage.api import Storage
from hoodoo.timeline.archived import ArchivedInstant
from hoodoo.timeline.timeline import Timeline


@frozen
class Archivable:
    """A completed instant with all its files on the active timeline: state and content, in the
    order of states."""

    instant: Instant
    files: tuple[tuple[Instant, bytes], ...]

    def of(self, state: State) -> bytes:
        """Return the content of the file of ``state``; empty where the instant has no such file."""
        return next((data for step, data in self.files if step.state is state), b"")

    @property
    def pending(self) -> tuple[Instant, ...]:
        """The requested and inflight steps of the instant, in the order of states."""
        return tuple(step for step, _ in self.files if not step.is_completed)


@runtime_checkable
class ArchivedTimeline(Protocol):
    """Contract suite: ``hoodoo.testing.contracts.archived_timeline``. Called on the driver. All of
    it lies in the folder that the layout of the timeline names (``archive_folder``)."""

    def instants(
        self, storage: Storage, config: TableConfig, since: str | None = None
    ) -> Iterable[ArchivedInstant]:
        """The archived instants, perhaps some of them twice; with ``since``, such as were requested
        before may be left out. What they say is read when it is asked for. CorruptTableError naming
        a file that can't be read."""

    def oldest(self, storage: Storage, config: TableConfig) -> str | None:
        """When the first of them was requested; None if nothing is archived. Costs little."""

    def add(self, storage: Storage, timeline: Timeline, instants: Sequence[Archivable]) -> None:
        """Archive ``instants`` (by requested time), those that are not archived yet. When this
        returns, they are durable and readers find them: they leave the active timeline next.
        CommitConflictError where too many others archive at the same time."""

    def tidy(self, storage: Storage, config: TableConfig) -> None:
        """After the last :meth:`add` of a run: keep what is stored small."""


FAMILY = Family(
    "hoodoo_archived_timelines",
    """Offer archived timelines. When: instants are archived, or a read or a write needs one that
    is. Default: ``layout_1`` and ``layout_2`` (hoodoo-services); the table's version says which.

    The factory returns an :class:`ArchivedTimeline`.""",
    (ArchivedTimeline,),
)
