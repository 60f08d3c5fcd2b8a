"""The instants of a bootstrap: the first of a table, under names of their own, and taken back as if
they had never been.

A rollback would stay on the timeline, and what it undid could never be done again under the same
instant. Before the first commit of a table nobody has read anything of it, so a bootstrap that
failed leaves no trace."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from hoodoo.actions.transaction import Transaction, tidy
from hoodoo.errors import CommitConflictError
from hoodoo.model.filegroup import BaseFile
from hoodoo.model.instant import Instant, State
from hoodoo.participants.of_table import Participants
from hoodoo.storage.together import discard
from hoodoo.table.handle import TableHandle
from hoodoo.timeline.heartbeat import Liveness
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline, reload
from hoodoo.timeline.view import list_data
from hoodoo_rows.api import WriteTarget

from hoodoo_bootstrap.index import SKELETONS

# Of the rows that are copied.
COPIED = "00000000000002"
INSTANTS = (SKELETONS, COPIED)


def at(requested: str) -> Callable[..., Transaction]:
    """What puts ``requested`` on the timeline, in the place of the next free instant."""
    return partial(_ask, requested)


def _ask(
    requested: str,
    target: WriteTarget,
    action: str,
    plan: bytes,
    named: Callable[[str], bool],
    **said: Any,
) -> Transaction:
    storage, timeline = target.storage, target.timeline
    instant = Instant(requested, action, State.REQUESTED)
    refuse_others(timeline)
    if not named(requested) or not storage.put_if_absent(timeline.path(instant), plan):
        raise _running(storage.root, requested)
    try:
        refuse_others(reload(storage, timeline))
    except CommitConflictError:
        storage.delete(timeline.path(instant))
        raise
    return Transaction(
        Snapshot(storage, timeline), instant, said["what"], said["retry"], said["unknown"]
    )


def others_on(timeline: Timeline) -> list[Instant]:
    """Writes, and what undid some, but for those of a bootstrap. Indexing may come before rows."""
    return [
        i
        for i in timeline.instants
        if i.requested not in INSTANTS and (i.completes_as_write or i.traits.undoes)
    ]


def refuse_others(timeline: Timeline) -> None:
    """CommitConflictError where a write or a rollback that is no bootstrap's is on the timeline."""
    others = others_on(timeline)
    if others:
        raise CommitConflictError(
            f"table {timeline.config.name}",
            f"has {others[0]} on its timeline, and a bootstrap is what a table begins with.",
            "Bootstrap into a new folder; the source is as it was.",
        )


def take_back_dead(table: TableHandle) -> None:
    """Take back what a bootstrap that died has left. CommitConflictError while one is at work."""
    pending = [i for i in table.timeline().pending() if i.requested in INSTANTS]
    living = Liveness(table.storage)
    for instant in pending:
        if living.is_alive(instant.requested):
            raise _running(table.storage.root, instant.requested)
        take_back(table, instant)


def take_back(table: TableHandle, instant: Instant) -> None:
    """Undo the pending ``instant`` without a trace. May be repeated."""
    storage, timeline = table.storage, table.load_timeline()
    if timeline.find(instant.requested) is not None:
        raise CommitConflictError(
            f"{storage.root}: instant {instant.requested}",
            "is completed.",
            "Look at table.timeline().",
        )
    # Tasks look for this file on both sides of their puts.
    storage.delete(timeline.path(instant.at(State.INFLIGHT)))
    Participants.of_table(timeline.config).undone(storage, timeline.config, instant.requested)
    parsed = (parse_path(entry.path) for entry in list_data(storage))
    files = [f for f in parsed if isinstance(f, BaseFile) and f.instant == instant.requested]
    discard(storage, [file.path for file in files])
    tidy(storage, instant.requested)
    storage.delete(timeline.path(instant.at(State.REQUESTED)))


def _running(root: str, requested: str) -> CommitConflictError:
    return CommitConflictError(
        f"table {root}: instant {requested}",
        "belongs to another process, which bootstraps this table now.",
        "Wait for its end. If that process died, repeat this in two minutes.",
    )
