"""Compaction: plan, run, publish. Log files are paid off; no row changes (tech specs,
"Compaction").

Writers go on meanwhile. From version 8 on a log file belongs to the slice that was the newest when
it completed, so what completes after the plan waits for the next compaction. In version 6 its name
says the slice: writers name the pending compaction's instant there, and a compaction can't be
planned while a write that read the table before is in progress."""

from __future__ import annotations

import heapq
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from attrs import Factory, evolve, frozen
from hoodoo.actions import transaction
from hoodoo.actions.transaction import (
    Plan,
    Transaction,
    refuse_stale_plan,
    refuse_undoing,
    schema_then,
)
from hoodoo.errors import (
    CommitConflictError,
    ConfigError,
    CorruptTableError,
    HoodooWarning,
)
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.hookspecs.merger import Merger
from hoodoo.hookspecs.participant import ActionChange, Participation
from hoodoo.kernel.events import ActionEvents, action_events
from hoodoo.model.commit import CommitMetadata, Operation, WriteStat
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.instant import Instant
from hoodoo.model.meta import with_meta
from hoodoo.model.schema.avro import avro_text
from hoodoo.participants.listing import build_whole
from hoodoo.storage.api import Storage
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.ledger import settled
from hoodoo.timeline.plans import (
    clustered_groups,
    compactions,
    encode_compaction,
    is_clustering,
    pending_compactions,
    pending_groups,
    read_plan,
)
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline, reload
from hoodoo_rows.api import Commit, MergeRule, NewFiles, Pending, StoredFiles, Visible, Writes

from hoodoo_services.compaction.merge_slice import (
    CompactSlices,
    Job,
    MergesSlices,
    payload,
    read_result,
)
from hoodoo_services.compaction.slices import slices_now
from hoodoo_services.hookspecs.compaction import Candidate, CompactionStrategy
from hoodoo_services.options import COMPACT_EVERY, COMPACT_INLINE

COMPACTION = "compaction"
# The rule of an error about a plan that somebody has run or undone, or that never was.
NOT_PENDING = "is not pending in this table."
_MB = 1024 * 1024


@frozen
class CompactionTarget:
    """What a compaction works with. ``schema`` is the table's own, without meta columns."""

    storage: Storage
    config: TableConfig
    schema: pa.Schema
    engine: Engine
    merger: Merger
    file_format: BaseFileFormat
    before_publish: Callable[[], None]
    generator: KeyGenerator
    # Who takes part in what is made of a timeline.
    join: Callable[[Timeline], Participation | None] = lambda timeline: None
    # How log files are written.
    logs: NewFiles.LogSettings | None = None
    # Log rows may meet those of base files by the numbers of these.
    by_rows: bool = True


def _refuse(
    storage: Storage, before: Timeline, groups: Collection[tuple[str, str]], now: Timeline
) -> None:
    """StalePlanError where the plan is not right any more; CommitConflictError under writes of
    version 6."""
    refuse_stale_plan(storage, before, now, groups)
    refuse_undoing(Snapshot(storage, now), COMPACTION)
    if now.layout.log_names_slice:
        why = "in table version 6 a compaction planned now would lose its log files"
        refuse_writes(storage, now, COMPACTION, why)


def refuse_writes(storage: Storage, now: Timeline, what: str, why: str) -> None:
    """CommitConflictError while a write is in progress."""
    for other in now.pending():
        if other.is_write and not is_clustering(Snapshot(storage, now), other):
            raise CommitConflictError(
                f"{storage.root}: {what}",
                f"{other} is in progress, and {why}.",
                "Schedule it when the write has ended; if its writer died, table.rollback() first.",
            )


@frozen
class Kind:
    """What is planned. ``pending``: the plans of this kind that wait; ``busy``: file groups that
    others have; ``fitting``: which candidates may be planned at all; ``refuse``: see
    :class:`hoodoo.actions.transaction.Plan`; ``fields`` of a plan."""

    action: str = COMPACTION
    pending: Callable[[Timeline], tuple[Instant, ...]] = pending_compactions
    busy: Callable[[Snapshot], Collection[tuple[str, str]]] = pending_groups
    fitting: Callable[[Snapshot, list[Candidate]], list[Candidate]] = lambda seen, found: found
    refuse: Callable[[Storage, Timeline, Collection[tuple[str, str]], Timeline], None] = _refuse
    fields: Mapping[str, Any] = Factory(dict)


def schedule(
    storage: Storage,
    config: TableConfig,
    strategy: CompactionStrategy,
    name: str,
    kind: Kind = Kind(),
) -> Instant | None:
    """Put a plan on the timeline; None if there is nothing to compact. Runs nothing.

    ``name`` is the strategy's, for the record. If another one has planned the same meanwhile, its
    instant. Raises CommitConflictError where writes are in progress that would be lost (version 6),
    or come in faster than a plan can be made."""
    known: frozenset[str] | None = None

    def make(timeline: Timeline) -> Plan | Instant | None:
        nonlocal known
        pending = kind.pending(timeline)
        if known is None:
            known = frozenset(i.requested for i in pending)
        seen = Snapshot(storage, timeline)
        busy = {*kind.busy(seen), *clustered_groups(seen)}
        whole = build_whole(Snapshot(storage, timeline)).slices
        free = [s for s in whole if s.row_logs and (s.partition_path, s.file_id) not in busy]
        what = f"{storage.root}: {kind.action}"
        with Writes.taken_files_conflict(seen, what, "Schedule it again."):
            candidates = kind.fitting(seen, [Candidate(s) for s in free])
        chosen = list(strategy.choose(candidates)) if candidates else []
        if not chosen:
            # An earlier request may have landed although the store's answer was lost.
            return next((i for i in pending if i.requested not in known), None)
        slices, metrics = [c.slice for c in chosen], [_metrics(c) for c in chosen]
        sources = StoredFiles.sources(storage, config, slices)
        plan = encode_compaction(slices, name, metrics, sources, kind.fields)
        groups = frozenset((s.partition_path, s.file_id) for s in slices)
        return Plan(
            plan,
            partial(kind.refuse, storage, timeline, groups),
            {"file_groups": len(chosen), "strategy": name},
        )

    return transaction.schedule(storage, config, kind.action, make)


@frozen
class Rewrite:
    """One run of a plan: how its slices are read, and what becomes of them."""

    target: CompactionTarget
    timeline: Timeline
    transaction: Transaction
    schema: pa.Schema
    file_format: BaseFileFormat
    rule: MergeRule
    joined: Participation | None

    @classmethod
    def of(
        cls,
        target: CompactionTarget,
        timeline: Timeline,
        mine: Transaction,
        joined: Participation | None,
    ) -> Rewrite:
        storage, requested = target.storage, mine.requested
        schema = schema_then(Snapshot(storage, timeline), requested, target.schema)
        newest = timeline.latest_schema(storage, requested)
        file_format = StoredFiles.as_of_schema(target.file_format, storage, newest)
        visible = Visible.of(timeline, None)
        rule = MergeRule.of(
            with_meta(schema), target.config, target.merger, visible, target.generator, file_format
        )
        rule = evolve(rule, by_rows=target.by_rows)
        return cls(target, timeline, mine, schema, file_format, rule, joined)

    def merge(
        self, step: MergesSlices, jobs: Sequence[Job]
    ) -> tuple[tuple[WriteStat, ...], tuple[str, ...]]:
        """The stats of the files that became of the jobs' slices, and what is damaged in these."""
        engine = self.target.engine
        tasks = engine.tasks([payload(group) for group in _dealt(list(jobs), engine)])
        return read_result(engine.collect(engine.map(tasks, step)))

    def publish(
        self,
        operation: Operation,
        slices: Sequence[FileSlice],
        stats: tuple[WriteStat, ...],
        damages: tuple[str, ...],
        check: Callable[[Timeline], None],
        events: ActionEvents,
    ) -> Commit:
        """``check`` sees the timeline right before the decision."""
        target, timeline, mine = self.target, self.timeline, self.transaction
        storage, config, requested = target.storage, target.config, mine.requested
        for damage in damages:
            warnings.warn(f"{storage.root}: {damage}", HoodooWarning, stacklevel=5)

        def checked(fresh: Timeline) -> None:
            check(fresh)
            StoredFiles.refuse_evolved(fresh, storage, self.file_format, requested)

        checked(reload(storage, timeline))
        mine.remove_unnamed({s.path for s in stats}, {s.partition_path for s in slices})
        target.before_publish()
        noted = StoredFiles.noted_schema(self.file_format)
        extra = {"schema": avro_text(self.schema, config.name), **noted}
        is_base = operation is Operation.COMPACT
        metadata = CommitMetadata(operation, stats, extra=extra, compacted=is_base)
        beside = None
        if self.joined is not None:
            beside = self.joined.begin(
                ActionChange(
                    storage,
                    timeline,
                    mine.instant,
                    operation,
                    self.schema,
                    stats,
                    engine=target.engine,
                    resumed=True,
                )
            )
        content = timeline.layout.encode_commit(metadata, mine.instant.action)
        outcome = mine.complete(content, check=checked, beside=beside)
        mine.tidy()
        events.report(metadata.figures)
        # Its counts are zero: no row has changed.
        return Commit(
            requested,
            outcome.instant.action,
            "compact" if is_base else "log_compact",
            files=tuple(stat.path for stat in stats),
            completed=outcome.instant.completed,
        )


def run(target: CompactionTarget, requested: str) -> Commit:
    """Run a planned compaction and publish it. One that an earlier run left is finished.

    Raises ConfigError if no compaction of that instant is pending, CommitUnknownError if the end of
    it is not known (run it again), CommitConflictError if somebody took it away, or (run it again)
    if log files came in meanwhile that belong to it. Warns of damaged log files."""
    storage, config = target.storage, target.config
    timeline = settled(storage, config)
    found = [i for i in pending_compactions(timeline) if i.requested == requested]
    if not found:
        raise ConfigError(
            f"compaction {requested}",
            NOT_PENDING,
            "table.timeline().pending() lists what is.",
        )
    with action_events(COMPACTION, config.name, storage.root, requested, end="committed") as events:
        seen, what = Snapshot(storage, timeline), f"compaction {requested}"
        mine = Transaction(seen, found[0], COMPACTION)
        with Writes.taken_files_conflict(seen, what, transaction.RUN_AGAIN, found[0]):
            return _run(target, mine, events)


def _run(target: CompactionTarget, mine: Transaction, events: ActionEvents) -> Commit:
    storage, timeline, requested = target.storage, mine.timeline, mine.requested
    joined = target.join(timeline)
    plan = read_plan(Snapshot(storage, timeline), mine.instant)
    instant = mine.inflight()
    events.step("planned", file_groups=len(plan.slices))
    work = Rewrite.of(target, timeline, mine, joined)
    step = CompactSlices(storage, work.rule, Pending.of(timeline, instant), work.file_format)
    slices = slices_now(storage, timeline, plan, requested)
    # The number of log files tells this run's file from that of a run which saw fewer of them.
    jobs = [
        Job(s, f"{s.file_id}_{n}-{len(s.log_files)}-0_{requested}{target.file_format.extension}")
        for n, s in enumerate(slices)
    ]
    try:
        stats, damages = work.merge(step, jobs)
    except CorruptTableError as error:
        # In version 6 a write that fails takes its log file back, which only its blocks tell from
        # others.
        if slices_now(storage, reload(storage, timeline), plan, requested) == slices:
            raise
        raise CommitConflictError(
            f"compaction {requested}",
            f"a log file that it read was taken back ({error}).",
            "Run it again: it is still pending.",
        ) from error

    def check(fresh: Timeline) -> None:
        if slices_now(storage, fresh, plan, requested) != slices:
            raise CommitConflictError(
                f"compaction {requested}",
                "a write came in that had begun to complete before its plan.",
                "Run it again: it is still pending.",
            )

    return work.publish(Operation.COMPACT, slices, stats, damages, check, events)


def inline_interval(config: TableConfig, options: Mapping[str, str]) -> int:
    """After how many deltacommits a write compacts; 0 for never. ConfigError for what is none."""
    if not COMPACT_INLINE.read(options) or config.table_type != "MERGE_ON_READ":
        return 0
    return COMPACT_EVERY.read(options)


def commits_since(timeline: Timeline) -> int:
    """Completed deltacommits since the last compaction was requested."""
    times = [i.requested for i in (*compactions(timeline), *pending_compactions(timeline))]
    last = max(times, key=order_key, default="")
    deltas = (i for i in timeline.writes() if i.traits.appends)
    return sum(1 for i in deltas if not last or order_key(i.completion_order) > order_key(last))


def _dealt(jobs: list[Job], engine: Engine) -> list[list[Job]]:
    """Jobs of about equal bytes together, heaviest first."""
    count = max(1, min(len(jobs), 2 * engine.parallelism))
    groups: list[list[Job]] = [[] for _ in range(count)]
    heap = [(0, i) for i in range(count)]
    for job in sorted(jobs, key=lambda j: (-j.slice.size, j.path)):
        load_, lightest = heapq.heappop(heap)
        groups[lightest].append(job)
        heapq.heappush(heap, (load_ + job.slice.size + 1, lightest))
    return groups


def _metrics(candidate: Candidate) -> dict[str, float]:
    read, write = candidate.read_bytes / _MB, candidate.write_bytes / _MB
    return {
        "TOTAL_LOG_FILES": float(candidate.log_files),
        "TOTAL_LOG_FILES_SIZE": float(candidate.log_bytes),
        "TOTAL_IO_READ_MB": read,
        "TOTAL_IO_WRITE_MB": write,
        "TOTAL_IO_MB": read + write,
    }
