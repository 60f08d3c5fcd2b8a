"""The write path: prepare -> key -> stage -> tag -> route -> exchange -> write.

One module a step; this one only joins them. It ends with the write stats of finished, durable files
under one instant; write/transaction.py publishes them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.conflict import Group
from hoodoo.hookspecs.engine import Stream, Workspace, runs_once
from hoodoo.hookspecs.index import BucketPlace, ComputedIndex, PathBuckets, PathIndex
from hoodoo.hookspecs.merger import delete_mark, keeps_absent
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.instant import Instant
from hoodoo.model.meta import IS_DELETED, with_meta
from hoodoo.model.schema.avro import avro_text
from hoodoo.options.table import BY_ARRIVAL, BY_EVENT_TIME
from hoodoo.timeline.markers import CREATE, MERGE, marker
from hoodoo.timeline.task_fence import TaskFence

from hoodoo_rows.merge.pairs import is_plain
from hoodoo_rows.merge.rule import history_of
from hoodoo_rows.produce.key_changes import WriteResult, collect_written
from hoodoo_rows.produce.log_names import LogPlan, may_delete
from hoodoo_rows.produce.pending import Pending
from hoodoo_rows.produce.slots import PlannedSlot, SlotPlan, plan_table
from hoodoo_rows.produce.stats import read_stats
from hoodoo_rows.produce.summary import Arrivals
from hoodoo_rows.write.key import AddBuckets, AddKeys
from hoodoo_rows.write.located import compare_computed, locate_rows
from hoodoo_rows.write.new_files import WriteNewFiles
from hoodoo_rows.write.operation import Replaces, WriteKind
from hoodoo_rows.write.places import OnDriver
from hoodoo_rows.write.prepare import Conform, Only, has_column, only_arriving, target_schema
from hoodoo_rows.write.repeated import one_row_per_key
from hoodoo_rows.write.route import RouteToBuckets, RouteToSlots
from hoodoo_rows.write.tagging import (
    Prepared,
    arrivals_of,
    found_in_tasks,
    in_paths,
    only_new_keys,
    plan_buckets,
    plan_places,
    tag_rows,
)
from hoodoo_rows.write.target import ChangesRows, LogSettings, RowChanges, WriteTarget
from hoodoo_rows.write.write_slots import WriteSlots

# A task costs 54-120 core-ms before it does anything: a few per core balance well enough.
_TASKS_PER_CORE = 2


@frozen
class Planned:
    """Everything that tasks need, named: nothing below here generates anything."""

    slots: tuple[PlannedSlot, ...]
    parts: int
    routed: Stream | None  # None: a direct write
    # Whether rows are left in a partition path that is not that of their columns.
    misplaced: bool = False
    # The rows of base files that are changed (ROWS_SCHEMA), where the index has seen them.
    seen: pa.Table | None = None

    @property
    def groups(self) -> frozenset[Group]:
        """The file groups that it writes to."""
        return frozenset((slot.partition_path, slot.file_id) for slot in self.slots)


def prepare(
    target: WriteTarget, kind: WriteKind, data: Any, workspace: Workspace, instant: str
) -> Prepared:
    """Schema, keys and (unless the write is direct) one durable evaluation of the source.
    ``instant``: the requested time, which generated keys begin with.

    Raises the errors of bad input; the table has not been touched when it does.
    """
    if isinstance(data, ChangesRows):
        changes = data.changes(target, workspace, instant)
        return evolve(_prepare_changes(target, kind, changes), workspace=workspace)
    source = target.engine.source(data)
    anywhere = None
    needed = [*target.generator.record_key_fields]
    if kind.deletes and _lacks_partition(target, source.schema):
        anywhere = target.plugins.anywhere()
    else:
        needed += target.generator.partition_fields
    fixed = (*target.generator.record_key_fields, *target.generator.partition_fields)
    if kind.deletes:
        source = target.engine.map(source, Only.of(source.schema, tuple(needed)))
    elif target.merger.columns:
        needed += [c for c in target.merger.columns if c in target.config.ordering_fields]
    some = kind.deletes or keeps_absent(target.merger)
    schema = target_schema(
        target.schema,
        source.schema,
        fixed,
        needed,
        target.options,
        target.config.ordering_fields,
        some,
    )
    if (history := history_of(target.file_format)) is not None:
        history.grown(schema, instant)  # refuses names of dropped columns
    travels = schema
    if kind.matches and not kind.deletes and keeps_absent(target.merger):
        travels = only_arriving(schema, source.schema, target.options)
        lacking = sorted({*schema.names} - {*travels.names, IS_DELETED})
        if lacking and target.index.is_global and target.index.moves_partitions:
            raise ConfigError(
                f"data without the columns {', '.join(lacking)}",
                "a key that moves to another partition path would lose them.",
                "Give whole rows, or create the table with "
                "hoodie.simple.index.update.partition.path=false.",
            )
    conformed = target.engine.map(source, Conform(travels, target.options))
    strict = target.config.keys_are_strict
    keys = AddKeys.of(travels, target.generator, kind, instant, strict, delete_mark(target.merger))
    keyed: Stream = target.engine.map(conformed, keys)
    if isinstance(target.computed, ComputedIndex):
        keyed = target.engine.map(keyed, AddBuckets(keyed.schema, target.computed))
    if kind.direct and target.computed is None:
        return Prepared(kind, schema, keyed, False, Arrivals())
    staged = target.engine.stage(keyed, workspace)
    looks = kind.looks_up and (target.computed is None or anywhere is not None)
    arriving = arrivals_of(target, staged, looks)
    if looks and target.index.is_global and target.computed is None:
        single = one_row_per_key(target, staged, arriving.keys, workspace)
        if single is not staged:
            staged, arriving = single, arrivals_of(target, single, looks)
    partial = len(travels) < len(schema)
    return Prepared(
        kind.exchanged(), schema, staged, True, arriving, partial, anywhere, workspace=workspace
    )


def _prepare_changes(target: WriteTarget, kind: WriteKind, changes: RowChanges) -> Prepared:
    keyed = changes.rows
    if isinstance(target.computed, ComputedIndex):  # its key says where a row lies, too
        keyed = target.engine.map(keyed, AddBuckets(keyed.schema, target.computed))
    return Prepared(kind, target.schema, keyed, True, arrivals_of(target, keyed), changes=changes)


def plan(target: WriteTarget, prepared: Prepared, instant: str) -> Planned:
    """Names every file that the write will make and routes the rows there."""
    if not prepared.staged:
        return Planned((), 0, None)
    slices = _kept_slices(target, prepared)
    begun: dict[tuple[str, str], BucketPlace] = {}
    logs = _log_plan(target, prepared, instant, begun)
    slots = SlotPlan(instant, slices, target.file_format.extension, logs)
    computes = target.computed is not None and prepared.anywhere is None
    keyed, looked, misplaced, seen = prepared.keyed, None, False, None
    if prepared.kind.looks_up and (
        not prepared.kind.matches if computes else prepared.places is None
    ):
        by = target.plugins.by_path() if computes else prepared.anywhere or target.lookup()
        found = found_in_tasks(target, prepared, by)
        sees = target.logs is not None and target.logs.notes_rows and prepared.kind.matches
        looked = found or OnDriver(
            target, by, keyed, *locate_rows(target, by, keyed, prepared.arriving, sees=sees)
        )
    if target.computed is not None and computes:
        if prepared.kind.looks_up:
            compare_computed(target, target.computed, keyed)
        if looked is not None:
            keyed = only_new_keys(target, prepared, looked)
        buckets: ComputedIndex | PathBuckets
        if isinstance(target.computed, PathIndex):
            buckets, keyed = in_paths(target, target.computed, prepared, keyed, instant)
            plan_places(target, buckets, keyed, slices, slots, begun)
        else:
            buckets = target.computed
            plan_buckets(buckets, prepared, slices, slots, instant)
        step: Any = partial(RouteToBuckets, keyed.schema, buckets=buckets.buckets)
    else:
        keyed, misplaced = tag_rows(target, prepared, slices, slots, looked)
        seen = looked.seen if isinstance(looked, OnDriver) else None
        step = partial(RouteToSlots, prepared.keyed.schema)
    dealt, parts = slots.deal(_tasks(target))
    routed = target.engine.map(keyed, step(target.engine.side(plan_table(dealt))))
    return Planned(tuple(dealt), parts, routed, misplaced, seen)


def paths_needed(target: WriteTarget, prepared: Prepared) -> Collection[str] | None:
    """The partition paths whose file slices the write uses; None: all."""
    if not prepared.staged:
        return ()
    if prepared.places is not None:
        return {*prepared.arriving.rows, *(path for path, _id in prepared.places)}
    anywhere = prepared.anywhere is not None
    if prepared.kind.looks_up:
        anywhere = anywhere or target.index_kind.looks_everywhere
    whole = anywhere or prepared.kind.replaces is Replaces.TABLE
    return None if whole else prepared.arriving.rows.keys()


def write(
    target: WriteTarget, prepared: Prepared, planned: Planned, instant: Instant
) -> WriteResult:
    """Runs the tasks; the files are durable, under their final names, when this returns.

    ``instant`` is inflight.
    """
    stored = with_meta(prepared.schema)
    if planned.routed is None:
        prefix = target.workspace(instant.requested).prefix
        door = TaskFence(instant.requested, prefix, target.config)
        door.open(target.storage)
        pending = Pending.of(target.timeline, instant, door)
        step: Any = WriteNewFiles(
            stored,
            target.storage,
            target.file_format,
            pending,
            target.memory,
            WriteNewFiles.packing(prepared.keyed.schema),
        )
        stats = read_stats(target.engine.collect(target.engine.map(prepared.keyed, step)))
        door.close(target.storage, (stat.path for stat in stats))
        return WriteResult(stats, direct=True)
    pending = evolve(Pending.of(target.timeline, instant), watched=not alone(target))
    if not planned.slots:
        return WriteResult(())
    exchanged = target.exchange(planned.routed, planned.parts)
    step = WriteSlots(
        stored,
        target.engine.side(plan_table(planned.slots)),
        target.storage,
        target.file_format,
        target.merger,
        pending,
        _logs(target, stored),
        target.merge_rule(stored),
        prepared.kind.matches,
        target.plugins.changes,
        target.joined is not None and target.joined.keys,
        sum(slot.work for slot in planned.slots),
        target.memory,
        None if planned.seen is None else target.engine.side(planned.seen),
    )
    written = target.engine.map(exchanged, step)
    if not step.tells_keys:
        return WriteResult(read_stats(target.engine.collect(written)))
    return collect_written(target.engine, written, target.workspace(f"{instant.requested}/keys"))


def alone(target: WriteTarget) -> bool:
    """Whether the files of a write are put once, by this process, across a network: what is known
    of them needs no look at the store. Whether the instant stood when they were put, its decision
    sees: who is undone undoes again."""
    return target.asks_ahead and runs_once(target.engine)


def markers_of(target: WriteTarget, requested: str, stats: Iterable[WriteStat]) -> list[str]:
    """The markers of the files that ``stats`` name."""
    found = []
    for stat in stats:
        kind = CREATE if stat.prev_commit == "null" else MERGE
        if stat.log_version is not None:
            kind = target.logs.marker if target.logs is not None else CREATE
        for path in stat.paths:
            of_file = kind if path == stat.path else CREATE  # of change data
            found.append(marker(requested, *path.rpartition("/")[::2], of_file))
    return found


def _logs(target: WriteTarget, stored: pa.Schema) -> LogSettings:
    if target.logs is None:
        return LogSettings("")
    text = avro_text(stored, target.config.name, meta=True)
    told = target.index_kind.knows_logs
    wins = target.merger.merge_mode == BY_ARRIVAL
    return evolve(
        target.logs, schema_text=text, virtual=target.virtual, index_is_told=told, deletes_win=wins
    )


def _log_plan(
    target: WriteTarget,
    prepared: Prepared,
    instant: str,
    begun: Mapping[tuple[str, str], BucketPlace],
) -> LogPlan | None:
    kind = prepared.kind
    if target.logs is None or kind.replaces is not Replaces.NOTHING:
        return None
    knows = target.computed is not None
    return LogPlan(
        instant,
        target.timeline.layout,
        take_inserts=knows,
        begin_groups=knows and kind.begins_logs,
        partial=prepared.partial,
        pending=target.policy.compacting,
        tells_slice=target.plugins.changes is not None,
        begun=begun,
        may_delete=_may_delete(target, prepared),
    )


def _may_delete(target: WriteTarget, prepared: Prepared) -> Callable[[FileSlice], bool]:
    """Whether rows may meet deletes in the log files of a slice, which the merger would not let
    win."""
    merger, completes = target.merger, keeps_absent(target.merger)
    by_time = is_plain(merger, BY_EVENT_TIME)
    told = target.index_kind.knows_logs and by_time
    if prepared.kind.deletes or ((is_plain(merger, BY_ARRIVAL) or told) and not completes):
        return lambda slice_: False
    marks = completes or not by_time
    return partial(may_delete, target.snapshot, marks)


def _tasks(target: WriteTarget) -> int:
    """Log files are written so fast that a task for each core is enough."""
    return target.engine.parallelism * (_TASKS_PER_CORE if target.logs is None else 1)


def _kept_slices(target: WriteTarget, prepared: Prepared) -> tuple[FileSlice, ...]:
    """The slices that stay visible beside the write: new rows may go there. Not into one that may
    be undone with the pending write that began it."""
    if prepared.replaced is None:
        return ()
    gone = set(prepared.replaced)
    return tuple(s for s in target.settled if s.partition_path not in gone)


def _lacks_partition(target: WriteTarget, schema: pa.Schema) -> bool:
    return not all(has_column(schema, name) for name in target.generator.partition_fields)
