"""Cleaning: which file slices nobody needs any more."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol, runtime_checkable

from attrs import frozen
from hoodoo.hookspecs.answers import OneOf, Some, answers
from hoodoo.hookspecs.family import Family
from hoodoo.model.filegroup import FileGroup, FileSlice
from hoodoo.model.instant import Instant
from hoodoo.timeline.instants import from_datetime


@frozen
class History:
    """``writes``: the completed writes of the active timeline, compactions among them, by requested
    time. ``now``: this moment, with tzinfo. ``zone``: that of the instants, ``UTC`` or
    ``LOCAL``."""

    writes: tuple[Instant, ...]
    now: datetime
    zone: str = "UTC"

    def ago(self, hours: float) -> str:
        """The instant that many hours ago; instants compare as text."""
        return from_datetime(self.now - timedelta(hours=hours), self.zone)


@frozen
class Aged:
    """A file group with all its committed slices, the newest first. ``replaced_by`` is the
    requested time of the write that took it out of the table, if one did."""

    group: FileGroup
    replaced_by: str | None = None


@runtime_checkable
class CleaningPolicy(Protocol):
    """Contract suite: ``hoodoo_services.testing.cleaning``.

    What readers, writers, savepoints and pending plans need is kept by core whatever a policy says,
    and so is the newest slice of every group that is in the table."""

    @property
    @answers(OneOf(("KEEP_LATEST_COMMITS", "KEEP_LATEST_FILE_VERSIONS", "KEEP_LATEST_BY_HOURS")))
    def policy(self) -> str:
        """Stored with the clean: that of Hudi's KEEP_LATEST_COMMITS, KEEP_LATEST_FILE_VERSIONS and
        KEEP_LATEST_BY_HOURS which is nearest."""

    @property
    def by_writes(self) -> bool:
        """Whether the policy keeps what the last writes made; else it looks at each group alone."""

    def earliest(self, history: History) -> Instant | None:
        """The first of ``history.writes`` whose slices all stay; None where nothing may go yet.
        Core may move it back, never forth. Asked only if the policy goes by writes."""

    @answers(Some("aged.group.slices", "slices of the file group"))
    def surplus(self, aged: Aged, earliest: str | None) -> Sequence[FileSlice]:
        """The slices of ``aged`` that may go. ``earliest`` is the requested time of the write
        answered above; None if the policy looks at groups alone. A pure function of its arguments:
        a partition that no write has touched since the last clean is not looked at again."""


FAMILY = Family(
    "hoodoo_cleanings",
    """Offer cleaning policies. When: a clean is planned. Default: ``by_commits``.

    Names and aliases are looked up with ``hoodie.clean.policy``. The factory returns a
    :class:`CleaningPolicy`.""",
    (CleaningPolicy,),
)
