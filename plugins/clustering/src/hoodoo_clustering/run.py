"""Run: a planned clustering becomes a replacecommit (RFC-19, "Running clustering").

inflight -> files of every group -> what no group names goes -> the decision, which looks at all
that others published since -> completed. Whatever ends it before that undoes the plan, too: it is
of a table that has changed, or can be rebuilt."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress

import pyarrow as pa
from attrs import define, evolve, field, frozen
from hoodoo.actions.transaction import Transaction, schema_then
from hoodoo.errors import (
    CommitConflictError,
    CommitUnknownError,
    ConfigError,
    CorruptTableError,
    StorageError,
)
from hoodoo.hookspecs.conflict import Change, ConflictStrategy, Group
from hoodoo.kernel.events import ActionEvents, action_events
from hoodoo.model.commit import CommitMetadata, Operation
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.instant import Instant
from hoodoo.model.schema.avro import avro_text
from hoodoo.timeline.heartbeat import Beating
from hoodoo.timeline.log_sizes import with_committed_sizes
from hoodoo.timeline.plans import PLANNER, is_clustering
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.task_fence import fence_of
from hoodoo.timeline.timeline import Timeline
from hoodoo_rows.api import (
    Commit,
    Pending,
    StoredFiles,
    WriteRequest,
    WriteResult,
    Writes,
    WriteTarget,
)

from hoodoo_clustering.hookspecs.clustering import ClusteredGroup, Clustering, PlacesRows
from hoodoo_clustering.plan import CLUSTERING, ClusteringPlan, pending_clusterings
from hoodoo_clustering.run_groups import run_groups

# Of a file group those that it becomes.
Heirs = Mapping[Group, frozenset[Group]]
_AGAIN = "It is undone: plan another one (table.cluster())."
# The rule of an error about a plan that somebody has run or undone, or that never was.
NOT_PENDING = "is not pending in this table."
# What the commit says of the clustering, in its extra metadata.
STRATEGY = "hoodoo.clustering.strategy"
PARAMS = "hoodoo.clustering.params"
FIGURES = "hoodoo.clustering.figures"


@frozen
class ClusteringExecution:
    """``strategy``: what orders the rows, and its name. ``target_bytes``: of a file; ``memory``:
    what the sort of one group may hold, in bytes."""

    strategy: Clustering
    name: str
    target_bytes: int
    memory: int | None


@frozen
class ClusteringRun:
    """Which plan is run, on which table (as a write gets it), and by which strategy."""

    requested: str
    request: WriteRequest
    how: Callable[[ClusteringPlan], ClusteringExecution]


def run(order: ClusteringRun) -> Commit:
    """Run the pending clustering and publish it. One that an earlier run began is begun again.

    Raises ConfigError if none of that instant is pending, or nobody knows its strategy;
    CommitConflictError if another process runs it, or a write came in that changed what it read (it
    is undone then); CommitUnknownError if its end is not known (look at the timeline, and run it
    again if it is pending)."""
    target = order.request.look()
    instant, plan = _found(target, order.requested)
    then = target.timeline.latest_schema(target.storage, order.requested)
    file_format = StoredFiles.as_of_schema(target.file_format, target.storage, then)
    target = evolve(target, plugins=evolve(target.plugins, file_format=file_format))
    how = order.how(plan)
    target.engine.check(target.plugins.refs)
    with (
        Beating(target.storage) as beats,
        action_events(
            CLUSTERING, target.config.name, target.storage.root, order.requested, end="committed"
        ) as events,
    ):
        if not beats.add(order.requested):
            raise CommitConflictError(
                f"clustering {order.requested}",
                "is being run by another process.",
                "Wait for its end; if that process died, repeat this in two minutes.",
            )
        try:
            transaction = Transaction(target.snapshot, instant, CLUSTERING)
            what = f"clustering {order.requested}"
            with Writes.taken_files_conflict(target.snapshot, what, _AGAIN, instant):
                return _run(order, target, transaction, plan, how, events)
        except CommitUnknownError:
            raise
        except Exception as error:
            # Another tool's plan that failed for a reason of ours is left for it.
            if PLANNER in plan.extra or isinstance(error, CommitConflictError):
                with suppress(CommitConflictError, StorageError):  # the next writer does it
                    order.request.undo(instant)
            raise


def _found(target: WriteTarget, requested: str) -> tuple[Instant, ClusteringPlan]:
    for instant, plan in pending_clusterings(target.snapshot):
        if instant.requested == requested:
            return instant, plan
    raise ConfigError(
        f"clustering {requested}",
        NOT_PENDING,
        "table.clusterings() lists what is.",
    )


def _run(
    order: ClusteringRun,
    target: WriteTarget,
    transaction: Transaction,
    plan: ClusteringPlan,
    how: ClusteringExecution,
    events: ActionEvents,
) -> Commit:
    storage, timeline, instant = target.storage, target.timeline, transaction.instant
    began = time.monotonic()
    heirs = _heirs(plan, how.strategy)
    plan = _as_it_is(target, plan, order.requested, heirs)
    # Before it is begun: who finds it begun without a door knows that another tool runs it.
    door = fence_of(instant.requested, target.config)
    door.open(storage)
    instant = transaction.inflight()
    events.step("planned", groups=len(plan.groups), strategy=how.name)
    schema = schema_then(Snapshot(storage, timeline), order.requested, target.schema)
    # Names differ from run to run: what tasks of an earlier one leave can't be taken for what these
    # write.
    attempt = uuid.uuid4().hex[:12]
    written, groups = run_groups(
        target,
        plan,
        how.strategy,
        how.target_bytes,
        how.memory or target.memory,
        Pending.of(timeline, instant, door),
        attempt,
        schema,
    )
    named = {stat.path for stat in written.stats}
    door.close(storage, named)
    # The door is closed: no task of an earlier run adds any.
    paths = {group.partition_path for group in plan.groups}
    transaction.remove_unnamed(named, paths)
    metadata = CommitMetadata(
        Operation.CLUSTER, written.stats, _replaced(plan), _told(target, how, plan, groups, schema)
    )
    commit = _publish(order, target, transaction, metadata, written, plan, began, heirs)
    events.report(metadata.figures, groups=len(plan.groups), strategy=how.name)
    return commit


def _as_it_is(
    target: WriteTarget, plan: ClusteringPlan, requested: str, heirs: Heirs
) -> ClusteringPlan:
    """``plan`` with the sizes of its files. CommitConflictError if some group is not any more what
    was planned; rows that came in since do not count where its heirs have them, too."""
    latest = {(s.partition_path, s.file_id): s for s in target.slices}
    groups = []
    for group in plan.groups:
        found = []
        for planned in group.slices:
            now = latest.get((planned.partition_path, planned.file_id))
            if now is not None and heirs:
                now = _without_shared(target, now, planned, heirs)
            if now is None or _files(now) != _files(planned):
                raise CommitConflictError(
                    f"clustering {requested}",
                    f"file group {planned.file_id} of its plan has been changed since.",
                    _AGAIN,
                )
            found.append(evolve(now, log_files=now.row_logs))
        sized = with_committed_sizes(target.snapshot, found)
        groups.append(evolve(group, slices=sized))
    return evolve(plan, groups=tuple(groups))


def _without_shared(
    target: WriteTarget, now: FileSlice, planned: FileSlice, heirs: Heirs
) -> FileSlice:
    """``now`` without the log files of writes that put their rows into what the group becomes,
    too."""
    group, known = (now.partition_path, now.file_id), _paths(planned)
    for write in target.timeline.writes() if _paths(now) - known else ():
        metadata = target.timeline.metadata(target.storage, write)
        if not unshared(Writes.change_of(write, metadata), frozenset((group,)), heirs):
            gone = {stat.path for stat in metadata.stats} - known
            now = evolve(now, log_files=tuple(x for x in now.log_files if x.path not in gone))
    return now


def _paths(slice_: FileSlice) -> set[str]:
    return {log.path for log in slice_.log_files}


def _files(slice_: FileSlice) -> tuple[str | None, frozenset[str]]:
    base = slice_.base_file
    return (base.name if base else None, frozenset(log.name for log in slice_.row_logs))


def _replaced(plan: ClusteringPlan) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for path, file_id in sorted(plan.file_groups):
        found.setdefault(path, []).append(file_id)
    return {path: tuple(ids) for path, ids in found.items()}


def _told(
    target: WriteTarget,
    how: ClusteringExecution,
    plan: ClusteringPlan,
    groups: tuple[ClusteredGroup, ...],
    schema: pa.Schema,
) -> dict[str, str]:
    """The extra metadata of the commit: what was done, and what the strategy has to say of it."""
    before = [s for group in plan.groups for s in group.slices]
    after = [file.stat for group in groups for file in group.files]
    figures = {
        "groups": len(plan.groups),
        "files_before": len(before),
        "files_after": len(after),
        "bytes_before": sum(s.size for s in before),
        "bytes_after": sum(stat.file_size for stat in after),
        "rows": sum(stat.num_writes for stat in after),
    }
    noted = {} if target.joined is None else target.joined.noted
    return {
        **how.strategy.told(groups),
        "schema": avro_text(schema, target.config.name),
        **StoredFiles.noted_schema(target.file_format),
        **noted,
        STRATEGY: how.name,
        PARAMS: json.dumps(dict(plan.params), sort_keys=True),
        FIGURES: json.dumps(figures),
    }


def _publish(
    order: ClusteringRun,
    target: WriteTarget,
    transaction: Transaction,
    metadata: CommitMetadata,
    written: WriteResult,
    plan: ClusteringPlan,
    began: float,
    heirs: Heirs,
) -> Commit:
    order.request.before_publish()
    storage, timeline, instant = target.storage, target.timeline, transaction.instant
    beside = Writes.begin_joined(target, instant, metadata, written, target.schema)
    check = _NobodyElse(target, instant, plan.file_groups, order.request.conflicts, heirs)
    content = timeline.layout.encode_commit(metadata, "replacecommit")

    def lost() -> bool:
        # Another tool may have completed this very instant: then whatever bears it is seen.
        for stat in metadata.stats:
            storage.delete(stat.path)
        return False

    with order.request.turns.let_others_first(storage, time.monotonic() - began):
        outcome = transaction.complete(content, check=check, beside=beside, lost=lost)
    transaction.tidy()
    files = tuple(stat.path for stat in metadata.stats)
    # Its counts are zero: no row has changed.
    return Commit(
        instant.requested,
        "replacecommit",
        "cluster",
        files=files,
        completed=outcome.instant.completed,
    )


def _heirs(plan: ClusteringPlan, strategy: Clustering) -> Heirs:
    """Of each file group of the plan those that it becomes, where the plan says it: a write that
    changes these, too, has put its rows into both."""
    if not isinstance(strategy, PlacesRows):
        return {}
    return {
        (s.partition_path, s.file_id): frozenset(
            (s.partition_path, file_id) for file_id in strategy.file_ids(group.extra)
        )
        for group in plan.groups
        for s in group.slices
    }


def unshared(change: Change, groups: frozenset[Group], heirs: Heirs) -> frozenset[Group]:
    """Those of ``groups`` that ``change`` touched, and none of their heirs."""
    touched = change.touched
    return frozenset(g for g in touched & groups if touched.isdisjoint(heirs.get(g, ())))


@define
class _NobodyElse:
    """Raises CommitConflictError if what the clustering read is not what is there any more: it
    gives way."""

    target: WriteTarget
    instant: Instant
    groups: frozenset[Group]
    strategy: ConflictStrategy
    heirs: Heirs = field(factory=dict)
    _known: set[str] = field(factory=set)

    def __attrs_post_init__(self) -> None:
        self._known = {i.requested for i in self.target.timeline.writes()}

    def __call__(self, fresh: Timeline) -> None:
        storage = self.target.storage
        if undone := fresh.undone_since(self.target.timeline):
            raise self._conflict(f"{undone[0]}, which it had read, was undone")
        file_format, requested = self.target.file_format, self.instant.requested
        StoredFiles.refuse_evolved(fresh, storage, file_format, requested)
        for other in fresh.writes():
            if other.requested in self._known:
                continue
            change = Writes.change_of(other, fresh.metadata(storage, other))
            if shared := unshared(change, self.groups, self.heirs):
                raise self._conflict(f"{other} changed file group {min(shared)[1]}, too")
            self._known.add(other.requested)
        mine = Change(
            self.instant.requested, "replacecommit", Operation.CLUSTER, rewritten=self.groups
        )
        for other in fresh.pending():
            writes = other.is_write and not is_clustering(Snapshot(storage, fresh), other)
            if not writes:
                continue
            change = self._under_way(fresh, other)
            if self.heirs and not unshared(change, self.groups, self.heirs):
                continue
            if reason := self.strategy.conflict(mine, change):
                raise self._conflict(f"{other} is in progress, and {reason}")

    def _under_way(self, fresh: Timeline, other: Instant) -> Change:
        """What a write that is not published says that it is about to change."""
        try:
            told = fresh.metadata(self.target.storage, other)
        except (FileNotFoundError, CorruptTableError):
            return Change(other.requested, other.action, Operation.UNKNOWN, pending=True)
        return evolve(Writes.change_of(other, told), pending=True)

    def _conflict(self, reason: str) -> CommitConflictError:
        return CommitConflictError(
            f"clustering {self.instant.requested}",
            f"gives way: {reason}.",
            _AGAIN,
        )
