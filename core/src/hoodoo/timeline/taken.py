"""Taken: what took files of committed writes away between a look at the timeline and a listing of files.

A listing that lacks such a file shows an older slice of its file group, or none at all; a reader would
miss rows, and a writer insert keys that the table has. So who lists looks at the timeline once more.
"""

from __future__ import annotations

from attrs import frozen

from hoodoo.model.instant import Instant
from hoodoo.storage.api import Storage
from hoodoo.timeline.timeline import Timeline, reload


@frozen
class Taken:
    """Since an older look: ``cleans`` may have deleted something (one that was requested before goes by that look, or an
    older one, and takes nothing that it needs), ``undone`` are writes that had been completed.
    ``timeline`` is that of now."""

    timeline: Timeline
    cleans: tuple[Instant, ...]
    undone: tuple[Instant, ...]

    def __bool__(self) -> bool:
        return bool(self.cleans or self.undone)


def taken_since(storage: Storage, timeline: Timeline) -> Taken:
    """What happened since ``timeline`` was looked at. One listing."""
    now, known = reload(storage, timeline), {i.requested for i in timeline.others()}
    cleans = tuple(i for i in now.others() if i.traits.deletes and i.requested not in known)
    return Taken(now, cleans, now.undone_since(timeline))
