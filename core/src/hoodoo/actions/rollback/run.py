"""Rollback: an instant leaves no file behind and is taken off the timeline.

What failed is rolled back by the next writer; what is completed, when somebody asks for it. A crash
at any point is finished by the next writer (and by Spark Hudi): plan requested -> inflight -> what
:mod:`hoodoo.actions.rollback.files` does -> completed -> markers."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from typing import Any

from hoodoo.actions.rollback.files import Removed, absolute, find, take_away, traces
from hoodoo.actions.rollback.validation import (
    data_files,
    refuse_begun_slices,
    refuse_missing,
    refuse_unless_newest,
)
from hoodoo.actions.transaction import Transaction, tidy
from hoodoo.errors import CommitConflictError, ConfigError, CorruptTableError
from hoodoo.kernel.events import ActionEvents, action_events
from hoodoo.model.action import ACTIONS
from hoodoo.model.instant import Instant, State
from hoodoo.model.outcome import RolledBack, removed_figures
from hoodoo.participants.of_table import Participants
from hoodoo.storage.api import Storage
from hoodoo.timeline import fence, publish
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.heartbeat import Beating, Liveness
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

_INSTANT = re.compile(r"\d{17}|\d{14}")


def undoable(snapshot: Snapshot, requested: str) -> Instant:
    """The instant ``requested`` that somebody wants to undo: pending, or completed. ConfigError if
    there is none, or it is no write and no plan of one."""
    found = [i for i in snapshot.instants if i.requested == requested and i.completes_as_write]
    if not found:
        raise ConfigError(
            f"{snapshot.root}: instant {requested}",
            "is not a write of the active timeline, neither pending nor completed.",
            "table.timeline().instants lists the instants.",
        )
    return found[0]


def check(snapshot: Snapshot, requested: str) -> None:
    """Raises what a rollback of the instant ``requested`` raises before it changes anything."""
    found = undoable(snapshot, requested)
    begun = (i for i in snapshot.pending() if i.traits.undoes_one)
    if all(fence.target_of(snapshot, mine) != requested for mine in begun):
        _refuse(snapshot, found)


def _refuse(snapshot: Snapshot, instant: Instant) -> None:
    if instant.is_completed:
        refuse_unless_newest(snapshot, instant)
        what = f"rollback of {instant.requested}"
        refuse_missing(snapshot, [instant], data_files(snapshot.storage), what)
    else:
        refuse_begun_slices(snapshot, instant)


def rollback(snapshot: Snapshot, instant: Instant) -> RolledBack:
    """Undo ``instant``: a pending one, or the newest completed write.

    A rollback of it that somebody left half done is finished. Raises CommitUnknownError if the end
    of it is not known, and, with nothing deleted, CommitConflictError if a pending instant turns
    out to be completed or something that may build on a completed one is pending, ConfigError if a
    completed one is not the newest, is kept by a savepoint, or what it replaced has been cleaned.
    """
    done = _begun(snapshot, instant)
    if done is not None:
        return done
    _refuse(snapshot, instant)
    with Beating(snapshot.storage) as beats, _told(snapshot, instant) as events:
        mine, plan = announce(snapshot, instant, beats)
        mine, removed = execute(snapshot, mine, instant, plan)
        return _publish(snapshot, mine, instant, removed, events)


def resume(snapshot: Snapshot, mine: Instant) -> RolledBack | None:
    """Finish the pending rollback ``mine``, whoever began it.

    None: what it names is completed, so that nothing has been undone yet, and it is withdrawn.
    Others may have built on that write since, or it completed after the rollback of a failed one
    was asked for. (Spark Hudi 1.2 leaves such a rollback behind where it refuses one, and would run
    it later.)
    """
    instant, plan = target_of(snapshot, mine)
    if instant.is_completed:
        publish.withdraw(snapshot, mine)
        return None
    with _told(snapshot, instant) as events:
        mine, removed = execute(snapshot, mine, instant, plan)
        return _publish(snapshot, mine, instant, removed, events)


def _told(snapshot: Snapshot, instant: Instant) -> AbstractContextManager[ActionEvents]:
    """What is done inside is a run of a rollback. ``undoes``: the instant, in the details of its
    events."""
    return action_events("rollback", snapshot.config.name, snapshot.root, undoes=instant.requested)


def announce(
    snapshot: Snapshot, instant: Instant, beats: Beating | None = None, sliced: bool = False
) -> tuple[Instant, dict[str, Any]]:
    """Put the plan of a rollback of ``instant`` on the timeline; the rollback and the plan.

    ``beats`` keeps the rollback alive (those of a restore live as long as that does). ``sliced`` (a
    restore): nothing that was written into slices which the instant began is to stay. Raises
    CommitConflictError if the instant is not any more what it was.
    """
    where = traces(snapshot, instant, sliced)
    plan = {
        "instantToRollback": _info(instant),
        "RollbackRequests": find(snapshot, instant.requested, where).requests(
            snapshot.storage, instant.requested
        ),
        "version": 1,
    }

    def check(fresh: Timeline) -> None:
        # No file of a committed instant is ever deleted by mistake.
        found = fresh.find(instant.requested)
        if not instant.is_completed and found is not None:
            raise CommitConflictError(
                f"{snapshot.root}: instant {instant.requested}",
                "is completed: it can't be rolled back as a failed write.",
                "Look at table.timeline().",
            )
        if instant.is_completed and not sliced:
            refuse_unless_newest(snapshot.at(fresh), instant)
            Participants.of_table(fresh.config).refuse_undo(
                snapshot.storage, fresh, instant.requested
            )

    encoded = codec_avro.encode("HoodieRollbackPlan", plan)
    named = beats.add if beats is not None else None
    mine = publish.request(snapshot, "rollback", encoded, check=check, named=named)
    return mine, plan


def target_of(snapshot: Snapshot, mine: Instant) -> tuple[Instant, dict[str, Any]]:
    """What a pending rollback undoes, as it stands on the timeline, and the plan. CorruptTableError
    naming the file if the plan names no instant."""
    plan = snapshot.contents(mine.at(State.REQUESTED))
    target = plan.get("instantToRollback") or {}
    requested, action = str(target.get("commitTime")), str(target.get("action"))
    if not _INSTANT.fullmatch(requested) or action not in ACTIONS:
        raise CorruptTableError(
            f"{snapshot.root}/{snapshot.path(mine.at(State.REQUESTED))}",
            f"a rollback whose plan names no instant (but {requested}, {action}).",
            "Delete this rollback's files by hand; the next write rolls back what is pending.",
        )  # fmt: skip
    gone = Instant(requested, action, State.INFLIGHT)
    return found_now(snapshot, gone) or gone, plan


def found_now(snapshot: Snapshot, instant: Instant) -> Instant | None:
    """``instant`` as the timeline shows it now."""
    return next((i for i in snapshot.reload().timeline.instants if fence.same(i, instant)), None)


def execute(
    snapshot: Snapshot, mine: Instant, instant: Instant, plan: dict[str, Any],
    sliced: bool = False
) -> tuple[Instant, Removed]:  # fmt: skip
    """Begin the rollback ``mine`` of ``instant`` and do all of it but publish it."""
    where = traces(snapshot, instant, sliced)
    mine = publish.inflight(snapshot, mine)
    requests = plan.get("RollbackRequests") or []
    return mine, take_away(snapshot, mine.requested, instant, where, requests)


def metadata(storage: Storage, mine: str, instant: Instant, removed: Removed) -> dict[str, Any]:
    """``HoodieRollbackMetadata``."""
    partitions: dict[str, list[str]] = {}
    for path in removed.paths:
        partitions.setdefault(path.rpartition("/")[0], []).append(absolute(storage, path))
    blocks: dict[str, dict[str, int]] = {}
    for log in removed.taken_back:
        partitions.setdefault(log.partition_path, [])
        blocks.setdefault(log.partition_path, {})[absolute(storage, log.path)] = log.size
    return {
        "startRollbackTime": mine,
        "timeTakenInMillis": 0,
        "totalFilesDeleted": len(removed.paths),
        "commitsRollback": [instant.requested],
        "partitionMetadata": {
            partition: {
                "partitionPath": partition,
                "successDeleteFiles": files,
                "failedDeleteFiles": [],
                "rollbackLogFiles": blocks.get(partition, {}),
                "logFilesFromFailedCommit": {},
            }
            for partition, files in partitions.items()
        },
        "version": 1,
        "instantsRollback": [_info(instant)],
    }


def _begun(snapshot: Snapshot, instant: Instant) -> RolledBack | None:
    """The rollback of ``instant`` that somebody left half done, finished. CommitConflictError if it
    is being done right now."""
    for mine in (i for i in snapshot.pending() if i.traits.undoes_one):
        if fence.target_of(snapshot, mine) != instant.requested:
            continue
        if Liveness(snapshot.storage).is_alive(mine.requested):
            raise CommitConflictError(
                f"{snapshot.root}: instant {instant.requested}", f"{mine} of it is in progress.",
                "Wait until it has ended.",
            )  # fmt: skip
        done = resume(snapshot, mine)
        if done is not None:
            return done
    return None


def _publish(
    snapshot: Snapshot, mine: Instant, instant: Instant, removed: Removed, events: ActionEvents
) -> RolledBack:
    content = codec_avro.encode(
        "HoodieRollbackMetadata", metadata(snapshot.storage, mine.requested, instant, removed)
    )
    unknown = "Open the table again: the next write finishes the rollback."
    # Not published: another process has finished it.
    Transaction(snapshot, mine, "rollback", unknown=unknown).complete(content, lost=lambda: True)
    tidy(snapshot.storage, instant.requested)
    events.report(removed_figures(removed.paths), instant=mine.requested)
    return RolledBack(instant.requested, mine.requested, removed.paths)


def _info(instant: Instant) -> dict[str, str]:
    return {"commitTime": instant.requested, "action": instant.action}
