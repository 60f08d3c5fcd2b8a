"""Clusterings: how a table gets a better layout beside its writers (RFC-19)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from functools import partial
from typing import Any

from attrs import evolve, field, frozen

from hoodoo.actions.plan_validation import (
    ATTEMPTS,
    StalePlanError,
    refuse_stale_plan,
    refuse_undoing,
    too_many,
)
from hoodoo.actions.rollback.recovery import recover
from hoodoo.actions.rollback.run import RolledBack, rollback
from hoodoo.clustering.left_out import sentences
from hoodoo.clustering.run import ClusteringExecution, ClusteringRun, run
from hoodoo.clustering.schedule import Scope, make_plan
from hoodoo.clustering.settings import ClusteringSettings
from hoodoo.errors import CommitUnknownError, ConfigError, HoodooError, UnsupportedTableError
from hoodoo.hookspecs.clustering import Clustering
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.index import LookupIndex
from hoodoo.hookspecs.observer import Event
from hoodoo.hookspecs.registration import Registration, Settings
from hoodoo.kernel.events import notify
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import resolve
from hoodoo.model.brief import listed
from hoodoo.model.commit import Operation
from hoodoo.model.instant import State
from hoodoo.model.meta import META_COLUMNS
from hoodoo.options import clustering as keys
from hoodoo.options.option import Option
from hoodoo.participants.listing import build_whole
from hoodoo.produce.task_fence import fence_of
from hoodoo.table import settings as tables
from hoodoo.table.switching import Switching
from hoodoo.timeline import publish
from hoodoo.timeline.heartbeat import Liveness
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.ledger import settled
from hoodoo.timeline.plans.clustering import (
    CLUSTERING,
    PLANNER,
    ClusteringPlan,
    clustered_groups,
    pending_clusterings,
)
from hoodoo.timeline.plans.compaction import pending_groups
from hoodoo.timeline.timeline import Timeline
from hoodoo.write.commit import Commit

# Hudi's own strategy, and the orders that it knows as layouts.
_SORTS = "org.apache.hudi.client.clustering.run.strategy.SparkSortAndSizeExecutionStrategy"
_LAYOUTS = ("linear", "zorder", "hilbert")


@frozen
class PendingClustering:
    """A clustering that is planned. ``strategy``, ``params`` are what it is run by, ``planner`` what grouped its
    files (empty: another tool). ``running``: somebody is at it, or another tool may be."""

    instant: str
    state: str
    strategy: str
    params: Mapping[str, str] = field(repr=listed)
    planner: str
    groups: int
    files: int
    outputs: int
    running: bool
    partitions: tuple[str, ...] = field(repr=listed)


class Clusterings(Switching):
    """A table whose files are rewritten into better ones."""

    def cluster(
        self,
        plan: Any = None,
        order: Any = None,
        *,
        columns: str | Sequence[str] | None = None,
        target_file_size: int | None = None,
        partitions: str | Sequence[str] | None = None,
        options: Mapping[str, Any] | None = None,
        engine: str | Engine | None = None,
    ) -> Commit:
        """Rewrite file groups into well-sized, well-sorted ones; no row changes. Writers may go on meanwhile.

        ``plan`` groups files: ``size``, ``key_range``, ``commit_time``, ``overlap``, ``random``, a plugin's name,
        a Java class or an object; ``order`` lays out their rows: ``linear``, ``zorder``, ``hilbert``, ``combine``
        (as they come), or likewise. ``columns``: what is sorted by; ``target_file_size`` in bytes; ``partitions``:
        the partition paths, else those that the options name. ``options``: others, by their keys. What isn't
        given is taken from the table's ``hoodie.clustering.*`` options.

        File slices that a clustering by the same order, columns and target size has made, and nobody has
        written to since, are left alone, and so are base files of the small file limit or more: by default
        no more than the target; given above it, they take part. ``notes`` of the commit say what was left
        out, and why.

        Clusterings that were planned before are run first, but for those that another tool has begun. The
        commit has an empty instant where nothing was there to do. Raises CommitConflictError where a write
        came in that the clustering gives way to.
        """
        commit = Commit("", "replacecommit", "cluster")
        chosen = engine or self._engine
        for pending in self.clusterings():
            if not pending.running:
                try:
                    commit = self.run_clustering(pending.instant, engine=chosen)
                except ConfigError:
                    if any(left.instant == pending.instant for left in self.clusterings()):
                        raise
                    # Somebody was about to give it up, or has run it meanwhile.
        left_out: list[str] = []
        instant = self._scheduled(
            plan, order, columns=columns, target_file_size=target_file_size,
            partitions=partitions, options=options, left_out=left_out,
        )  # fmt: skip
        if instant is None:
            return evolve(commit, notes=(*commit.notes, *sentences(left_out)))
        try:
            commit = self.run_clustering(instant, order=order, engine=chosen)
            return evolve(commit, notes=sentences(left_out))
        except CommitUnknownError:
            raise
        except Exception:
            if order is not None and not isinstance(order, str):
                with suppress(HoodooError):  # nobody else could run it
                    self.cancel_clustering(instant)
            raise

    def schedule_clustering(
        self,
        plan: Any = None,
        order: Any = None,
        *,
        columns: str | Sequence[str] | None = None,
        target_file_size: int | None = None,
        partitions: str | Sequence[str] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> str | None:
        """Plan a clustering; its instant, or None where nothing is worth it. Runs nothing.

        All that a run goes by is in the plan: it may be run by another process, with other options. Arguments
        as :meth:`cluster` has them, but for an ``order`` that is an object: it could not be found again by what a
        plan can say. Raises ConfigError for bad ones, CommitConflictError while a restore or a rollback is under
        way.
        """
        if order is not None and not isinstance(order, str):
            raise ConfigError(
                f"order of type {type(order).__qualname__}", "is an object, and a plan names what runs it: "
                "nobody could run this one.",
                "Register it as a plugin and give its name, or plan and run at once: table.cluster(order=...).",
            )  # fmt: skip
        return self._scheduled(
            plan, order, columns=columns, target_file_size=target_file_size,
            partitions=partitions, options=options,
        )  # fmt: skip

    def _scheduled(
        self,
        plan: Any,
        order: Any,
        *,
        columns: str | Sequence[str] | None,
        target_file_size: int | None,
        partitions: str | Sequence[str] | None,
        options: Mapping[str, Any] | None,
        left_out: list[str] | None = None,
    ) -> str | None:
        reasons: list[str] = [] if left_out is None else left_out
        self._check_writable()
        self._refresh()
        self._check_clusterable()
        given = _given(columns, target_file_size, partitions)
        given.update(tables.check_options(options or {}, self._config))
        # Who asks has a reason to: partitions that did not change may get another order.
        merged = {keys.INCREMENTAL.key: "false", **self._options, **given}
        settings = ClusteringSettings.of(merged)
        wanted = plan or keys.PLANNER.read(merged)
        planner, ref = resolve("clustering_plan", wanted, Settings(self._config, merged))
        how, named, strategy, params = self._strategy(order, merged)
        # What an object goes by is not in a plan: what it has laid out may be laid out otherwise.
        order_name = named if order is None or isinstance(order, str) else None
        recover(self._storage, self._config)
        self._check_there((*planner.bounds_of, *how.columns))

        def make(timeline: Timeline) -> ClusteringPlan | None:
            busy = {
                *pending_groups(self._storage, timeline),
                *clustered_groups(self._storage, timeline),
            }
            scope = Scope(
                storage=self._storage,
                timeline=timeline,
                file_format=self._plugins().file_format,
                schema=self._schema(timeline),
                slices=build_whole(self._storage, timeline).slices,
                busy=busy,
            )
            reasons.clear()  # of a plan that somebody overtook
            return make_plan(
                scope, planner, ref.name, strategy, params, settings, datetime.now(timezone.utc),
                orders=bool(how.columns), order_name=order_name, left_out=reasons,
            )  # fmt: skip

        return self._announced(make, ref.name)

    def run_clustering(
        self, instant: str, *, order: Any = None, engine: str | Engine | None = None
    ) -> Commit:
        """Run a planned clustering, Hoodoo's or another tool's, from the start or where an earlier run stopped.

        ``order``: an object, where the plan was made with one. Raises ConfigError if it is not pending or its
        strategy is not installed; CommitConflictError if another process runs it, or it gives way to a write:
        it is undone then.
        """
        self._check_writable()
        self._refresh()
        self._check_clusterable()
        chosen = engine or self._engine
        given = order if order is not None and not isinstance(order, str) else None
        wanted = ClusteringRun(
            requested=instant,
            look=partial(self._target, None, chosen, spare=(instant,)),
            how=partial(self._how, given),
            conflicts=tables.conflict_strategy(self._settings),
            undo=self._undo,
            before_publish=self._drop_stale,
            turns=self._turns,
        )
        return run(wanted)

    def cancel_clustering(self, instant: str) -> RolledBack:
        """Give a planned clustering up, be it running: nothing of it is left. Raises ConfigError if it is not
        pending."""
        self._check_writable()
        timeline = self.timeline()
        for pending, _plan in pending_clusterings(self._storage, timeline):
            if pending.requested == instant:
                return rollback(self._storage, timeline, pending)
        raise ConfigError(
            f"clustering {instant}", "is not pending in this table.",
            "table.clusterings() lists what is.",
        )  # fmt: skip

    def clusterings(self) -> tuple[PendingClustering, ...]:
        """The clusterings that are planned and not completed, the oldest first."""
        living = Liveness(self._storage)
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
                and self._may_run(instant.requested, living),
                partitions=tuple(sorted({group.partition_path for group in plan.groups})),
            )
            for instant, plan in pending_clusterings(self._storage, self.timeline())
        )

    # --- inside -----------------------------------------------------------------------------------
    def _may_run(self, instant: str, living: Liveness) -> bool:
        """Whether somebody may be at it. Other tools have no heartbeat: what was begun, and has no door of
        Hoodoo's, may be running there."""
        ours = fence_of(instant, self._config).was_opened(self._storage)
        return not ours or living.is_alive(instant)

    def _announced(
        self, make: Callable[[Timeline], ClusteringPlan | None], name: str
    ) -> str | None:
        """The instant of the plan that ``make`` makes, once it stands on the timeline."""
        for _ in range(ATTEMPTS):
            timeline = settled(self._storage, self._config)
            made = make(timeline)
            if made is None:
                return None

            def check(
                fresh: Timeline, plan: ClusteringPlan = made, seen: Timeline = timeline
            ) -> None:
                refuse_stale_plan(self._storage, seen, fresh, plan.file_groups)
                refuse_undoing(self._storage, fresh, CLUSTERING)

            content = made.encode(self._storage.root)
            try:
                instant = publish.request(self._storage, timeline, CLUSTERING, content, check=check)
            except StalePlanError:
                continue
            detail = {"groups": len(made.groups), "files": len(made.file_groups), "plan": name}
            notify(Event("clustering.scheduled", self._config.name, instant.requested, detail))
            return instant.requested
        raise too_many(self._storage, CLUSTERING)

    def _strategy(
        self, order: Any, options: Mapping[str, str]
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
        found, ref = resolve("clustering", wanted, Settings(self._config, asked))
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
        return found, ref.name, _java_name(registration) or ref.name, params

    def _how(self, given: Any, plan: ClusteringPlan) -> ClusteringExecution:
        # The plan alone says it; another tool's doesn't say all.
        options = dict(plan.params)
        own: tuple[Option, ...] = () if PLANNER in plan.extra else (keys.TARGET, keys.LAYOUT)
        for option in own:
            said = option.given(self._options)
            if said is not None and not option.is_in(options):
                options[option.key] = option.spell(said)
        found, ref = resolve("clustering", given or plan.strategy, Settings(self._config, options))
        strategy: Clustering = found
        name = ref.name
        if plan.strategy == _SORTS:
            name = keys.LAYOUT.read(options).lower() if strategy.columns else "combine"
        memory = keys.MEMORY.read(self._options)
        return ClusteringExecution(strategy, name, keys.TARGET.read(options), memory)

    def _check_clusterable(self) -> None:
        index = self._plugins().index
        if not isinstance(index, LookupIndex):
            raise UnsupportedTableError(
                f"table {self._config.name}",
                "has an index that computes the file group of a key, and clustering would move rows away "
                "from there",
                "leave its layout to the index, or copy the rows into a table with another one.",
            )

    def _check_there(self, columns: Iterable[str]) -> None:
        schema = self.schema
        for name in columns:
            if name not in (*schema.names, *META_COLUMNS):
                raise ConfigError(
                    f"clustering by column {name}",
                    f"the table has no such column (it has {', '.join(schema.names)}).",
                    "Name columns that there are.",
                )

    def _inline_clustering(self) -> Callable[[Timeline, Callable[[], Engine]], bool] | None:
        runs, plans = keys.INLINE.read(self._options), keys.SCHEDULED.read(self._options)
        if not runs and not plans:
            return None
        self._check_clusterable()
        every = keys.EVERY.read(self._options)

        def inline(timeline: Timeline, engine: Callable[[], Engine]) -> bool:
            if self._commits_since(timeline) < every:
                return False
            changed = {keys.INCREMENTAL.key: keys.INCREMENTAL.read(self._options)}
            if plans:
                return self.schedule_clustering(options=changed) is not None
            return bool(self.cluster(options=changed, engine=engine()).instant)

        return inline

    def _commits_since(self, timeline: Timeline) -> int:
        """Completed writes since the newest clustering that is completed, or was planned."""
        pending = pending_clusterings(self._storage, timeline)
        last = max((i.requested for i, _plan in pending), key=order_key, default="")
        count = 0
        for write in reversed(timeline.writes()):
            if last and order_key(write.requested) <= order_key(last):
                break
            replaces = write.action == "replacecommit"
            if replaces and timeline.metadata(self._storage, write).operation is Operation.CLUSTER:
                break
            count += 1
        return count


def _given(
    columns: str | Sequence[str] | None,
    target_file_size: int | None,
    partitions: str | Sequence[str] | None,
) -> dict[str, str]:
    """Arguments as the options that they stand for."""
    given: dict[str, str] = {}
    for key, value in (
        (keys.SORT_COLUMNS.key, columns),
        (keys.SELECTED.key, partitions),
    ):
        if value is not None:
            given[key] = value if isinstance(value, str) else ",".join(value)
    if target_file_size is not None:
        given[keys.TARGET.key] = str(target_file_size)
    return given


def _check_columns(columns: Sequence[str], name: str) -> None:
    if not columns:
        raise ConfigError(
            f"order {name}", "has no columns to sort by.",
            f"Name some: columns=[...], or the option {keys.SORT_COLUMNS.key}.",
        )  # fmt: skip


def _java_name(registration: Registration | None) -> str | None:
    """The class that Spark Hudi knows it by."""
    aliases = () if registration is None else registration.aliases
    return next((alias for alias in aliases if alias.startswith("org.apache.hudi.")), None)
