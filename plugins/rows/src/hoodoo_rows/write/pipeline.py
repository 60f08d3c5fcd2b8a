"""The write path: prepare -> key -> stage -> tag -> route -> exchange -> write.

One module a step; this one only joins them. It ends with the write stats of finished, durable files
under one instant; publishing is the caller's (write/publish.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.errors import ConfigError, DuplicateKeyError
from hoodoo.hookspecs.conflict import Group
from hoodoo.hookspecs.engine import Stream, Workspace, result_bytes, runs_once
from hoodoo.hookspecs.index import BucketPlace, ComputedIndex, LookupIndex, PathBuckets, PathIndex
from hoodoo.hookspecs.merger import delete_mark, keeps_absent
from hoodoo.kernel.answers import check_groups
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.instant import Instant
from hoodoo.model.meta import IS_DELETED, with_meta
from hoodoo.model.schema.avro import avro_text
from hoodoo.options.table import BY_ARRIVAL, BY_EVENT_TIME
from hoodoo.options.write import DUPLICATES, duplicates
from hoodoo.storage.together import at_once
from hoodoo.timeline.codec.large import LazyStats
from hoodoo.timeline.markers import CREATE, MERGE, marker
from hoodoo.timeline.task_fence import TaskFence

from hoodoo_rows.merge.pairs import is_plain
from hoodoo_rows.merge.rule import history_of
from hoodoo_rows.produce.key_changes import WriteResult, collect_written
from hoodoo_rows.produce.log_names import LogPlan, may_delete
from hoodoo_rows.produce.pending import Pending
from hoodoo_rows.produce.slots import PlannedSlot, SlotPlan, new_uuid, plan_table
from hoodoo_rows.produce.stats import read_stats
from hoodoo_rows.produce.summary import Arrivals, Summarise, arrivals
from hoodoo_rows.read.source import SKELETONS
from hoodoo_rows.write.conflicts import doubles_rows
from hoodoo_rows.write.key import AddBuckets, AddKeys, AddPathBuckets
from hoodoo_rows.write.located import compare_computed, context_of, living, locate_rows
from hoodoo_rows.write.new_files import WriteNewFiles
from hoodoo_rows.write.operation import Replaces, WriteKind
from hoodoo_rows.write.places import OnDriver, Places, in_tasks, tag, where_rows_stay
from hoodoo_rows.write.prepare import Conform, Only, has_column, only_arriving, target_schema
from hoodoo_rows.write.repeated import one_row_per_key
from hoodoo_rows.write.route import RouteToBuckets, RouteToSlots
from hoodoo_rows.write.tag import LocatedDeletes, OnlyUntagged, UntaggedInserts
from hoodoo_rows.write.target import ChangesRows, LogSettings, RowChanges, WriteTarget
from hoodoo_rows.write.write_slots import WriteSlots

# How much Parquet shrinks Arrow bytes, roughly: the size of a stored row before any commit shows it
# (Hudi: hoodie.copyonwrite.record.size.estimate).
_SHRINK = 0.35
_SAMPLE = 1000  # files of a commit that say what a row costs
# A task costs 54-120 core-ms before it does anything: a few per core balance well enough.
_TASKS_PER_CORE = 2


@frozen
class Prepared:
    """Keyed rows that wait to be written, each source row evaluated at most once."""

    kind: WriteKind
    schema: pa.Schema  # the table's schema after this write
    keyed: Stream
    staged: bool
    arriving: Arrivals
    partial: bool = False  # rows lack columns that keep their stored values
    # Deletes that may lie in any partition path go through this index.
    anywhere: LookupIndex | None = None
    # What somebody who has read the table makes of its rows.
    changes: RowChanges | None = None
    # Where the places of the rows can be staged.
    workspace: Workspace | None = None

    @property
    def places(self) -> Mapping[Group, int] | None:
        """The rows by file group, where these are known; else None."""
        return None if self.changes is None else self.changes.places


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
    arriving = _summary(target, staged, looks)
    if looks and target.index.is_global and target.computed is None:
        single = one_row_per_key(target, staged, arriving.keys, workspace)
        if single is not staged:
            staged, arriving = single, _summary(target, single, looks)
    partial = len(travels) < len(schema)
    return Prepared(
        kind.exchanged(), schema, staged, True, arriving, partial, anywhere, workspace=workspace
    )


def _summary(target: WriteTarget, keyed: Stream, looks: bool = False) -> Arrivals:
    step = Summarise(result_bytes(target.engine) if looks else 0)
    return arrivals(target.engine.collect(target.engine.map(keyed, step)))


def _prepare_changes(target: WriteTarget, kind: WriteKind, changes: RowChanges) -> Prepared:
    keyed = changes.rows
    if isinstance(target.computed, ComputedIndex):  # its key says where a row lies, too
        keyed = target.engine.map(keyed, AddBuckets(keyed.schema, target.computed))
    return Prepared(kind, target.schema, keyed, True, _summary(target, keyed), changes=changes)


def plan(target: WriteTarget, prepared: Prepared, instant: str) -> Planned:
    """Names every file that the write will make and routes the rows there."""
    if not prepared.staged:
        return Planned((), 0, None)
    slices = _kept_slices(target, prepared)
    begun: dict[tuple[str, str], BucketPlace] = {}
    logs = _log_plan(target, prepared, instant, begun)
    slots = SlotPlan(instant, slices, target.file_format.extension, logs)
    computes = target.computed is not None and prepared.anywhere is None
    keyed, looked = prepared.keyed, None
    if prepared.kind.looks_up and (
        not prepared.kind.matches if computes else prepared.places is None
    ):
        by = target.plugins.by_path() if computes else prepared.anywhere or target.lookup()
        found = _in_tasks(target, prepared, by)
        sees = target.logs is not None and target.logs.notes_rows and prepared.kind.matches
        looked = found or OnDriver(
            target, by, keyed, *locate_rows(target, by, keyed, prepared.arriving, sees=sees)
        )
    if target.computed is not None and computes:
        if prepared.kind.looks_up:
            compare_computed(target, target.computed, keyed)
        if looked is not None:
            keyed = _only_new(target, prepared, looked)
        buckets: ComputedIndex | PathBuckets
        if isinstance(target.computed, PathIndex):
            buckets, keyed = _in_paths(target, target.computed, prepared, keyed, instant)
            _plan_places(target, buckets, keyed, slices, slots, begun)
        else:
            buckets = target.computed
            _plan_buckets(buckets, prepared, slices, slots, instant)
        dealt, parts = slots.deal(_tasks(target))
        side = target.engine.side(plan_table(dealt))
        step: Any = RouteToBuckets(keyed.schema, side, buckets.buckets)
        return Planned(tuple(dealt), parts, target.engine.map(keyed, step))
    tagged, misplaced = _tagged(target, prepared, slices, slots, looked)
    dealt, parts = slots.deal(_tasks(target))
    side = target.engine.side(plan_table(dealt))
    step = RouteToSlots(prepared.keyed.schema, side)
    seen = looked.seen if isinstance(looked, OnDriver) else None
    return Planned(tuple(dealt), parts, target.engine.map(tagged, step), misplaced, seen)


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
    return at_once(target.storage) > 1 and runs_once(target.engine)


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


def replaced_partitions(prepared: Prepared) -> Sequence[str] | None:
    """The partition paths whose file groups the write replaces; None means all of them."""
    if prepared.kind.replaces is Replaces.TABLE:
        return None
    return sorted(prepared.arriving.rows) if prepared.kind.replaces is Replaces.PARTITIONS else []


def _tasks(target: WriteTarget) -> int:
    """Log files are written so fast that a task for each core is enough."""
    return target.engine.parallelism * (_TASKS_PER_CORE if target.logs is None else 1)


def _kept_slices(target: WriteTarget, prepared: Prepared) -> tuple[FileSlice, ...]:
    """The slices that stay visible beside the write: new rows may go there. Not into one that may
    be undone with the pending write that began it."""
    replaced = replaced_partitions(prepared)
    if replaced is None:
        return ()
    gone = set(replaced)
    return tuple(s for s in target.settled if s.partition_path not in gone)


def _plan_buckets(
    index: ComputedIndex,
    prepared: Prepared,
    slices: Sequence[FileSlice],
    slots: SlotPlan,
    instant: str,
) -> None:
    held = {(s.partition_path, index.bucket_of(s.file_id)): s.file_id for s in slices}
    for path, bucket, rows, puts in prepared.arriving.buckets:
        file_id = held.get((path, bucket))
        if file_id is None and not puts:
            continue  # deletes of keys that are nowhere
        if file_id is None:
            file_id = index.file_id(bucket, new_uuid(instant, path, bucket))
        slots.bucket(path, bucket, file_id, rows)


def _in_paths(
    target: WriteTarget, index: PathIndex, prepared: Prepared, keyed: Stream, instant: str
) -> tuple[PathBuckets, Stream]:
    """The current buckets of the paths that rows arrive in, and the rows with their buckets."""
    paths = replaced_partitions(prepared)
    if paths is None:
        paths = sorted({*prepared.arriving.rows, *(s.partition_path for s in target.slices)})
    replaces = prepared.kind.replaces is not Replaces.NOTHING
    doubles = bool(target.policy.clusterings) and doubles_rows(target, prepared.kind)
    found = index.in_paths(
        context_of(target, prepared.arriving),
        paths if replaces else sorted(prepared.arriving.rows),
        instant,
        replaces,
        doubles,
    )
    return found, target.engine.map(keyed, AddPathBuckets(keyed.schema, found))


def _plan_places(
    target: WriteTarget,
    buckets: PathBuckets,
    keyed: Stream,
    slices: Sequence[FileSlice],
    slots: SlotPlan,
    begun: dict[tuple[str, str], BucketPlace],
) -> None:
    held = {(s.partition_path, s.file_id) for s in slices}
    for path, bucket, rows, puts in _summary(target, keyed).buckets:
        place = buckets.place(path, bucket)
        if place.begun is not None:
            begun[path, place.file_id] = place
        elif not puts and (path, place.file_id) not in held:
            continue  # deletes of keys that are nowhere
        slots.bucket(path, bucket, place.file_id, rows)


def _tagged(
    target: WriteTarget,
    prepared: Prepared,
    slices: tuple[FileSlice, ...],
    slots: SlotPlan,
    looked: Places | None,
) -> tuple[Stream, bool]:
    """The tagged rows; and whether some of them stay where their columns do not say. ``looked``:
    where their keys lie (None: nobody looks)."""
    arriving = prepared.arriving
    new = dict(arriving.puts)
    misplaced = False
    if prepared.places is not None:
        stream: Stream = prepared.keyed
        for (path, file_id), puts in sorted(prepared.places.items()):
            slots.existing(path, file_id)
            new[path] = new.get(path, 0) - puts
    elif looked is None:
        stream = target.engine.map(prepared.keyed, UntaggedInserts(prepared.keyed.schema))
    else:
        index = looked.index
        groups = looked.groups()
        if prepared.kind.matches and not prepared.kind.deletes:
            paths = {row["partition_path"] for row in groups}
            stay, misplaced = where_rows_stay(target, looked, paths, prepared.keyed, arriving)
            if stay is not looked:
                looked, groups = stay, stay.groups()
        check_groups(
            index,
            ((row["partition_path"], row["file_id"]) for row in groups),
            {(s.partition_path, s.file_id) for s in target.slices} if groups else (),
        )
        if prepared.kind.deletes:
            # The locations are the deletes: one row for each place where the key lies.
            stream = target.engine.map(looked.stream(), LocatedDeletes(prepared.keyed.schema))
        elif not prepared.kind.matches:
            stream = _only_new(target, prepared, looked)
        else:
            stream = tag(target, looked, prepared.keyed)
        for row in groups:
            if prepared.kind.matches:
                slots.existing(row["partition_path"], row["file_id"])
            if not index.is_global or target.logs is not None:
                left = new.get(row["partition_path"], 0) - row["rows"]
                new[row["partition_path"]] = max(left, 0)
    if not prepared.kind.deletes:
        # Estimates may say that nothing is new where a row is: every path keeps a place for it. A
        # table with log files keeps it in a new file group, as filling one means to rewrite it.
        least = 1 if target.logs is None and prepared.places is None else 0
        weights = {path: max(least, rows) for path, rows in new.items() if max(least, rows)}
        plugins = target.plugins
        layout = plugins.filling_layout if prepared.kind.fills else plugins.new_layout
        busy = target.clustered
        # A skeleton is small, and what it becomes when it is filled is not.
        free = [
            s
            for s in slices
            if (s.partition_path, s.file_id) not in busy
            and (s.base_file is None or s.base_file.instant != SKELETONS)
        ]
        slots.add_slots(layout.plan(weights, free, _row_bytes(target, arriving)))
        for path in sorted(new.keys() - weights.keys()):
            slots.new(path, 1)
    return stream, misplaced


def _in_tasks(target: WriteTarget, prepared: Prepared, index: LookupIndex) -> Places | None:
    kind = prepared.kind
    stored = None if kind.matches else with_meta(prepared.schema)
    return in_tasks(
        target, index, prepared.keyed, prepared.arriving, prepared.workspace, kind.deletes, stored
    )


def _only_new(target: WriteTarget, prepared: Prepared, known: Places) -> Stream:
    """An insert under a duplicate policy: known keys are dropped or refused."""
    if isinstance(known, OnDriver):
        stored = with_meta(prepared.schema)
        known = evolve(known, found=living(target, known.index, known.found, stored))
    if duplicates(target.options) == "fail":
        rows = sum(group["rows"] for group in known.groups())
        if rows:
            raise DuplicateKeyError(
                f"record key {known.first()!r}",
                f"is in the table already (of the keys to insert, {rows} are).",
                f"use upsert, or {DUPLICATES.key}=drop.",
            )
    tagged = tag(target, known, prepared.keyed, moves=False)
    return target.engine.map(tagged, OnlyUntagged(tagged.schema))


def _row_bytes(target: WriteTarget, arriving: Arrivals) -> float:
    """Bytes on disk of one row: from the newest commit that wrote some, else guessed from
    memory."""
    for instant in target.timeline.writes()[:-4:-1]:
        stats = target.timeline.metadata(target.storage, instant).stats
        stats = stats.first(_SAMPLE) if isinstance(stats, LazyStats) else stats
        stats = tuple(s for s in stats[:_SAMPLE] if s.log_version is None)
        rows = sum(s.num_writes for s in stats)
        if rows >= 1000:  # footers outweigh the rows of small files
            return sum(s.file_size for s in stats) / rows
    return max(1.0, _SHRINK * arriving.bytes / max(1, arriving.total))


def _lacks_partition(target: WriteTarget, schema: pa.Schema) -> bool:
    return not all(has_column(schema, name) for name in target.generator.partition_fields)
