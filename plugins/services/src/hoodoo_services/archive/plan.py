"""Which instants leave the active timeline. Everything that the timeline has to know of stays.

What is archived is a beginning of the timeline, with the savepointed writes and whatever is pending
at its end: readers take all that is older than the first active write for committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from attrs import frozen
from hoodoo.model.instant import Instant
from hoodoo.participants.of_table import Participants
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.plans import compactions
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline
from hoodoo.timeline.view import list_data

from hoodoo_services.archive.settings import ArchiveSettings
from hoodoo_services.clean.plan import CLEAN, last_clean
from hoodoo_services.hookspecs.cleaning import CleaningPolicy, History
from hoodoo_services.put_times import put_times
from hoodoo_services.savepoints import SAVEPOINT

_WITH = frozenset({CLEAN, "rollback"})  # go with the writes before which they were requested
# With so many times the writes that archiving begins at, it waits no longer for cleaning.
_PATIENCE = 2


@frozen
class ArchivePlan:
    """``instants`` leave, the oldest first. ``held`` says what keeps others, in words; empty where
    nothing does."""

    instants: tuple[Instant, ...] = ()
    held: str = ""


def make_plan(
    snapshot: Snapshot, settings: ArchiveSettings, cleaning: Callable[[Timeline], Instant | None]
) -> ArchivePlan:
    """What may be archived now; nothing while there are not more writes than ``settings.most``.

    ``cleaning``: the first write that cleaning, as it is configured, keeps whole, or None. Reads
    the timeline's names; of contents the newest clean, the newest schema and the replacecommits
    that are about to go, whose partitions are listed."""
    writes = snapshot.writes()
    if len(writes) <= settings.most:
        return ArchivePlan()
    if any(i.traits.undoes for i in snapshot.pending()):
        return ArchivePlan(held="a rollback or restore is in progress")
    first = cleaning(snapshot.timeline)
    needed = 0 if first is None else sum(_at(w) >= _at(first) for w in writes) + 1
    least, most = settings.keeping(needed)
    if len(writes) <= most:
        return ArchivePlan(held="cleaning keeps as many writes")
    chosen = list(writes[: len(writes) - least])
    held = ""
    for reason, bound in _bounds(snapshot, settings, len(writes) > _PATIENCE * most):
        before = [w for w in chosen if order_key(w.requested) < order_key(bound)]
        if len(before) < len(chosen):
            chosen, held = before, reason
    if _schema_is_lost(snapshot, writes[len(chosen) :]):
        return ArchivePlan(held="no newer write tells the schema")
    for reason, stop in (
        ("files that it replaced are still there", _replaced_files),
        ("a compaction was planned while it was written", _between),
    ):
        kept = stop(snapshot, chosen)
        if kept is not None:
            chosen, held = chosen[: chosen.index(kept)], f"{kept.requested}: {reason}"
    return ArchivePlan(_with_services(snapshot.timeline, chosen), held)


def kept_by_cleaning(
    timeline: Timeline, policy: CleaningPolicy, window: float, now: datetime
) -> Instant | None:
    """The first write whose slices all stay under ``policy`` and, for readers, ``window`` hours;
    None where they say nothing."""
    writes = timeline.writes()
    history = History(writes, now, timeline.config.timezone)
    # None: nothing may be cleaned yet.
    found = [policy.earliest(history) or writes[0]] if policy.by_writes else []
    if window:
        limit = order_key(history.ago(window))
        # What was the newest when the window begins.
        found.append(next((w for w in reversed(writes) if _at(w) <= limit), writes[0]))
    return min(found, key=_at, default=None)


def _bounds(
    snapshot: Snapshot, settings: ArchiveSettings, patient_no_more: bool
) -> Iterable[tuple[str, str]]:
    """Reasons, and instants at or after which nothing leaves."""
    pending = [
        i.requested
        for i in snapshot.pending()
        if i.traits.changes_files or i.traits.undoes or i.traits.keeps
    ]
    if pending:
        first = min(pending, key=order_key)
        yield f"{first} is pending", _before(snapshot, first)
    saved = [i.requested for i in snapshot.instants if i.action == SAVEPOINT]
    if saved:
        yield "a savepoint", min(saved, key=order_key)
    last = None if patient_no_more else last_clean(snapshot)
    if last is not None and last.earliest:
        yield "cleaning has not come further", last.earliest
    for bound in Participants.of_table(snapshot.config).kept_from(
        snapshot.storage, snapshot.timeline
    ):
        yield "the metadata table has not been compacted so far", bound
    if snapshot.config.table_type == "MERGE_ON_READ":
        for bound in _for_compaction(snapshot.timeline, settings.deltas):
            yield "deltacommits that the next compaction counts", bound


def _before(snapshot: Snapshot, pending: str) -> str:
    """The first write that has to stay while ``pending`` is: it looks at commit at all that it
    could not see when it began, and the write before these stays as well."""
    times = put_times(snapshot)
    limit = order_key(pending)
    stay = [pending]
    for write in snapshot.writes():
        if order_key(times.get(snapshot.path(write), write.completion_order)) >= limit:
            stay.append(write.requested)
    first = min(stay, key=order_key)
    older = [w.requested for w in snapshot.writes() if _at(w) < order_key(first)]
    return older[-1] if older else first


def _for_compaction(timeline: Timeline, deltas: int) -> Iterable[str]:
    """Inline compaction counts the deltacommits since the last one
    (``CompactionUtils.getEarliestInstantToRetainForCompaction``)."""
    done = [i.requested for i in compactions(timeline)]
    last = done[-1] if done else ""
    since = [
        i.requested
        for i in timeline.writes()
        if i.traits.appends and (not last or order_key(i.completion_order) > order_key(last))
    ]
    if len(since) >= deltas:
        yield since[-deltas]
    elif since or last:
        yield last or since[0]


def _schema_is_lost(snapshot: Snapshot, kept: Sequence[Instant]) -> bool:
    for write in reversed(kept):
        found = snapshot.metadata(write)
        if found.schema_text and found.operation.can_change_schema:
            return False
    return snapshot.timeline.latest_schema_text(snapshot.storage) is not None


def _replaced_files(snapshot: Snapshot, chosen: Sequence[Instant]) -> Instant | None:
    """The first replacecommit without which files would come back: those of the groups it
    replaced."""
    for write in chosen:
        if not write.traits.replaces:
            continue
        told = snapshot.metadata(write)
        groups = told.replaced_groups
        for entry in list_data(snapshot.storage, told.replaced) if groups else ():
            file = parse_path(entry.path)
            if file is not None and (file.partition_path, file.file_id) in groups:
                return write
    return None


def _between(snapshot: Snapshot, chosen: Sequence[Instant]) -> Instant | None:
    """The first deltacommit whose log files belong behind a base file younger than its request.

    A log file that does not name its slice belongs to the slice that was the newest when it
    completed. An archived instant does not tell when that was, so it has to wait until what stays
    on the timeline begins with a later compaction of all the file groups that it wrote to."""
    if snapshot.layout.log_names_slice or snapshot.config.table_type != "MERGE_ON_READ":
        return None
    bases = [_at(i) for i in snapshot.instants if i.traits.is_plain or i.traits.begins_slices]
    writes = snapshot.writes()
    left = list(chosen)
    while left:
        begin = _at(writes[len(left)]) if len(left) < len(writes) else ""
        late = next((w for w in left if not _is_past(snapshot, w, bases, begin)), None)
        if late is None:
            break
        left = left[: left.index(late)]
    return None if len(left) == len(chosen) else chosen[len(left)]


def _is_past(snapshot: Snapshot, write: Instant, bases: Sequence[str], begin: str) -> bool:
    done = order_key(write.completion_order)
    if not write.traits.appends or not any(_at(write) < base < done for base in bases):
        return True
    groups = {
        (s.partition_path, s.file_id)
        for s in snapshot.metadata(write).stats
        if s.log_version is not None
    }
    for later in snapshot.writes():
        if later.traits.is_plain and done < _at(later) <= begin:
            stats = snapshot.metadata(later).stats
            groups -= {(s.partition_path, s.file_id) for s in stats}
    return not groups


def _with_services(timeline: Timeline, chosen: Sequence[Instant]) -> tuple[Instant, ...]:
    """The writes, and the cleans and rollbacks that were requested before the last of them. The
    newest clean stays: the next one goes on where it ended."""
    if not chosen:
        return ()
    end = _at(chosen[-1])
    cleans = [i for i in timeline.completed() if i.action == CLEAN]
    services = [
        i
        for i in timeline.completed()
        if i.action in _WITH and _at(i) < end and i not in cleans[-1:]
    ]
    return tuple(sorted((*chosen, *services), key=lambda i: (_at(i), i.action)))


def _at(instant: Instant) -> str:
    return order_key(instant.requested)
