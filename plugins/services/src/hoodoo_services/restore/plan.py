"""Restore plan: which instants have to go for the table to be as it was at a point.

The point is a completed write. What stays are the writes that a read ``as_of`` it sees: those that
were requested before it, and it. A savepoint also says what had completed when it was made, where
completions have times (table version 9). Hudi goes by completion times throughout; without writers
that overlap there is no difference.
"""

from __future__ import annotations

import re
from typing import Any

from attrs import frozen
from hoodoo.actions.rollback.validation import Files, data_files, refuse_missing
from hoodoo.errors import ConfigError, CorruptTableError
from hoodoo.model.action import ACTIONS
from hoodoo.model.instant import Instant, State
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.plans import is_compaction
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

from hoodoo_services.savepoints import SAVEPOINT, savepoints

RESTORE = "restore"
_INSTANT = re.compile(r"\d{17}|\d{14}")
_VERSION = 2  # RestorePlanActionExecutor.LATEST_RESTORE_PLAN_VERSION


@frozen
class RestorePlan:
    """``instants`` have to go, in this order; their states are those of when the plan was made."""

    point: str
    instants: tuple[Instant, ...]

    def encode(self) -> bytes:
        record = {
            "instantsToRollback": [
                {"commitTime": i.requested, "action": i.action} for i in self.instants
            ],
            "version": _VERSION,
            "savepointToRestoreTimestamp": self.point,
        }
        return codec_avro.encode("HoodieRestorePlan", record)

    def same(self, other: tuple[Instant, ...]) -> bool:
        mine, others = ({(i.requested, i.state) for i in x} for x in (self.instants, other))
        return mine == others


def make_plan(snapshot: Snapshot, point: str) -> RestorePlan:
    """Raises ConfigError if ``point`` is no completed write of the active timeline, a later
    savepoint stands in the way, or what the table needs is not there any more; CommitConflictError
    if a pending clean is about to take it. Costs a listing of the table."""
    if snapshot.find(point) is None:
        raise ConfigError(
            f"{snapshot.root}: instant {point}",
            "is no completed write of the active timeline.",
            "table.timeline().writes() and table.savepoints() list what can be restored to.",
        )
    instants = undone(snapshot.timeline, point)
    kept = snapshot.timeline.savepointed() & {i.requested for i in instants}
    if kept:
        raise ConfigError(
            f"{snapshot.root}: instant {point}",
            f"there are savepoints of later writes: {', '.join(sorted(kept))}.",
            f'Restore to the last of them, or call table.delete_savepoint("{min(kept)}") first.',
        )
    files = data_files(snapshot.storage)
    _refuse_archived(snapshot, point, instants, files)
    lost = _kept_files(snapshot, point) - {f.path for f in files}
    if lost:
        raise ConfigError(
            f"{snapshot.root}: savepoint {point}",
            f"{len(lost)} files that it keeps are not there, {min(lost)} among them.",
            "Bring them back from a copy, or choose another point.",
        )
    refuse_missing(snapshot, instants, files, f"restore to {point}")
    return RestorePlan(point, instants)


def undone(timeline: Timeline, point: str) -> tuple[Instant, ...]:
    """What has to go, the newest first: writes behind ``point``, plans of services behind it, and
    every pending write, which can't complete beside a restore."""
    until = next(
        (
            i.completed
            for i in timeline.completed()
            if i.action == SAVEPOINT and i.requested == point
        ),
        None,
    )
    found = []
    for instant in timeline.instants:
        if not instant.completes_as_write or instant.requested == point:
            continue
        behind = order_key(instant.requested) > order_key(point)
        if instant.is_completed:
            # Compactions go by their plan: they change no row.
            compaction = is_compaction(instant, timeline.config)
            unseen = until is not None and (instant.completed or "") > until and not compaction
            if behind or unseen:
                found.append(instant)
        elif behind or instant.is_write:
            found.append(instant)
    # Pending ones first: nobody builds on them. Then in the order in which they were seen last.
    return tuple(sorted(found, key=_age, reverse=True))


def read_plan(snapshot: Snapshot, restore: Instant) -> RestorePlan:
    """The plan of a pending ``restore``, whoever made it. CorruptTableError naming the file, and
    InstantGoneError."""
    requested = restore.at(State.REQUESTED)
    record = snapshot.contents(requested)
    infos: list[dict[str, Any]] = record.get("instantsToRollback") or []
    instants = tuple(
        Instant(str(i.get("commitTime")), str(i.get("action")), State.INFLIGHT) for i in infos
    )
    if wrong := [
        i for i in instants if not _INSTANT.fullmatch(i.requested) or i.action not in ACTIONS
    ]:
        raise CorruptTableError(
            f"{snapshot.root}/{snapshot.path(requested)}",
            f"the plan of a restore names {wrong[0].requested}, {wrong[0].action}, which is no "
            "instant.",
            "Delete the requested and inflight files of this restore, and restore again.",
        )
    return RestorePlan(str(record.get("savepointToRestoreTimestamp") or ""), instants)


def pending_restores(timeline: Timeline) -> tuple[Instant, ...]:
    return tuple(i for i in timeline.pending() if i.action == RESTORE)


def _age(instant: Instant) -> tuple[bool, str, str]:
    return not instant.is_completed, order_key(instant.completion_order), instant.requested


def _kept_files(snapshot: Snapshot, point: str) -> frozenset[str]:
    if point not in snapshot.timeline.savepointed():
        return frozenset()
    found = (s.files for s in savepoints(snapshot) if s.instant == point)
    return next(found, frozenset())


def _refuse_archived(
    snapshot: Snapshot, point: str, gone: tuple[Instant, ...], files: Files
) -> None:
    """A write behind the point that has been archived can't be undone: nothing names its files."""
    known = {i.requested for i in gone} | {i.requested for i in snapshot.writes()}
    archived = {
        f.instant
        for f in files
        if order_key(f.instant) > order_key(point)
        and f.instant not in known
        and snapshot.timeline.contains_or_before_start(f.instant)
    }
    if archived:
        raise ConfigError(
            f"{snapshot.root}: instant {point}",
            f"later writes have been archived, and can't be undone: {min(archived)}, for one.",
            "Read the table as of the point, and write what you need into another table.",
        )
