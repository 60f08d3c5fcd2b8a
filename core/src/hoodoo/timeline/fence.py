"""Fence: what keeps an action from its end: a rollback or restore of it, indexing beside it."""

from __future__ import annotations

from hoodoo.errors import CommitConflictError
from hoodoo.model.instant import Instant, State
from hoodoo.storage.api import Storage, get_if_there
from hoodoo.timeline import codec
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.names import completed_action
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

INDEXING = "indexing"


def refuse_unkept(seen: Timeline, fresh: Timeline, instant: Instant) -> None:
    """CommitConflictError where a partition of the metadata table was made, or began to be rebuilt,
    since the timeline ``seen``: whoever decides from then on has to keep it, and what it was begun
    with may be gone."""
    known = {(i.requested, i.is_completed) for i in seen.instants if i.action == INDEXING}
    for other in fresh.instants:
        if other.action == INDEXING and (other.requested, other.is_completed) not in known:
            raise CommitConflictError(
                f"instant {instant.requested}",
                f"indexing {other.requested} is adding partitions to the metadata table at the "
                "same time.",
                "Repeat the write: then it updates these partitions too.",
            )


def standing_files(instant: Instant) -> list[Instant]:
    """The files of ``instant`` that stand until it is undone or archived."""
    held = [instant.at(State.REQUESTED)] if not instant.traits.keeps else []
    if instant.state is not State.REQUESTED:
        held.append(instant.at(State.INFLIGHT))
    return held


def fenced(storage: Storage, fresh: Timeline, instant: Instant) -> str:
    """Why ``instant`` may not be completed any more; empty if it may."""
    for step in standing_files(instant):
        if not fresh.has_file(step):
            return f"{fresh.path(step)} does not exist any more: another writer rolled it back"
    # Indexing is of the table as it is when it completes, whatever its own time.
    others = () if instant.action == INDEXING else fresh.others()
    for other in others:
        later = order_key(other.requested) > order_key(instant.requested)
        # Compactions that were planned before the point of a restore stay, as their inputs do.
        restored = other.traits.rewinds and instant.traits.is_undone
        if restored and (later or not other.is_completed):
            return f"restore {other.requested} was requested"
        if not later:
            continue
        undoes = other.traits.undoes_one
        if undoes and target_of(Snapshot(storage, fresh), other) == instant.requested:
            return f"rollback {other.requested} of it was requested"
    return ""


def target_of(snapshot: Snapshot, rollback: Instant) -> str | None:
    """The instant that a rollback undoes, by its plan; None if the plan was deleted."""
    path = snapshot.path(rollback.at(State.REQUESTED))
    data = get_if_there(snapshot.storage, path)
    plan = codec.decode(data, f"{snapshot.root}/{path}") if data else {}
    found = (plan.get("instantToRollback") or {}).get("commitTime")
    return None if found is None else str(found)


def undoing(snapshot: Snapshot) -> bool:
    """Whether somebody is about to undo what is completed on ``timeline``: until it is, what it
    replaced looks old, and nothing of it may be put where it is for good."""
    for instant in snapshot.pending():
        if instant.traits.rewinds:
            return True
        if instant.traits.undoes_one:
            target = target_of(snapshot, instant)
            if target is None or snapshot.find(target) is not None:
                return True
    return False


def same(one: Instant, other: Instant) -> bool:
    """Whether both are one instant, in any state."""
    names = {completed_action(instant.action) for instant in (one, other)}
    return one.requested == other.requested and len(names) == 1


def completed_as(timeline: Timeline, instant: Instant) -> Instant | None:
    """What ``instant`` is on ``timeline`` once it is completed; None before."""
    writes = filter(None, [timeline.find(instant.requested)])
    done = (i for i in (*writes, *timeline.others()) if i.is_completed)
    return next((i for i in done if same(i, instant)), None)
