"""Compaction: plan, run, publish. Log files are paid off; no row changes (tech specs,
"Compaction").

Writers go on meanwhile. From version 8 on a log file belongs to the slice that was the newest when
it completed, so what completes after the plan waits for the next compaction. In version 6 its name
says the slice: writers name the pending compaction's instant there, and a compaction can't be
planned while a write that read the table before is in progress."""

from __future__ import annotations

import heapq
import warnings
from collections.abc import Callable, Collection, Mapping
from functools import partial

import pyarrow as pa
from attrs import frozen
from hoodoo.actions import life
from hoodoo.actions.life import Life, Plan, refuse_stale_plan, refuse_undoing, schema_then
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
from hoodoo.model.commit import CommitMetadata, Operation
from hoodoo.model.config import TableConfig
from hoodoo.model.instant import Instant
from hoodoo.model.meta import with_meta
from hoodoo.model.schema.avro import avro_text
from hoodoo.participants.listing import build_whole
from hoodoo.storage.api import Storage
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.ledger import settled
from hoodoo.timeline.plans import (
    clustered_groups,
    encode_compaction,
    is_clustering,
    pending_compactions,
    pending_groups,
    read_plan,
)
from hoodoo.timeline.timeline import Timeline, reload
from hoodoo_rows.api import Commit, MergeRule, Pending, StoredFiles, Visible

from hoodoo_services.compaction.merge_slice import CompactSlices, Job, payload, read_result
from hoodoo_services.compaction.slices import slices_now
from hoodoo_services.hookspecs.compaction import Candidate, CompactionStrategy
from hoodoo_services.options import COMPACT_EVERY, COMPACT_INLINE

COMPACTION = "compaction"
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


def schedule(
    storage: Storage, config: TableConfig, strategy: CompactionStrategy, name: str
) -> Instant | None:
    """Put a plan on the timeline; None if there is nothing to compact. Runs nothing.

    ``name`` is the strategy's, for the record. If another one has planned the same meanwhile, its
    instant. Raises CommitConflictError where writes are under way that would be lost (version 6),
    or come in faster than a plan can be made."""
    known: frozenset[str] | None = None

    def make(timeline: Timeline) -> Plan | Instant | None:
        nonlocal known
        pending = pending_compactions(timeline)
        if known is None:
            known = frozenset(i.requested for i in pending)
        busy = {*pending_groups(storage, timeline), *clustered_groups(storage, timeline)}
        candidates = [
            Candidate(s)
            for s in build_whole(storage, timeline).slices
            if any(not log.suffix for log in s.log_files)
            and (s.partition_path, s.file_id) not in busy
        ]
        chosen = list(strategy.choose(candidates)) if candidates else []
        if not chosen:
            # A request of ours may have landed although the store's answer was lost.
            return next((i for i in pending if i.requested not in known), None)
        plan = encode_compaction([c.slice for c in chosen], name, [_metrics(c) for c in chosen])
        groups = frozenset((c.slice.partition_path, c.slice.file_id) for c in chosen)
        return Plan(
            plan, partial(_refuse, storage, timeline, groups),
            {"file_groups": len(chosen), "strategy": name},
        )  # fmt: skip

    return life.schedule(storage, config, COMPACTION, make)


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
            f"compaction {requested}", "is not pending in this table.",
            "table.timeline().pending() lists what is.",
        )  # fmt: skip
    with action_events(COMPACTION, config.name, storage.root, requested, end="committed") as events:
        return _run(target, timeline, found[0], events)


def _run(
    target: CompactionTarget, timeline: Timeline, pending: Instant, events: ActionEvents
) -> Commit:
    storage, config, requested = target.storage, target.config, pending.requested
    joined = target.join(timeline)
    plan = read_plan(storage, timeline, pending)
    mine = Life(storage, timeline, pending, COMPACTION)
    instant = mine.begin()
    events.step("planned", file_groups=len(plan.slices))
    schema = schema_then(storage, timeline, requested, target.schema)
    stored = with_meta(schema)
    file_format = StoredFiles.as_of_schema(
        target.file_format, storage, timeline.latest_schema(storage, requested)
    )
    rule = MergeRule.of(
        stored, config, target.merger, Visible.of(timeline, None), target.generator, file_format
    )
    step = CompactSlices(storage, file_format, rule, Pending.of(timeline, instant))
    slices = slices_now(storage, timeline, plan, requested)
    # The number of log files tells this run's file from that of a run which saw fewer of them.
    jobs = [
        Job(s, f"{s.file_id}_{n}-{len(s.log_files)}-0_{requested}{target.file_format.extension}")
        for n, s in enumerate(slices)
    ]
    tasks = target.engine.tasks([payload(group) for group in _dealt(jobs, target.engine)])
    try:
        stats, damages = read_result(target.engine.collect(target.engine.map(tasks, step)))
    except CorruptTableError as error:
        # In version 6 a write that fails takes its log file back, which only its blocks tell from
        # others.
        if slices_now(storage, reload(storage, timeline), plan, requested) == slices:
            raise
        raise CommitConflictError(
            f"compaction {requested}", f"a log file that it read was taken back ({error}).",
            "Run it again: it is still pending.",
        ) from error  # fmt: skip
    for damage in damages:
        warnings.warn(f"{storage.root}: {damage}", HoodooWarning, stacklevel=4)

    def check(fresh: Timeline) -> None:
        if slices_now(storage, fresh, plan, requested) != slices:
            raise CommitConflictError(
                f"compaction {requested}",
                "a write came in that had begun to complete before its plan.",
                "Run it again: it is still pending.",
            )
        StoredFiles.refuse_evolved(fresh, storage, file_format, requested)

    check(reload(storage, timeline))
    paths = {slice_.partition_path for slice_ in slices}
    mine.remove_unnamed({s.path for s in stats}, paths)
    target.before_publish()
    extra = {"schema": avro_text(schema, config.name), **StoredFiles.noted_schema(file_format)}
    metadata = CommitMetadata(Operation.COMPACT, stats, extra=extra, compacted=True)
    beside = None
    if joined is not None:
        beside = joined.begin(
            ActionChange(
                storage, timeline, instant, Operation.COMPACT, schema, stats, engine=target.engine,
                resumed=True,
            )
        )  # fmt: skip
    content = timeline.layout.encode_commit(metadata, instant.action)
    outcome = mine.complete(content, check=check, beside=beside)
    mine.tidy()
    events.report(metadata.figures)
    files = tuple(stat.path for stat in stats)
    # Its counts are zero: no row has changed.
    return Commit(requested, "commit", "compact", files=files, completed=outcome.instant.completed)


def inline_interval(config: TableConfig, options: Mapping[str, str]) -> int:
    """After how many deltacommits a write compacts; 0 for never. ConfigError for what is none."""
    if not COMPACT_INLINE.read(options) or config.table_type != "MERGE_ON_READ":
        return 0
    return COMPACT_EVERY.read(options)


def commits_since(timeline: Timeline) -> int:
    """Completed deltacommits since the last compaction was requested."""
    done = [i for i in timeline.writes() if i.action == "commit"]
    times = [i.requested for i in (*done, *pending_compactions(timeline))]
    last = max(times, key=order_key, default="")
    deltas = (i for i in timeline.writes() if i.action == "deltacommit")
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


def _refuse(
    storage: Storage, before: Timeline, groups: Collection[tuple[str, str]], now: Timeline
) -> None:
    """StalePlanError where the plan is not right any more; CommitConflictError under writes of
    version 6."""
    refuse_stale_plan(storage, before, now, groups)
    refuse_undoing(storage, now, COMPACTION)
    for other in now.pending() if now.layout.log_names_slice else ():
        if other.is_write and not is_clustering(storage, now, other):
            raise CommitConflictError(
                f"{storage.root}: compaction",
                f"{other} is in progress, and in table version 6 a compaction planned now would lose "
                "its log files.",
                "Schedule it when the write has ended; if its writer died, table.rollback() first.",
            )


def _metrics(candidate: Candidate) -> dict[str, float]:
    read, write = candidate.read_bytes / _MB, candidate.write_bytes / _MB
    return {
        "TOTAL_LOG_FILES": float(candidate.log_files),
        "TOTAL_LOG_FILES_SIZE": float(candidate.log_bytes),
        "TOTAL_IO_READ_MB": read,
        "TOTAL_IO_WRITE_MB": write,
        "TOTAL_IO_MB": read + write,
    }
