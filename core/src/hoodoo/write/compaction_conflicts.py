"""Overtaken: whether a compaction was planned, or given up, since a write read the table.

It makes base files that are newer than those which the write has made of the same file groups, of rows
that it read before. And in version 6 the name of a log file says its slice for good: under a compaction
that the writer did not know of its rows would stay in the slice before, which nobody reads any more.
"""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo.errors import CommitConflictError
from hoodoo.model.commit import WriteStat
from hoodoo.model.instant import Instant
from hoodoo.storage.api import Storage
from hoodoo.timeline.plans import pending_compactions, read_plan
from hoodoo.timeline.timeline import Timeline


def refuse_under_compaction(
    storage: Storage, before: Timeline, now: Timeline, instant: Instant, stats: Iterable[WriteStat]
) -> None:
    """Raises CommitConflictError if a file among ``stats``, planned on the timeline ``before``, would be
    lost under a compaction that the timeline ``now`` has. Reads the plans of compactions that came or
    went."""
    files = tuple(stats)
    rewritten = {(s.partition_path, s.file_id) for s in files if s.log_version is None}
    logs = {(s.partition_path, s.file_id) for s in files if s.log_version is not None}
    exposed = rewritten | (logs if now.layout.log_names_slice else set())
    old, new = _compactions(before), _compactions(now)
    for requested in sorted(new.keys() - old.keys()) if exposed else ():
        planned = read_plan(storage, now, new[requested]).slices
        if any((s.partition_path, s.file_id) in exposed for s in planned):
            raise _conflict(instant, f"compaction {requested} was planned")
    gone = {i.requested for i in pending_compactions(before)} - new.keys()
    if gone and logs and now.layout.log_names_slice:
        raise _conflict(instant, f"compaction {min(gone)} was given up")


def _compactions(timeline: Timeline) -> dict[str, Instant]:
    """Pending and completed ones, by their requested time."""
    done = (i for i in timeline.writes() if i.action == "commit")
    found = (*pending_compactions(timeline), *done)
    return {i.requested: i for i in found}


def _conflict(instant: Instant, what: str) -> CommitConflictError:
    return CommitConflictError(
        f"instant {instant.requested}",
        f"{what} after this write had read the table, and what it wrote would be lost to readers.",
        "Repeat the write.",
    )
