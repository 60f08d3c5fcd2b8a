"""Run a planned clean: delete what its plan names and nobody has come to need, then say so.

Order, so that a crash at any point is finished by the next clean (and by Spark Hudi): inflight ->
data files -> partition files of partitions that are empty -> completed. Across a network, files go
beside the put of the inflight file: readers heed the request. A file that is gone already counts as
deleted."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pyarrow as pa
from hoodoo.actions.transaction import Transaction
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.participant import ActionChange, Participation
from hoodoo.kernel.events import ActionEvents, action_events
from hoodoo.model.commit import Operation
from hoodoo.model.instant import Instant, State
from hoodoo.model.outcome import removed_figures
from hoodoo.storage.api import Storage
from hoodoo.storage.together import at_once, discard, together
from hoodoo.timeline import partitions, publish
from hoodoo.timeline.publish import CoupledCommit
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline, reload
from hoodoo.timeline.view import FileSystemView, build

from hoodoo_services.clean.plan import CLEAN, CleanPlan, note, pending_cleans, read_plan
from hoodoo_services.clean.retained import Step, files_of, heeded, is_beside, needed_files
from hoodoo_services.clean.schedule import Scheduled
from hoodoo_services.outcome import Cleaned


def run(
    snapshot: Snapshot,
    requested: str,
    threads: int,
    before_delete: Callable[[], None],
    done_is_fine: bool = False,
    join: Callable[[Timeline], Participation | None] = lambda timeline: None,
    schema: pa.Schema | None = None,
    planned: Scheduled | None = None,
    saw: Callable[[Timeline], None] = lambda timeline: None,
    announce: Callable[[Sequence[str]], None] = lambda going: None,
) -> Cleaned:
    """Run a planned clean, or finish one that somebody began. ``planned``: by this process, just
    now; ``saw`` is called with the timeline that has it completed, where that is known;
    ``announce`` with the paths before any of them is deleted.

    Raises ConfigError if no clean of that instant is pending (``done_is_fine``: nothing is done
    then; others may be about to finish it, too), StorageError if a file can't be deleted (it stays
    pending), CommitUnknownError if its end is not known."""
    known = heeded(snapshot.timeline)
    if planned is None:
        snapshot = snapshot.reload()
        found = [i for i in pending_cleans(snapshot.timeline) if i.requested == requested]
        if not found and done_is_fine:
            return Cleaned()
        if not found:
            raise ConfigError(
                f"clean {requested}",
                "is not pending in this table.",
                "table.timeline().pending() lists what is.",
            )
        plan = _plan(snapshot, found[0])
        if plan is None:
            publish.withdraw(snapshot, found[0])
            return Cleaned()
        planned = Scheduled(found[0], snapshot.timeline, plan, is_known=False)
    with action_events(CLEAN, snapshot.config.name, snapshot.root, requested) as events:
        return _run(
            snapshot.storage,
            planned,
            threads,
            before_delete,
            join,
            schema,
            known,
            events,
            saw,
            announce,
        )


def _run(
    storage: Storage,
    planned: Scheduled,
    threads: int,
    before_delete: Callable[[], None],
    join: Callable[[Timeline], Participation | None],
    schema: pa.Schema | None,
    known: frozenset[Step],
    events: ActionEvents,
    saw: Callable[[Timeline], None],
    announce: Callable[[Sequence[str]], None],
) -> Cleaned:
    timeline, instant, plan = planned.timeline, planned.instant, planned.plan
    begun, requested = time.monotonic(), instant.requested
    transaction = Transaction(
        Snapshot(storage, timeline),
        instant,
        CLEAN,
        "Look at table.timeline(), and clean again.",
        "Open the table again: the next clean finishes it if it is still pending.",
    )
    before_delete()  # it may change the properties, which are read for those who join
    came = [(at, action) for at, action, _state in heeded(timeline) - known]
    new = all((at, action) != (requested, CLEAN) for at, action, _state in known)
    # Nothing came in between.
    planned_now = planned.is_fresh or (new and came == [(requested, CLEAN)])
    kept = needed_files(Snapshot(storage, timeline)) | (
        frozenset()
        if planned_now
        else _newest(build(Snapshot(storage, timeline), partitions=_folders(plan)))
    )
    kept &= frozenset(plan.files)
    going = [path for path in plan.files if path not in kept]
    announce(going)

    def begin() -> None:
        if instant.state is State.REQUESTED:
            transaction.inflight()

    def deleted() -> tuple[str, ...]:
        _delete(storage, going, threads)
        return _drop_partitions(Snapshot(storage, timeline), plan.partitions)

    def told() -> CoupledCommit | None:  # what is pending until the decision
        joined = join(timeline)
        if joined is None:
            return None
        return joined.begin(
            ActionChange(
                storage,
                timeline,
                instant.at(State.INFLIGHT),
                Operation.UNKNOWN,
                schema or pa.schema([]),
                removed=tuple(going),
                resumed=not planned.is_fresh,
            )
        )

    _begun, emptied, beside = together(storage, begin, deleted, told)
    millis = int((time.monotonic() - begun) * 1000)
    content = plan.completed(requested, millis, kept, emptied)
    outcome = transaction.complete(
        content,
        beside=beside,
        lost=partial(_is_completed, partial(reload, storage, timeline), requested),
        known=planned.is_known,
    )
    if outcome.seen is not None:
        note(timeline, outcome.instant, content)
        saw(outcome.seen.followed_by(outcome.instant))
    events.report(removed_figures(going))
    return Cleaned(
        requested,
        plan.policy,
        tuple(going),
        emptied,
        tuple(sorted(kept)),
        None if plan.earliest is None else plan.earliest.requested,
        outcome.instant.completed if outcome.committed else None,
    )


def _plan(snapshot: Snapshot, instant: Instant) -> CleanPlan | None:
    """None if its writer died before the plan was there (on a store that shows files half written),
    or if the clean was done and archived while another one took it up."""
    try:
        plan = read_plan(snapshot, instant)
    except FileNotFoundError:
        return None
    if plan.files or plan.policy:
        return plan
    entry = snapshot.storage.head(snapshot.path(instant.at(State.REQUESTED)))
    return plan if entry is not None and entry.size > 0 else None


def _folders(plan: CleanPlan) -> set[str]:
    return {path.rpartition("/")[0] for path in plan.files}


def _newest(view: FileSystemView) -> frozenset[str]:
    """Files of the slices that are the newest of their groups: a restore may have made them so
    since the plan."""
    return frozenset(path for slice_ in view.slices for path in files_of(slice_))


def _delete(storage: Storage, paths: Sequence[str], threads: int) -> None:
    """All of ``paths``; the first error, after every other path has had its turn."""
    if not paths or at_once(storage) > 1:  # many of them are one request
        discard(storage, paths)
        return
    errors: list[BaseException] = []
    with ThreadPoolExecutor(min(threads, len(paths)), "hoodoo-clean") as pool:
        for future in [pool.submit(storage.delete, path) for path in paths]:
            if (error := future.exception()) is not None:
                errors.append(error)
    if errors:
        raise errors[0]


def _drop_partitions(snapshot: Snapshot, planned: Sequence[str]) -> tuple[str, ...]:
    """Take the partition file out of partitions that are empty.

    A write that comes in meanwhile may have seen the file and not made it anew. It is on the
    timeline before it looks, so whoever looks at the timeline after the deletion sees it, and puts
    the file back."""
    dropped = []
    for partition in planned:
        left = [e for e in snapshot.storage.list(partition) if not is_beside(e.name)]
        if not left:
            for entry in snapshot.storage.list(partition):
                if entry.name.startswith(partitions.FILE_NAME):
                    snapshot.storage.delete(entry.path)
            dropped.append(partition)
    if dropped:
        settled = {w.requested for w in snapshot.writes()}
        for other in snapshot.reload().timeline.instants:
            if other.completes_as_write and other.requested not in settled:
                for partition in dropped:
                    partitions.ensure(snapshot.storage, partition, other.requested)
                break
    return tuple(dropped)


def _is_completed(look: Callable[[], Timeline], requested: str) -> bool:
    return any(i.requested == requested and i.action == CLEAN for i in look().completed())
