"""The action ``clustering``: a table gets a better layout while writers go on (RFC-19)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard

from attrs import evolve, frozen
from hoodoo.actions.rollback.recovery import recover
from hoodoo.actions.rollback.run import rollback
from hoodoo.actions.transaction import Plan, refuse_stale_plan, refuse_undoing, schedule
from hoodoo.errors import (
    CommitConflictError,
    CommitUnknownError,
    ConfigError,
    HoodooError,
    UnsupportedTableError,
)
from hoodoo.hookspecs.action import AfterWrite
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.index import ComputedIndex, PathIndex
from hoodoo.hookspecs.registration import Registration, Settings
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import in_role, resolve
from hoodoo.model.commit import Operation
from hoodoo.model.instant import State
from hoodoo.model.outcome import RolledBack
from hoodoo.options.option import Option
from hoodoo.participants.listing import build_whole
from hoodoo.timeline.heartbeat import Liveness
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.plans import PLANNER, clustered_groups, pending_groups
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.task_fence import fence_of
from hoodoo.timeline.timeline import Timeline
from hoodoo_rows.api import Commit, StoredFiles, Writes

from hoodoo_clustering import options as keys
from hoodoo_clustering.bounds import kind_of
from hoodoo_clustering.hookspecs.clustering import (
    RESIZES,
    ClusteredTable,
    Clustering,
    OfTable,
)
from hoodoo_clustering.hookspecs.partition_filter import PartitionFilter
from hoodoo_clustering.left_out import sentences
from hoodoo_clustering.outcome import PendingClustering
from hoodoo_clustering.plan import CLUSTERING, ClusteringPlan, pending_clusterings
from hoodoo_clustering.run import NOT_PENDING, ClusteringExecution, ClusteringRun, run
from hoodoo_clustering.schedule import Scope, make_plan
from hoodoo_clustering.settings import ClusteringSettings, filter_name

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle

# Hudi's own strategy, and the orders that it knows as layouts.
_SORTS = "org.apache.hudi.client.clustering.run.strategy.SparkSortAndSizeExecutionStrategy"
_LAYOUTS = ("linear", "zorder", "hilbert")


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
        _check_clusterable(table)
        chosen = engine or table.default_engine
        given = order if order is not None and not isinstance(order, str) else None
        look = partial(table.write_target, None, chosen, spare=(instant,))
        request = table.write_request(Writes.UPSERT, look)
        return run(
            ClusteringRun(requested=instant, request=request, how=partial(_how, table, given))
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
        _check_clusterable(table)
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
    _check_clusterable(table)
    given = _given(columns, target_file_size, partitions)
    given.update(table.check_options(options or {}))
    # Who asks has a reason to: partitions that did not change may get another order.
    merged = {keys.INCREMENTAL.key: "false", **table.options, **given}
    settings = ClusteringSettings.of(merged)
    wanted = plan or keys.PLANNER.given(merged)
    if wanted is None:
        resizes = isinstance(table.plugins().index, PathIndex)
        wanted = in_role("clustering_plan", RESIZES) if resizes else keys.PLANNER.initial
    planner, ref = resolve("clustering_plan", wanted, Settings(table.config, merged))
    wanted_paths = filter_name(merged) if _are_paths(partitions) else partitions
    only, _ref = resolve("partition_filter", wanted_paths, Settings(table.config, merged))
    how, named, strategy, params = _strategy(
        table, planner.order if order is None else order, merged
    )
    # What an object goes by is not in a plan: what it has laid out may be laid out otherwise.
    order_name = named if order is None or isinstance(order, str) else None
    recover(table.storage, table.config)
    _check_there(table, (*planner.bounds_of, *how.columns))
    for_table = _for_table(table, planner, wanted)
    _for_table(table, how, named)(table.timeline())
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


def _strategy(
    table: TableHandle, order: Any, options: Mapping[str, str]
) -> tuple[Clustering, str, str, dict[str, str]]:
    """What lays out the rows, its name, how the plan names it, and all that it goes by."""
    columns = keys.SORT_COLUMNS.given(options) or ()
    default = keys.EXECUTION.given(options) or (
        keys.LAYOUT.read(options).lower() if columns else "combine"
    )
    wanted = default if order is None else order
    asked = dict(options)
    if wanted in _LAYOUTS:
        _check_columns(columns, wanted)
        asked[keys.LAYOUT.key] = wanted.upper()
    found, ref = resolve("clustering", wanted, Settings(table.config, asked))
    offer = kernel().find("clustering", ref.name)
    registration = None if offer is None else offer.registration
    params = {keys.TARGET.key: str(keys.TARGET.read(options))}
    if columns and ref.name != "combine":
        params[keys.SORT_COLUMNS.key] = keys.SORT_COLUMNS.spell(columns)
    declared = () if registration is None else registration.options
    params |= {o.key: o.spell(o.read(options)) for o in declared if o.is_in(options)}
    if ref.name in (*_LAYOUTS, "combine"):
        if ref.name != "combine":
            params[keys.LAYOUT.key] = ref.name.upper()
        return found, ref.name, _SORTS, params
    if ref.name == "single_file" and keys.LAYOUT.is_in(options):
        params[keys.LAYOUT.key] = keys.LAYOUT.read(options)
    return found, ref.name, _java_name(registration) or ref.name, params


def _how(table: TableHandle, given: Any, plan: ClusteringPlan) -> ClusteringExecution:
    # The plan alone says it; another tool's doesn't say all.
    options = dict(plan.params)
    own: tuple[Option, ...] = () if PLANNER in plan.extra else (keys.TARGET, keys.LAYOUT)
    for option in own:
        said = option.given(table.options)
        if said is not None and not option.is_in(options):
            options[option.key] = option.spell(said)
    found, ref = resolve("clustering", given or plan.strategy, Settings(table.config, options))
    strategy: Clustering = _for_table(table, found, plan.strategy)(table.timeline())
    name = ref.name
    if plan.strategy == _SORTS:
        name = keys.LAYOUT.read(options).lower() if strategy.columns else "combine"
    memory = keys.MEMORY.given(table.options)
    return ClusteringExecution(strategy, name, keys.TARGET.read(options), memory)


def _check_clusterable(table: TableHandle) -> None:
    index = table.plugins().index
    if isinstance(index, ComputedIndex):
        raise UnsupportedTableError(
            f"table {table.config.name}",
            "has an index that computes the file group of a key, and clustering would move rows "
            "away "
            "from there",
            "leave its layout to the index, or copy the rows into a table with another one.",
        )


def _for_table(table: TableHandle, part: Any, name: Any) -> Callable[[Timeline], Any]:
    """``part``, a planner or an order, as of a timeline of the table. UnsupportedTableError where
    it is not for the table's index."""
    plugins = table.plugins()
    if isinstance(part, OfTable):
        return lambda timeline: part.of_table(
            ClusteredTable(table.storage, timeline, table.config, plugins.index)
        )
    if isinstance(plugins.index, PathIndex):
        raise UnsupportedTableError(
            f"clustering by {name!r}",
            "would move rows away from the file groups where the index of the table looks for "
            "them.",
            f"Leave it out: this table is clustered by {in_role('clustering_plan', RESIZES)!r}.",
        )
    return lambda timeline: part


def _check_there(table: TableHandle, columns: Iterable[str]) -> None:
    schema = table.schema
    for name in columns:
        if name not in schema.names and kind_of(schema, name) is None:
            raise ConfigError(
                f"clustering by column {name}",
                f"the table has no such column (it has {', '.join(schema.names)}).",
                "Name columns that there are.",
            )


def _commits_since(table: TableHandle, timeline: Timeline) -> int:
    """Completed writes since the newest clustering that is completed, or was planned."""
    pending = pending_clusterings(Snapshot(table.storage, timeline))
    last = max((i.requested for i, _plan in pending), key=order_key, default="")
    count = 0
    for write in reversed(timeline.writes()):
        if last and order_key(write.requested) <= order_key(last):
            break
        replaces = write.action == "replacecommit"
        if replaces and timeline.metadata(table.storage, write).operation is Operation.CLUSTER:
            break
        count += 1
    return count


def _given(
    columns: str | Sequence[str] | None,
    target_file_size: int | None,
    partitions: str | Sequence[str] | PartitionFilter | None,
) -> dict[str, str]:
    """Arguments as the options that they stand for."""
    given: dict[str, str] = {}
    for key, value in (
        (keys.SORT_COLUMNS.key, columns),
        (keys.SELECTED.key, partitions),
    ):
        if _are_paths(value) and value is not None:
            texts = [value] if isinstance(value, str) else list(value)
            if not all(isinstance(text, str) for text in texts):
                raise ConfigError(
                    f"{key}={texts!r}", "holds what is no text.", "Give a list of texts."
                )
            if key == keys.SELECTED.key and not texts:
                raise ConfigError(
                    f"{key}=[]",
                    "names no partition path.",
                    "Leave it out for all of them; or do not call cluster where there is nothing "
                    "to do.",
                )
            if key == keys.SELECTED.key and any(text != text.strip() for text in texts):
                raise ConfigError(
                    f"{key}={texts!r}",
                    "has a space at the end of a name, and options lose it.",
                    "Choose partition paths by a plugin: partitions= takes a PartitionFilter, too.",
                )
            if not isinstance(value, str) and any("," in text for text in texts):
                raise ConfigError(
                    f"{key}={texts!r}",
                    "has a comma in a name, and commas separate them.",
                    "Choose partition paths by a plugin: partitions= takes a PartitionFilter, too.",
                )
            given[key] = ",".join(texts)
    if target_file_size is not None:
        given[keys.TARGET.key] = str(target_file_size)
    return given


def _are_paths(
    partitions: str | Sequence[str] | PartitionFilter | None,
) -> TypeGuard[str | Sequence[str] | None]:
    """Else it is a filter of partitions."""
    return partitions is None or isinstance(partitions, (str, Iterable))


def _check_columns(columns: Sequence[str], name: str) -> None:
    if not columns:
        raise ConfigError(
            f"order {name}",
            "has no columns to sort by.",
            f"Name some: columns=[...], or the option {keys.SORT_COLUMNS.key}.",
        )


def _java_name(registration: Registration | None) -> str | None:
    """The class that Spark Hudi knows it by."""
    aliases = () if registration is None else registration.aliases
    return next((alias for alias in aliases if alias.startswith("org.apache.hudi.")), None)
