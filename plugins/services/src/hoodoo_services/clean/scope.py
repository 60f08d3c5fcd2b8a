"""Where a clean looks: in the partitions that writes touched since the last one, or everywhere.

What the last clean left in a partition that nobody has written to since is what this one would
leave. Source: ``CleanPlanner.getPartitionPathsForIncrementalCleaning`` of Hudi 1.2."""

from __future__ import annotations

from hoodoo.model.instant import Instant
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_services.clean.plan import LEFT, LOOK_FROM, MADE_BY, SAVEPOINTS, LastClean

# Policies that go by writes leave the same behind, however many writes they keep.
BY_WRITES = {"KEEP_LATEST_COMMITS": "by_commits", "KEEP_LATEST_BY_HOURS": "by_hours"}


def scope(
    snapshot: Snapshot, last: LastClean | None, made_by: str, earliest: Instant | None
) -> frozenset[str] | None:
    """The partitions to look at; None for all. ``made_by`` tells the policy, ``earliest`` the first
    write whose slices all stay (None: it goes by groups). Reads what writes say since the last
    clean."""
    if last is None or LEFT in last.extra or not _comparable(last, made_by):
        return None
    begin = last.extra.get(LOOK_FROM) if earliest is None else last.earliest
    if (
        not begin
        or snapshot.timeline.start is None
        or order_key(begin) < order_key(snapshot.timeline.start)
    ):
        return None
    held = {name for name in last.extra.get(SAVEPOINTS, "").split(",") if name}
    if held - snapshot.timeline.savepointed():
        return None  # what a savepoint kept may lie anywhere
    found: set[str] = set()
    for write in snapshot.writes():
        if _is_new(write, order_key(begin), earliest, last.instant):
            metadata = snapshot.metadata(write)
            found.update(stat.partition_path for stat in metadata.stats)
            found.update(metadata.replaced)
    return frozenset(found)


def _is_new(write: Instant, begin: str, earliest: Instant | None, last: Instant) -> bool:
    at = order_key(write.requested)
    if at < begin:  # a clock that is behind
        return order_key(write.completion_order) > order_key(last.requested)
    return earliest is None or at < order_key(earliest.requested)


def _comparable(last: LastClean, made_by: str) -> bool:
    told = last.extra.get(MADE_BY)
    before = {told} if told else {BY_WRITES.get(p, p) for p in last.policies}
    by_writes = set(BY_WRITES.values())
    return before == {made_by} or (made_by in by_writes and before <= by_writes)
