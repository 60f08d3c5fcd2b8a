"""The action ``clustering``: a table gets a better layout while writers go on (RFC-19)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen
from hoodoo.actions.rollback.recovery import recover
from hoodoo.actions.rollback.run import rollback
from hoodoo.actions.transaction import Plan, refuse_stale_plan, refuse_undoing, schedule
from hoodoo.errors import (
    CommitConflictError,
    CommitUnknownError,
    ConfigError,
    HoodooError,
)
from hoodoo.hookspecs.action import AfterWrite
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.index import PathIndex
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import in_role, resolve
from hoodoo.model.commit import Operation
from hoodoo.model.instant import State
from hoodoo.model.outcome import RolledBack
from hoodoo.participants.listing import build_whole
from hoodoo.timeline.heartbeat import Liveness
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.plans import PLANNER, clustered_groups, pending_groups
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.task_fence import fence_of
from hoodoo.timeline.timeline import Timeline
from hoodoo_rows.api import Commit, StoredFiles, Writes

from hoodoo_clustering import options as keys
from hoodoo_clustering.given import (
    are_paths,
    check_clusterable,
    check_there,
    execution_of,
    given_columns,
    made_for,
    plan_strategy,
)
from hoodoo_clustering.hookspecs.clustering import (
    RESIZES,
    OfTable,
)
from hoodoo_clustering.hookspecs.partition_filter import PartitionFilter
from hoodoo_clustering.left_out import sentences
from hoodoo_clustering.outcome import PendingClustering
from hoodoo_clustering.plan import CLUSTERING, ClusteringPlan, pending_clusterings
from hoodoo_clustering.run import NOT_PENDING, ClusteringRun, run
from hoodoo_clustering.schedule import Scope, make_plan
from hoodoo_clustering.settings import ClusteringSettings, filter_name

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle


@frozen
class ClusteringAction:
    """Implements :class:`~hoodoo.hookspecs.action.Action`: planned, and run after writes. See
    :meth:`hoodoo.Table.cluster`."""

    @classmethod
    def from_settings(cls, settings: Settings) -> ClusteringAction:
        return cls()

    def run(
        self,
        table: TableHandle,
        plan: Any = None,
        order: Any = None,
        *,
        columns: str | Sequence[str] | None = None,
        target_file_size: int | None = None,
        partitions: str | Sequence[str] | PartitionFilter | None = None,
        options: Mapping[str, Any] | None = None,
        engine: str | Engine | None = None,
    ) -> Commit:
        commit = Commit("", "replacecommit", "cluster")
        chosen = engine or table.default_engine
        for pending in self.pending(table):
            if not pending.running:
                try:
                    commit = self.run_planned(table, pending.instant, engine=chosen)
                except ConfigError:
                    if any(left.instant == pending.instant for left in self.pending(table)):
                        raise
                    # Somebody was about to give it up, or has run it meanwhile.
        left_out: list[str] = []
        instant = _scheduled(
            table,
            plan,
            order,
            columns=columns,
            target_file_size=target_file_size,
            partitions=partitions,
            options=options,
            left_out=left_out,
        )
        if instant is None:
            return evolve(commit, notes=(*commit.notes, *sentences(left_out)))
        try:
            commit = self.run_planned(table, instant, order=order, engine=chosen)
            return evolve(commit, notes=sentences(left_out))
        except CommitUnknownError:
            raise
        except Exception as error:
            if order is not None and not isinstance(order, str):
                with suppress(HoodooError):  # nobody else could run it
                    self.cancel(table, instant)
            if isinstance(error, ConfigError) and error.rule == NOT_PENDING:
                raise CommitConflictError(
                    f"clustering {instant}",
                    "another process has undone it, or has run it.",
                    "Plan another one (table.cluster()).",
                ) from error
            raise

    def schedule(
        self,
        table: TableHandle,
        plan: Any = None,
        order: Any = None,
        *,
        columns: str | Sequence[str] | None = None,
        target_file_size: int | None = None,
        partitions: str | Sequence[str] | PartitionFilter | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> str | None:
        if order is not None and not isinstance(order, str):
            raise ConfigError(
                f"order of type {type(order).__qualname__}",
                "is an object, and a plan names what runs it: nobody could run this one.",
                "Register it as a plugin and give its name, or plan and run at once: "
                "table.cluster(order=...).",
            )
        return _scheduled(
            table,
            plan,
            order,
            columns=columns,
            target_file_size=target_file_size,
            partitions=partitions,
            options=options,
        )

    def run_planned(
        self,
        table: TableHandle,
        instant: str,
        *,
        order: Any = None,
        engine: str | Engine | None = None,
    ) -> Commit:
        table.check_writable()
        table.refresh()
        check_clusterable(table)
        chosen = engine or table.default_engine
        given = order if order is not None and not isinstance(order, str) else None
        look = partial(table.write_target, None, chosen, spare=(instant,))
        request = table.write_request(Writes.UPSERT, look)
        return run(
            ClusteringRun(
                requested=instant, request=request, how=partial(execution_of, table, given)
            )
        )

    def cancel(self, table: TableHandle, instant: str) -> RolledBack:
        table.check_writable()
        timeline = table.timeline()
        for pending, _plan in pending_clusterings(Snapshot(table.storage, timeline)):
            if pending.requested == instant:
                return rollback(Snapshot(table.storage, timeline), pending)
        raise ConfigError(
            f"clustering {instant}",
            NOT_PENDING,
            "table.clusterings() lists what is.",
        )

    def pending(self, table: TableHandle) -> tuple[PendingClustering, ...]:
        living = Liveness(table.storage)
        return tuple(
            PendingClustering(
                instant=instant.requested,
                state=instant.state.value.lower(),
                strategy=plan.strategy,
                params=plan.params,
                planner=plan.extra.get(PLANNER, ""),
                groups=len(plan.groups),
                files=len(plan.file_groups),
                outputs=sum(group.outputs for group in plan.groups),
                running=instant.state is State.INFLIGHT
                and _may_run(table, instant.requested, living),
                partitions=tuple(sorted({group.partition_path for group in plan.groups})),
            )
            for instant, plan in pending_clusterings(Snapshot(table.storage, table.timeline()))
        )

    def after_write(self, table: TableHandle) -> AfterWrite | None:
        runs, plans = keys.INLINE.read(table.options), keys.SCHEDULED.read(table.options)
        if not runs and not plans:
            return None
        check_clusterable(table)
        every = keys.EVERY.read(table.options)

        def due(timeline: Timeline, engine: Callable[[], Engine]) -> bool:
            if _commits_since(table, timeline) < every:
                return False
            changed = {keys.INCREMENTAL.key: keys.INCREMENTAL.read(table.options)}
            if plans:
                return self.schedule(table, options=changed) is not None
            return bool(self.run(table, options=changed, engine=engine()).instant)

        return AfterWrite("clustering", due, order=20, by_hand="table.cluster()")


def _scheduled(
    table: TableHandle,
    plan: Any,
    order: Any,
    *,
    columns: str | Sequence[str] | None,
    target_file_size: int | None,
    partitions: str | Sequence[str] | PartitionFilter | None,
    options: Mapping[str, Any] | None,
    left_out: list[str] | None = None,
) -> str | None:
    reasons: list[str] = [] if left_out is None else left_out
    table.check_writable()
    table.refresh()
    check_clusterable(table)
    given = given_columns(columns, target_file_size, partitions)
    given.update(table.check_options(options or {}))
    # Who asks has a reason to: partitions that did not change may get another order.
    merged = {keys.INCREMENTAL.key: "false", **table.options, **given}
    settings = ClusteringSettings.of(merged)
    wanted = plan or keys.PLANNER.given(merged)
    if wanted is None:
        resizes = isinstance(table.plugins().index, PathIndex)
        wanted = in_role("clustering_plan", RESIZES) if resizes else keys.PLANNER.initial
    planner, ref = resolve("clustering_plan", wanted, Settings(table.config, merged))
    wanted_paths = filter_name(merged) if are_paths(partitions) else partitions
    only, _ref = resolve("partition_filter", wanted_paths, Settings(table.config, merged))
    how, named, strategy, params = plan_strategy(
        table, planner.order if order is None else order, merged
    )
    # What an object goes by is not in a plan: what it has laid out may be laid out otherwise.
    order_name = named if order is None or isinstance(order, str) else None
    recover(table.storage, table.config)
    check_there(table, (*planner.bounds_of, *how.columns))
    for_table = made_for(table, planner, wanted)
    made_for(table, how, named)(table.timeline())
    if isinstance(planner, OfTable):  # it knows best what is large
        settings = evolve(settings, small=sys.maxsize, with_logs=True)

    def make(timeline: Timeline) -> ClusteringPlan | None:
        busy = {
            *pending_groups(Snapshot(table.storage, timeline)),
            *clustered_groups(Snapshot(table.storage, timeline)),
        }
        scope = Scope(
            storage=table.storage,
            timeline=timeline,
            file_format=table.plugins().file_format,
            schema=table.schema_at(
                table.load_timeline(timeline)
            ),  # what was read is not read again
            slices=build_whole(Snapshot(table.storage, timeline)).slices,
            busy=busy,
            only=only,
        )
        reasons.clear()  # of a plan that somebody overtook
        return make_plan(
            scope,
            for_table(timeline),
            ref.name,
            strategy,
            params,
            settings,
            datetime.now(timezone.utc),
            orders=bool(how.columns),
            order_name=order_name,
            left_out=reasons,
        )

    return _announced(table, make, ref.name)


def _may_run(table: TableHandle, instant: str, living: Liveness) -> bool:
    """Whether somebody may be at it. Other tools have no heartbeat: what was begun, and has no door
    of Hoodoo's, may be running there."""
    ours = fence_of(instant, table.config).was_opened(table.storage)
    return not ours or living.is_alive(instant)


def _announced(
    table: TableHandle, make: Callable[[Timeline], ClusteringPlan | None], name: str
) -> str | None:
    """The instant of the plan that ``make`` makes, once it stands on the timeline."""

    def plan(timeline: Timeline) -> Plan | None:
        what = f"{table.storage.root}: {CLUSTERING}"
        seen = Snapshot(table.storage, timeline)
        with Writes.taken_files_conflict(seen, what, "Schedule it again."):
            made = make(timeline)
        if made is None:
            return None

        def check(fresh: Timeline) -> None:
            refuse_stale_plan(table.storage, timeline, fresh, made.file_groups)
            refuse_undoing(Snapshot(table.storage, fresh), CLUSTERING)

        slices = (slice_ for group in made.groups for slice_ in group.slices)
        sources = StoredFiles.sources(table.storage, table.config, slices)
        return Plan(
            made.encode(table.storage.root, sources),
            check,
            {"groups": len(made.groups), "files": len(made.file_groups), "plan": name},
        )

    instant = schedule(table.storage, table.config, CLUSTERING, plan)
    return None if instant is None else instant.requested


def _commits_since(table: TableHandle, timeline: Timeline) -> int:
    """Completed writes since the newest clustering that is completed, or was planned."""
    pending = pending_clusterings(Snapshot(table.storage, timeline))
    last = max((i.requested for i, _plan in pending), key=order_key, default="")
    count = 0
    for write in reversed(timeline.writes()):
        if last and order_key(write.requested) <= order_key(last):
            break
        replaces = write.traits.replaces
        if replaces and timeline.metadata(table.storage, write).operation is Operation.CLUSTER:
            break
        count += 1
    return count
