"""Overtaken: whether a compaction was planned, or given up, since a write read the table (version 6).

There the name of a log file says its slice for good. Under a compaction that the writer did not know
of its rows would stay in the slice before, which nobody reads any more. The writer's request stands
on the timeline when it looks here, and who plans a compaction looks for such requests after its own:
one of the two sees the other.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve

from hoodoo.errors import CommitConflictError
from hoodoo.model.commit import WriteStat
from hoodoo.model.instant import Instant
from hoodoo.storage.api import Storage
from hoodoo.timeline.compaction_plan import COMPACTION, pending_compactions, read_plan
from hoodoo.timeline.timeline import Timeline


def refuse_under_compaction(
    storage: Storage,
    before: Timeline,
    now: Timeline,
    instant: Instant,
    stats: Iterable[WriteStat],
) -> None:
    """Raises CommitConflictError if a log file among ``stats``, planned on the timeline ``before``,
    has the name of another slice than the timeline ``now`` asks for. Reads the plans of compactions
    that came or went; nothing from table version 8 on."""
    if now.layout > 1:
        return
    logs = {(s.partition_path, s.file_id) for s in stats if s.log_version is not None}
    old, new = _compactions(before), _compactions(now)
    for requested in sorted(new.keys() - old.keys()) if logs else ():
        planned = read_plan(storage, now, new[requested]).slices
        if any((s.partition_path, s.file_id) in logs for s in planned):
            raise _conflict(instant, f"compaction {requested} was planned")
    gone = {i.requested for i in pending_compactions(before)} - new.keys()
    if gone and logs:
        raise _conflict(instant, f"compaction {min(gone)} was given up")


def _compactions(timeline: Timeline) -> dict[str, Instant]:
    """Pending and completed ones, by their instant, under the name of their plan."""
    done = (i for i in timeline.writes() if i.action == "commit")
    found = (*pending_compactions(timeline), *done)
    return {i.requested: evolve(i, action=COMPACTION) for i in found}


def _conflict(instant: Instant, what: str) -> CommitConflictError:
    return CommitConflictError(
        f"instant {instant.requested}",
        f"{what} after this write had read the table, and in table version 6 its log files would be "
        "lost to readers.",
        "Repeat the write.",
    )
