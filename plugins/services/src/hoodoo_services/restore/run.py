"""Restore: the table becomes what it was at a point; what came later is undone.

As Hudi does it: the plan (``restore.requested``) names the instants, newest first -> inflight -> a
rollback of each, which stays pending -> completed, with the metadata of all these rollbacks -> the
rollbacks are taken off the timeline, those that had happened behind the point, too. A crash at any
point is finished by :func:`resume`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any

from hoodoo.actions import transaction
from hoodoo.actions.rollback import run as rollback
from hoodoo.actions.rollback.files import Removed
from hoodoo.actions.rollback.recovery import without_planless
from hoodoo.actions.transaction import Plan, StalePlanError, Transaction
from hoodoo.errors import (
    CommitConflictError,
    ConfigError,
    CorruptTableError,
    HoodooWarning,
)
from hoodoo.kernel.events import ActionEvents, action_events
from hoodoo.model.config import TableConfig
from hoodoo.model.instant import Instant, State
from hoodoo.model.outcome import removed_figures
from hoodoo.storage.api import Storage
from hoodoo.timeline import publish
from hoodoo.timeline.heartbeat import Beating, Liveness
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.ledger import settled
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

from hoodoo_services.outcome import Restored
from hoodoo_services.restore.metadata import deleted, encode, told
from hoodoo_services.restore.plan import (
    RESTORE,
    RestorePlan,
    make_plan,
    pending_restores,
    read_plan,
    undone,
)


def schedule(
    storage: Storage, config: TableConfig, point: str, beats: Beating | None = None
) -> Instant | None:
    """Put the plan of a restore to ``point`` on the timeline; None if nothing came later. ``beats``
    keep it alive.

    From here on writes that were under way can't complete. A pending restore to the same point is
    taken. Raises what :func:`~hoodoo_services.restore.plan.make_plan` does, and CommitConflictError
    while another restore is pending, or where writes come in faster than a plan can be made.
    """

    def make(timeline: Timeline) -> Plan | Instant | None:
        timeline = without_planless(Snapshot(storage, timeline)).timeline
        for pending in pending_restores(timeline):
            if read_plan(Snapshot(storage, timeline), pending).point != point:
                raise _under_way(storage, pending)
            if not _overtaken(timeline, pending):
                return pending
            if Liveness(storage).is_alive(pending.requested):
                raise _under_way(storage, pending)
            publish.withdraw(Snapshot(storage, timeline), pending)
        # A rollback that somebody began ends before anything else does.
        if _finish_rollbacks(Snapshot(storage, timeline)):
            raise StalePlanError
        plan = make_plan(Snapshot(storage, timeline), point)
        if not plan.instants:
            return None
        detail = {"point": point, "instants": len(plan.instants)}
        return Plan(plan.encode(), partial(_same, timeline, plan), detail)

    fix, named = "Stop the writers, then restore.", None if beats is None else beats.add
    return transaction.schedule(storage, config, RESTORE, make, fix, named=named)


def run(
    storage: Storage, config: TableConfig, requested: str, beats: Beating | None = None
) -> Restored:
    """Run a planned restore, from the start or where an earlier run stopped. What another writer
    has finished meanwhile is told of. ``beats``: those that it has been scheduled with.

    Raises ConfigError if there is no restore of that instant; CommitConflictError if others wrote
    behind it; CommitUnknownError if its end is not known (run it again).
    """
    timeline = settled(storage, config)
    for found in timeline.instants:
        if found.action == RESTORE and found.requested == requested:
            if found.is_completed:
                return told(Snapshot(storage, timeline), found)
            return resume(Snapshot(storage, timeline), found, beats)
    raise ConfigError(
        f"restore {requested}",
        "is not in this table.",
        "table.timeline().pending() lists what can be run.",
    )


def finish(snapshot: Snapshot, living: Liveness) -> tuple[Restored, ...]:
    """What a writer does before it writes: resume the restores whose runners are gone.

    Raises CommitConflictError while one is at work. One that others have written behind (Spark Hudi
    does not look at it) is given up, with a warning: it would take away what they wrote upon.
    """
    done = []
    for mine in pending_restores(snapshot.timeline):
        if living.is_alive(mine.requested):
            raise _under_way(snapshot.storage, mine)
        if later := _overtaken(snapshot.timeline, mine):
            plan = read_plan(snapshot, mine)
            warnings.warn(
                f"{snapshot.root}: restore {mine.requested} was left half done, and {later[0]} was "
                f"written since: it is given up. table.restore({plan.point!r}) undoes all of it.",
                HoodooWarning,
                stacklevel=2,
            )
            publish.withdraw(snapshot, mine)
            continue
        done.append(resume(snapshot, mine))
    return tuple(done)


def resume(snapshot: Snapshot, mine: Instant, beats: Beating | None = None) -> Restored:
    """Do what is left of the pending restore ``mine``, whoever began it. CommitConflictError while
    another process does so."""
    if later := _overtaken(snapshot.reload().timeline, mine):
        raise CommitConflictError(
            f"{snapshot.root}: restore {mine.requested}",
            f"{later[0]} was written since it was begun.",
            "Restore again: table.restore(instant).",
        )
    with (
        Beating(snapshot.storage) if beats is None else nullcontext(beats) as beats,
        action_events(RESTORE, snapshot.config.name, snapshot.root, mine.requested) as events,
    ):
        if not beats.add(mine.requested):
            living = Liveness(snapshot.storage)
            if not living.is_alive(mine.requested):
                # the process that began it has ended: one of those who go on has it now
                living.sweep()
            if not beats.add(mine.requested):
                raise _under_way(snapshot.storage, mine)
        return _run(snapshot, mine, events, beats)


def _run(snapshot: Snapshot, mine: Instant, events: ActionEvents, beats: Beating) -> Restored:
    plan = read_plan(snapshot, mine)
    run_of = Transaction(
        snapshot,
        mine,
        RESTORE,
        "Look at table.timeline().",
        "Open the table again: the next write finishes the restore.",
    )
    mine = run_of.inflight()
    begun = dict(_rollbacks(snapshot.at(snapshot.reload().timeline)))
    records: dict[str, dict[str, Any]] = {}
    for named in plan.instants:
        mate = begun.get(named.requested)
        records[named.requested] = _undo(snapshot, named, mate, beats)

    def lost() -> bool:
        now = rollback.found_now(snapshot, mine)
        return now is not None and now.is_completed  # two have run it

    run_of.complete(encode(mine, plan, records), lost=lost)
    for named in plan.instants:
        transaction.tidy(snapshot.storage, named.requested)
    own = {str(record.get("startRollbackTime")) for record in records.values()}
    _forget_rollbacks(snapshot.at(snapshot.reload().timeline), plan, own)
    files = tuple(
        sorted(path for record in records.values() for path in deleted(snapshot.storage, record))
    )
    gone = tuple(named.requested for named in plan.instants)
    events.report(removed_figures(files), point=plan.point, instants=len(gone))
    return Restored(plan.point, mine.requested, gone, files)


def _same(then: Timeline, plan: RestorePlan, fresh: Timeline) -> None:
    cleans = [
        {(i.requested, i.state) for i in t.instants if i.traits.deletes} for t in (then, fresh)
    ]
    saved = fresh.savepointed() & {i.requested for i in plan.instants}
    # A restore that was decided, and whose writer died before it could be seen, is there only now.
    if (
        saved
        or pending_restores(fresh)
        or cleans[0] != cleans[1]
        or not plan.same(undone(fresh, plan.point))
    ):
        raise StalePlanError


def _under_way(storage: Storage, pending: Instant) -> CommitConflictError:
    return CommitConflictError(
        f"{storage.root}: restore {pending.requested}",
        "is still in progress.",
        f'Wait for its end, or finish it: table.run_restore("{pending.requested}").',
    )


def _overtaken(timeline: Timeline, mine: Instant) -> list[Instant]:
    """Writes that began after the restore, and completed."""
    return [i for i in timeline.writes() if order_key(i.requested) > order_key(mine.requested)]


def _finish_rollbacks(snapshot: Snapshot) -> bool:
    pending = [i for i in snapshot.pending() if i.traits.undoes_one]
    living = Liveness(snapshot.storage)
    for mine in pending:
        if living.is_alive(mine.requested):
            raise CommitConflictError(
                f"{snapshot.root}: {mine}",
                "is still in progress.",
                "Wait for its end, then restore.",
            )
        rollback.resume(snapshot, mine)
    return bool(pending)


def _rollbacks(snapshot: Snapshot) -> Iterator[tuple[str, Instant]]:
    """The rollbacks on the timeline, completed or not, the newest last, each with the instant that
    it undoes."""
    for instant in snapshot.instants:
        if instant.traits.undoes_one:
            with suppress(FileNotFoundError, CorruptTableError):
                yield rollback.target_of(snapshot, instant)[0].requested, instant


def _undo(
    snapshot: Snapshot, named: Instant, begun: Instant | None, beats: Beating
) -> dict[str, Any]:
    """Undo the instant ``named``; its ``HoodieRollbackMetadata``. ``begun``: a rollback of it. One
    that this makes lives as long as the restore does: nobody else finishes it."""
    instant = rollback.found_now(snapshot, named)
    if begun is not None and begun.is_completed:
        if instant is None:  # by a writer that came between
            return snapshot.contents(begun)
        begun = None
    if begun is not None:
        _target, plan = rollback.target_of(snapshot, begun)
        mine = begun.at(State.REQUESTED)
    elif instant is None:  # it went before its rollback was told of
        return rollback.metadata(snapshot.storage, "", named, Removed())
    else:
        try:
            mine, plan = rollback.announce(snapshot, instant, beats, sliced=True)
        except CommitConflictError:
            now = rollback.found_now(snapshot, named)
            if now is None or instant.is_completed or not now.is_completed:
                raise
            # A compaction, which may end beside a restore, has just ended.
            return _undo(snapshot, named, None, beats)
    mine, removed = rollback.execute(snapshot, mine, instant or named, plan, sliced=True)
    return rollback.metadata(snapshot.storage, mine.requested, named, removed)


def _forget_rollbacks(snapshot: Snapshot, plan: RestorePlan, own: set[str]) -> None:
    """Take the rollbacks of what is behind the point off the timeline: the restore tells of them.
    ``own``: those that it has made; one that another process is in ends by itself."""
    living = Liveness(snapshot.storage)
    named = {i.requested for i in plan.instants}
    point = plan.point or min(named, default="")
    for target, mine in _rollbacks(snapshot):
        if target not in named and order_key(target) <= order_key(point):
            continue
        is_own = mine.is_completed or mine.requested in own
        if not is_own and living.is_alive(mine.requested):
            continue
        # Of a pending one the plan goes last, of a completed one the end: at no time does it look
        # as if something were to be done.
        pending = [mine.at(State.INFLIGHT), mine.at(State.REQUESTED)]
        for state in [*pending[::-1], mine] if mine.is_completed else pending:
            snapshot.storage.delete(snapshot.path(state))
