"""The timeline as rows: what happened to the table, newest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from attrs import evolve, frozen
from hoodoo.errors import HoodooError
from hoodoo.model.action import named
from hoodoo.model.commit import CommitMetadata
from hoodoo.model.instant import Instant, State
from hoodoo.timeline.archived import ArchivedInstant
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_rows.api import Batches

_AT_ONCE = 8


@frozen
class TimelineRow:
    """One instant. Counts are rows, zero for services; ``unmerged`` of the updated and deleted ones
    are in log files, and counted as they were written: readers merge them with the stored rows.
    ``files`` are those that a write made or a service deleted, ``bytes`` those that were written;
    zero where the action has none. ``state`` is ``requested``, ``inflight`` or ``completed``.
    ``completed`` is None while pending, and in table version 6. ``detail`` is text for people."""

    requested: str
    completed: str | None
    action: str
    state: str
    archived: bool = False
    operation: str = ""
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    unmerged: int = 0
    files: int = 0
    bytes: int = 0
    detail: str = ""


@frozen
class TimelinePage:
    """The newest rows, and how many there are in all."""

    rows: tuple[TimelineRow, ...]
    total: int


def timeline_page(
    snapshot: Snapshot,
    archived: Sequence[ArchivedInstant] = (),
    limit: int | None = None,
    pending: bool = False,
) -> TimelinePage:
    """The newest ``limit`` instants, newest first; ``pending``: those that are not completed.

    Reads one file for each row. An instant that can't be decoded says so in its ``detail``.
    """
    active = snapshot.pending() if pending else snapshot.instants
    there = {(i.requested, i.action) for i in active}
    older = [a for a in archived if (a.requested, a.action) not in there and not pending]
    wanted: list[Instant | ArchivedInstant] = [*active, *older]
    wanted.sort(key=lambda i: (order_key(i.requested), i.action), reverse=True)
    shown = wanted if limit is None else wanted[:limit]
    todo = [partial(_row, snapshot, one) for one in shown]
    return TimelinePage(tuple(Batches.in_order(todo, _AT_ONCE)), len(wanted))


def _row(snapshot: Snapshot, one: Instant | ArchivedInstant) -> Iterator[TimelineRow]:
    if isinstance(one, ArchivedInstant):
        row = TimelineRow(one.requested, one.completed, one.action, "completed", archived=True)
    else:
        row = TimelineRow(one.requested, one.completed, one.action, one.state.value.lower())
    try:
        if isinstance(one, ArchivedInstant):
            writes = one.is_write
            yield _of_write(row, one.metadata()) if writes else _of_service(row, one.contents())
        elif one.is_completed and one.is_write:
            yield _of_write(row, snapshot.metadata(one))
        else:
            at = one if one.is_completed else one.at(State.REQUESTED)
            yield _of_service(row, snapshot.contents(at))
    except FileNotFoundError:
        yield row
    except HoodooError as error:
        yield evolve(row, detail=f"can't be read: {error.rule.rstrip('.')}")


def _of_write(row: TimelineRow, metadata: CommitMetadata) -> TimelineRow:
    stats = [stat for stat in metadata.stats if stat.path]
    done = metadata.figures
    replaced = sum(len(ids) for ids in metadata.replaced.values())
    return evolve(
        row,
        operation=metadata.operation.value.lower(),
        inserted=done["rows_inserted"],
        updated=done["rows_updated"],
        deleted=done["rows_deleted"],
        unmerged=done["rows_unmerged"],
        files=len(stats),
        bytes=sum(s.file_size for s in stats),
        detail=f"replaces {_count(replaced, 'file group')}" if replaced else "",
    )


def _of_service(row: TimelineRow, said: Mapping[str, Any]) -> TimelineRow:
    """What a plan or the metadata of a service says; of a pending write there is nothing."""
    action = named(row.action)
    if action.deletes and row.state == "completed":
        count = int(said.get("totalFilesDeleted") or 0)
        return evolve(row, files=count, detail=f"{_count(count, 'file')} deleted")
    if action.undoes_one:
        undone = said.get("commitsRollback") or [
            (said.get("instantToRollback") or {}).get("commitTime") or "?"
        ]
        files = int(said.get("totalFilesDeleted") or 0)
        return evolve(row, files=files, detail=f"undoes {', '.join(map(str, undone))}")
    if action.rewinds:
        target = said.get("savepointToRestoreTimestamp")
        undone = said.get("instantsToRollback") or said.get("instantRestored") or ()
        what = f"to {target}" if target else f"undoes {_count(len(undone), 'instant')}"
        return evolve(row, detail=what)
    if action.keeps:
        return evolve(row, detail=str(said.get("comments") or ""))
    if action.compacts:
        slices = len(said.get("operations") or ())
        return evolve(row, detail=f"{_count(slices, 'file slice')} planned")
    return row


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")
