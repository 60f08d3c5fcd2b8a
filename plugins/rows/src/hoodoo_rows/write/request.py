"""The request of a write: its kind, the table, and what surrounds each attempt."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from attrs import frozen
from hoodoo.actions.transaction import Transaction
from hoodoo.actions.writer_queue import WriterQueue
from hoodoo.hookspecs.conflict import ConflictStrategy
from hoodoo.model.instant import Instant
from hoodoo.participants.listing import KnownFiles
from hoodoo.storage.api import Storage
from hoodoo.timeline.batches import Batch
from hoodoo.timeline.publish import Following
from hoodoo.timeline.timeline import Timeline

from hoodoo_rows.write.operation import WriteKind
from hoodoo_rows.write.target import WriteTarget

if TYPE_CHECKING:  # most writes meet no other
    from hoodoo_rows.write.ready import ReadyWrite

WRITE = "write"  # the name of a write in events
Follow = Callable[[Timeline, KnownFiles], Following | None]


@frozen
class WriteRequest:
    """``look`` returns the current table after recovery; ``undo`` undoes an instant that has begun
    to write files; ``before_publish`` runs last before the rows can be seen. ``repeats``: how often
    a write starts again after a conflict with another writer. ``table``: its name, for events.
    ``likely``: the next instant, as far as is known; ``saw`` gets the timeline that has the commit.
    ``follow`` gets the timeline and the files of the commit, and returns what is decided with it;
    ``late`` is called if tasks may still put files after the commit. ``ask`` puts the request of a
    target on the timeline; None: under the next free instant. ``ready`` makes what waits for the
    turn together with other writes of this process; None where it waits by itself."""

    storage: Storage
    kind: WriteKind
    look: Callable[[], WriteTarget]
    undo: Callable[[Instant], None]
    before_publish: Callable[[], None]
    conflicts: ConflictStrategy
    turns: WriterQueue
    repeats: int = 20
    batch: Batch | None = None
    table: str = ""
    likely: Callable[[datetime], str] | None = None
    saw: Callable[[Timeline], None] = lambda timeline: None
    follow: Follow = lambda timeline, files: None
    late: Callable[[], None] = lambda: None
    ask: Callable[..., Transaction] | None = None
    ready: Callable[[], ReadyWrite | None] = lambda: None
