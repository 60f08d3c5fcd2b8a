"""Log compaction: plan, run, publish (RFC-48). The log blocks of a slice become fewer ones; no base
file is read or written, and no row changes.

Readers that know log compactions read the new blocks at the place of those which they stand for;
the others read them once more, at their own place. So that this is the same, nothing may come
between: a log compaction is planned while no write is in progress, and gives way to whatever else
has changed its slices when it ends. One that was begun is completed or undone, and never continued.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial

from attrs import evolve
from hoodoo.actions.rollback.run import rollback
from hoodoo.actions.transaction import (
    StalePlanError,
    Transaction,
    refuse_stale_plan,
    refuse_undoing,
    tidy,
)
from hoodoo.errors import CommitConflictError, ConfigError
from hoodoo.kernel.events import ActionEvents, action_events
from hoodoo.kernel.log_files import log_files
from hoodoo.model.commit import Operation
from hoodoo.model.filegroup import FileSlice, LogFile
from hoodoo.model.instant import Instant, State
from hoodoo.model.outcome import RolledBack
from hoodoo.participants.listing import build
from hoodoo.storage.api import Storage
from hoodoo.storage.together import together
from hoodoo.timeline.heartbeat import Beating, Liveness
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.ledger import settled
from hoodoo.timeline.log_sizes import with_committed_sizes
from hoodoo.timeline.plans import (
    Plan,
    clustered_groups,
    is_clustering,
    pending_groups,
    read_plan,
    reading_order,
)
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.task_fence import fence_of
from hoodoo.timeline.timeline import Timeline, reload
from hoodoo_rows.api import Batches, Commit, Pending, Visible, Writes

from hoodoo_services.compaction.merge_logs import CompactLogs
from hoodoo_services.compaction.merge_slice import Job
from hoodoo_services.compaction.run import (
    NOT_PENDING,
    CompactionTarget,
    Kind,
    Rewrite,
    commits_since,
    refuse_writes,
)
from hoodoo_services.hookspecs.compaction import Candidate

LOG_COMPACTION = "logcompaction"
# Spark Hudi loads this class to run the plan.
_RUNNER = "org.apache.hudi.table.action.compact.LogCompactionExecutionHelper"
_AGAIN = 'It is undone: plan another one (table.run("logcompaction")).'


# --- planning -------------------------------------------------------------------------------------
def pending_log_compactions(timeline: Timeline) -> tuple[Instant, ...]:
    return tuple(i for i in timeline.pending() if i.action == LOG_COMPACTION)


def kind(threshold: int) -> Kind:
    """Of slices with at least ``threshold`` blocks."""
    return Kind(
        action=LOG_COMPACTION,
        pending=pending_log_compactions,
        busy=_busy,
        fitting=partial(_fitting, max(threshold, 2)),
        refuse=_refuse_plan,
        fields={
            "strategy": {"compactorClassName": _RUNNER, "strategyParams": {}, "version": 1},
            "preserveHoodieMetadata": True,
        },
    )


def _busy(now: Snapshot) -> set[tuple[str, str]]:
    plans = [read_plan(now, i) for i in pending_log_compactions(now.timeline)]
    own = (group for plan in plans for group in plan.file_groups)
    return {*pending_groups(now), *own}


def _fitting(least: int, now: Snapshot, candidates: list[Candidate]) -> list[Candidate]:
    """Those with at least ``least`` blocks that count. Reads what the log files have beside their
    rows."""
    visible, opener = Visible.of(now.timeline, None), log_files(now.config)
    rows = [evolve(c.slice, log_files=c.slice.row_logs) for c in candidates]
    slices = with_committed_sizes(now, rows)
    count = partial(Batches.count_blocks, now.storage)
    counts = together(now.storage, *(partial(count, s.log_files, opener, visible) for s in slices))
    return [Candidate(s) for s, count in zip(slices, counts, strict=True) if count >= least]


def _refuse_plan(
    storage: Storage, before: Timeline, groups: Collection[tuple[str, str]], now: Timeline
) -> None:
    refuse_stale_plan(storage, before, now, groups)
    if set(pending_log_compactions(now)) - set(pending_log_compactions(before)):
        raise StalePlanError
    refuse_undoing(Snapshot(storage, now), LOG_COMPACTION)
    why = "its log files would come between those that are merged"
    refuse_writes(storage, now, LOG_COMPACTION, why)


def is_due(storage: Storage, now: Timeline, every: int) -> bool:
    """Whether ``every`` writes came since the last compaction, and since the last of the logs."""
    if commits_since(now) < every or pending_log_compactions(now):
        return False
    if any(i.is_write for i in now.pending()):
        return False  # the next write looks again
    deltas = [i for i in now.writes() if i.traits.appends]
    newest = sorted(deltas, key=lambda i: order_key(i.completion_order))[-every:]
    found = (now.metadata(storage, i).operation for i in newest)
    return Operation.LOG_COMPACT not in found


# --- running --------------------------------------------------------------------------------------
def run(target: CompactionTarget, requested: str, undo: Callable[[Instant], object]) -> Commit:
    """Run a planned log compaction and publish it.

    Raises ConfigError if no log compaction of that instant is pending, CommitUnknownError if the
    end of it is not known; CommitConflictError if another process runs it or has begun it, or if it
    is undone, because its slices have changed."""
    storage, config = target.storage, target.config
    timeline = settled(storage, config)
    pending = next((i for i in pending_log_compactions(timeline) if i.requested == requested), None)
    if pending is None:
        raise ConfigError(
            f"log compaction {requested}",
            NOT_PENDING,
            "table.timeline().pending() lists what is.",
        )
    with (
        Beating(storage) as beats,
        action_events(
            LOG_COMPACTION, config.name, storage.root, requested, end="committed"
        ) as events,
    ):
        if Liveness(storage).is_alive(requested) or not beats.add(requested):
            raise CommitConflictError(
                f"log compaction {requested}",
                "is being run by another process.",
                "Wait for its end; if that process died, repeat this in two minutes.",
            )
        if pending.state is State.INFLIGHT:  # what Hoodoo had begun is undone by now
            raise CommitConflictError(
                f"log compaction {requested}",
                "was begun by another tool, and what was begun is not continued.",
                f'If that tool has ended, table.rollback("{requested}"), then plan another one.',
            )
        seen = Snapshot(storage, timeline)
        transaction = Transaction(seen, pending, LOG_COMPACTION, retry=_AGAIN)
        what = f"log compaction {requested}"
        taken = Writes.taken_files_conflict(seen, what, _AGAIN, pending)
        with taken, transaction.undone_on_error(undo):
            return _run(target, transaction, events)


def _run(target: CompactionTarget, transaction: Transaction, events: ActionEvents) -> Commit:
    storage, timeline, requested = target.storage, transaction.timeline, transaction.requested
    joined = target.join(timeline)
    plan = read_plan(Snapshot(storage, timeline), transaction.instant)
    slices = _as_planned(storage, timeline, plan, requested)
    # Before it is begun: who finds it begun without a fence knows that another tool runs it.
    fence_of(requested, target.config).open(storage)
    instant = transaction.inflight()
    events.step("planned", file_groups=len(slices))
    work = Rewrite.of(target, timeline, transaction, joined)
    assert target.logs is not None
    step = CompactLogs(storage, work.rule, Pending.of(timeline, instant), target.logs)
    jobs = [Job(s, _named(timeline, requested, n, s)) for n, s in enumerate(slices)]
    stats, damages = work.merge(step, jobs)

    def check(fresh: Timeline) -> None:
        _as_planned(storage, fresh, plan, requested)
        refuse_undoing(Snapshot(storage, fresh), LOG_COMPACTION)

    return work.publish(Operation.LOG_COMPACT, slices, stats, damages, check, events)


def _named(timeline: Timeline, requested: str, slot: int, slice_: FileSlice) -> str:
    place = (slice_.partition_path, slice_.file_id, slot)
    return timeline.layout.new_log(place, requested, slice_, None, False).file.name


def _as_planned(storage: Storage, now: Timeline, plan: Plan, requested: str) -> Sequence[FileSlice]:
    """The slices of the plan, with sizes. CommitConflictError where one of them is not any more the
    newest of its group, others are about to rewrite it, or log files stand between those planned.
    """
    for other in now.pending():
        older = other.is_write and order_key(other.requested) < order_key(requested)
        if older and not is_clustering(Snapshot(storage, now), other):
            raise _conflict(requested, f"{other}, which is older, is in progress")
    taken = {**pending_groups(Snapshot(storage, now)), **clustered_groups(Snapshot(storage, now))}
    view = build(Snapshot(storage, now), partitions={s.partition_path for s in plan.slices})
    found = []
    for planned in plan.slices:
        key = (planned.partition_path, planned.file_id)
        group, by = view.group(*key), view.replaced_by(*key) or taken.get(key)
        newest = None if group is None else group.latest
        if by is not None:
            raise _conflict(requested, f"{by} rewrites file group {key[1]} of its plan")
        if newest is None or _changed(planned, newest, requested):
            raise _conflict(requested, f"file group {key[1]} of its plan has changed since")
        logs = tuple(log for log in newest.row_logs if log in planned.log_files)
        found.append(evolve(planned, base_file=newest.base_file, log_files=logs))
    return with_committed_sizes(Snapshot(storage, now), found)


def _changed(planned: FileSlice, now: FileSlice, requested: str) -> bool:
    """Whether ``now`` is another slice, lacks a log file, or has one more before their end."""
    if now.base_file != planned.base_file:
        return True
    last = max(map(reading_order, planned.log_files))

    def is_before(log: LogFile) -> bool:
        return order_key(log.instant) < order_key(requested) and reading_order(log) <= last

    return {log for log in now.row_logs if is_before(log)} != set(planned.log_files)


def _conflict(requested: str, rule: str) -> CommitConflictError:
    return CommitConflictError(f"log compaction {requested}", f"{rule}.", _AGAIN)


# --- what died ------------------------------------------------------------------------------------
def undo_dead(storage: Storage, seen: Timeline, living: Liveness) -> tuple[RolledBack, ...]:
    """Undo log compactions that Hoodoo has begun, and whose process has gone: they are not
    continued. Those that another tool runs have no heartbeat, and are left to it."""
    done = []
    for pending in pending_log_compactions(seen):
        requested = pending.requested
        opened = fence_of(requested, seen.config).was_opened(storage)
        if not opened or living.is_alive(requested):
            continue
        if pending.state is State.REQUESTED:  # it died right before it began
            tidy(storage, requested)
            continue
        with suppress(CommitConflictError):  # it was completed, or another one undoes it
            done.append(rollback(Snapshot(storage, reload(storage, seen)), pending))
    return tuple(done)
