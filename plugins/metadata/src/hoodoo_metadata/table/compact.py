"""Compaction of the metadata table: log files become base files, deleted entries are gone for good.

Planned by a decision about the data table: what is completed here then is completed there, too, so
that no base file holds what may yet be undone. A plan that somebody left is run by the next one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone

import pyarrow as pa
from attrs import evolve, field, frozen
from hoodoo.hookspecs.engine import Engine, Task
from hoodoo.kernel.log_files import LogFiles, log_files
from hoodoo.model.commit import CommitMetadata, Operation, WriteStat
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.instant import Instant, State
from hoodoo.model.payload import pack_slices, unpack_slices
from hoodoo.storage.api import Storage
from hoodoo.timeline import fence, ledger, publish
from hoodoo.timeline.decision import Decision
from hoodoo.timeline.instants import next_instant, order_key
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.plans import compactions, encode_compaction, pending_compactions, read_plan
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline, reload
from hoodoo_rows.api import NewFiles, Pending

from hoodoo_metadata.life.beginnings import is_beginning, late_beginnings
from hoodoo_metadata.partitions.api import Partition
from hoodoo_metadata.partitions.known import chosen
from hoodoo_metadata.table.base import put_base
from hoodoo_metadata.table.layout import is_own
from hoodoo_metadata.table.metadata_table import FOLDER, MetadataTable
from hoodoo_metadata.table.schema import record_schema

# File slices of a group that are kept: readers may be at the one before the newest.
KEPT_SLICES = 2
COMPACTION = "compaction"
# What the instant of a compaction ends with in version 6.
_SUFFIX = "001"
_DIGITS = 17
_MB = 1 << 20


def commits_since(timeline: Timeline) -> int:
    """Completed deltacommits of the metadata table since the newest compaction was planned."""
    last = max((i.requested for i in compactions(timeline)), key=order_key, default="")
    deltas = (i for i in timeline.writes() if i.traits.appends)
    return sum(1 for i in deltas if order_key(i.completion_order) > order_key(last or "0"))


def holds(table: MetadataTable, instant: str) -> bool:
    """Whether base files may hold rows of ``instant``, which is completed in the data table: a
    compaction was planned after it was completed here, or a partition was made of the table when it
    was there. (What is caught up with while a partition is made is told by the newest instant
    alone.)"""
    writes = table.timeline.writes()
    done = [i.requested for i in compactions(table.timeline)]
    made = [i.completion_order for i in writes if is_beginning(i.requested)]
    planned = [i.requested for i in pending_compactions(table.timeline)]
    held = (*done, *planned, *made)
    found = table.timeline.find(instant)
    if found is None:
        return bool(held)
    completed = order_key(found.completion_order)
    return any(order_key(when) > completed for when in held)


def first_needed(storage: Storage, data: Timeline, partitions: Sequence[str]) -> str | None:
    """The first instant of the table ``data`` that readers of its metadata table go by, in version
    6: what log files tell of an instant that is not on the active timeline counts for nobody else.
    Up to the oldest base file all is in base files. None where no file group needs any."""
    if not (partitions and data.layout.log_names_slice):
        return None
    table = MetadataTable.open(storage, data)
    starts = [slice_.instant for p in partitions for slice_ in table.slices(p)]
    return min((order_key(start)[:_DIGITS] for start in starts), default=None)


def compact(
    storage: Storage, data: Timeline, partitions: Sequence[str], engine: Engine
) -> tuple[str, ...]:
    """Finish what is planned, then plan and run one more; the instants that were run. ``storage``
    and ``data`` are the data table's."""
    table = MetadataTable.open(storage, data)
    done = [
        _run(storage, table, pending, engine, partitions)
        for pending in pending_compactions(table.timeline)
        if _stands(table, pending)
    ]
    planned = schedule(storage, data, partitions)
    if planned is not None:
        table = MetadataTable.open(storage, data)
        done.append(_run(storage, table, planned, engine, partitions))
    if done:
        table = MetadataTable.open(storage, data)
        _clean(table, partitions)
        _shorten(table)
    return tuple(done)


def _stands(table: MetadataTable, instant: Instant) -> bool:
    """Whether the files that a plan names are there. If not, the metadata table was rebuilt since,
    and the plan goes."""
    plan = read_plan(Snapshot(table.storage, table.timeline), instant)
    there = {e.path for p in {s.partition_path for s in plan.slices} for e in table.storage.list(p)}
    for slice_ in plan.slices:
        files = (slice_.base_file, *slice_.log_files)
        if any(file is not None and file.path not in there for file in files):
            for state in (State.INFLIGHT, State.REQUESTED):
                table.storage.delete(table.timeline.path(instant.at(state)))
            return False
    return True


def schedule(storage: Storage, data: Timeline, partitions: Sequence[str]) -> Instant | None:
    """Plan a compaction of all file groups with log files. None if there is none, or if something
    of another engine is completed here and pending in the data table."""
    made: list[Instant | None] = []

    def make(fresh: Timeline) -> Decision:
        table = MetadataTable.open(storage, fresh)
        made.append(None)
        undecided = {i.requested for i in fresh.pending()}
        told = {i.requested for i in table.timeline.writes()}
        waits = told & undecided or pending_compactions(table.timeline)
        if waits or fence.undoing(Snapshot(storage, fresh)):
            return Decision()
        by_slice = table.timeline.layout.log_names_slice
        requested = _behind_newest(table) if by_slice else None
        if by_slice and requested is None:
            return Decision()
        slices = tuple(
            s for p in partitions if not is_own(p) for s in table.slices(p) if s.log_files
        )
        if not slices and not any(s.log_files for p in partitions for s in table.slices(p)):
            return Decision()
        if requested is None:
            after = max(
                filter(None, (fresh.last_instant_time(), table.timeline.last_instant_time())),
                key=order_key,
            )
            requested = next_instant(datetime.now(timezone.utc), after, data.config.timezone)
        instant = Instant(requested, COMPACTION, State.REQUESTED)
        made[-1] = instant
        path = f"{FOLDER}/{table.timeline.path(instant)}"
        return Decision(path, encode_compaction(slices, metrics=[_metrics(s) for s in slices]))

    ledger.decide(Snapshot(storage, data), make)
    return made[-1]


def _behind_newest(table: MetadataTable) -> str | None:
    """The instant of a compaction in version 6: the newest that the metadata table tells of, and
    three digits. None while something older is pending in the table (it would come after the
    compaction, and into slices of before), and where it was compacted up to there. Source:
    ``HoodieBackedTableMetadataWriter.compactIfNecessary``."""
    deltas = [i.requested for i in table.timeline.writes() if i.traits.appends]
    if not deltas:
        return None
    newest = max(deltas, key=order_key)
    if any(order_key(i.requested) <= newest for i in table.data.pending()):
        return None
    requested = f"{newest}{_SUFFIX}"
    return None if table.timeline.find(requested) is not None else requested


def _metrics(slice_: FileSlice) -> dict[str, float]:
    """As Hudi's plans have them: it fails to run one without."""
    logged = sum(log.size for log in slice_.log_files)
    read = (logged + (slice_.base_file.size if slice_.base_file else 0)) / _MB
    return {
        "TOTAL_LOG_FILES": float(len(slice_.log_files)),
        "TOTAL_LOG_FILES_SIZE": float(logged),
        "TOTAL_IO_READ_MB": read,
        "TOTAL_IO_WRITE_MB": read,
        "TOTAL_IO_MB": 2 * read,
    }


def _own_slices(table: MetadataTable, requested: str, partitions: Sequence[str]) -> list[FileSlice]:
    """Those of Hoodoo's own partitions as they were when ``requested`` was planned; Hudi must not
    find them in a plan."""
    found = []
    for slice_ in (s for p in partitions if is_own(p) for s in table.slices(p)):
        if slice_.base_file is not None and order_key(slice_.instant) >= order_key(requested):
            continue
        logs = tuple(
            log
            for log in slice_.log_files
            if order_key(table.timeline.completion_time(log.instant)) < order_key(requested)
        )
        if logs:
            found.append(evolve(slice_, log_files=logs))
    return found


def _run(
    storage: Storage,
    table: MetadataTable,
    instant: Instant,
    engine: Engine,
    partitions: Sequence[str],
) -> str:
    plan = read_plan(Snapshot(table.storage, table.timeline), instant)
    if table.timeline.layout.log_names_slice:
        # All that was decided when it was planned; a file of the plan may get blocks of others
        # since.
        table = MetadataTable.open(storage, reload(storage, table.data)).until(instant.requested)
    instant = publish.inflight(Snapshot(table.storage, table.timeline), instant.at(State.REQUESTED))
    pending = Pending.of(table.timeline, instant)
    text = record_schema(table.data.config.version)
    slices = [*plan.slices, *_own_slices(table, instant.requested, partitions)]
    tasks = engine.tasks([pack_slices([slice_]) for slice_ in slices])
    step = _CompactGroups(table.storage, pending, text, _merging(slices))
    stats = NewFiles.read_stats(engine.collect(engine.map(tasks, step)))
    told = tuple(stat for stat in stats if not is_own(stat.partition_path))
    metadata = CommitMetadata(Operation.COMPACT, told, extra={"schema": text}, compacted=True)
    content = table.timeline.layout.encode_commit(metadata, "commit")

    def make(fresh: Timeline) -> Decision:
        now = MetadataTable.open(storage, fresh).timeline
        if now.find(instant.requested) is not None:
            return Decision()  # somebody else ran it, too
        completed = None
        if now.layout.names_completion:
            after = max(
                filter(None, (fresh.last_instant_time(), now.last_instant_time())), key=order_key
            )
            completed = next_instant(datetime.now(timezone.utc), after, fresh.config.timezone)
        done = Instant(instant.requested, "commit", State.COMPLETED, completed)
        needs = tuple(
            f"{FOLDER}/{now.path(instant.at(state))}" for state in (State.REQUESTED, State.INFLIGHT)
        )
        return Decision(f"{FOLDER}/{now.path(done)}", content, needs)

    ledger.decide(Snapshot(storage, table.data), make)
    return instant.requested


def _merging(slices: Sequence[FileSlice]) -> dict[str, Partition]:
    """The partitions of ``slices``, for the tasks."""
    names = sorted({slice_.partition_path for slice_ in slices})
    return {partition.name: partition for partition in chosen(names)}


@frozen
class _CompactGroups:
    storage: Storage
    pending: Pending
    schema_text: str
    partitions: Mapping[str, Partition]
    # For the task: it reads the log files of the metadata table.
    logs: LogFiles = field(factory=log_files, eq=False, repr=False)

    @property
    def out_schema(self) -> pa.Schema:
        return NewFiles.STATS

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column("payload").to_pylist():
                for slice_ in unpack_slices(payload):
                    yield NewFiles.stats_batch([self._compact(slice_, task)])

    def _compact(self, slice_: FileSlice, task: Task) -> WriteStat:
        stat = put_base(
            self.storage,
            self.pending,
            slice_.partition_path,
            slice_.file_id,
            self.partitions[slice_.partition_path].merged(self.storage, slice_, self.schema_text),
            self.schema_text,
            task.number,
        )
        base = slice_.base_file
        return evolve(
            stat,
            prev_commit=slice_.instant,
            prev_base_file=None if base is None else base.name,
        )


def _clean(table: MetadataTable, partitions: Sequence[str]) -> None:
    """Files of slices that nobody is at any more. Log files go before the base file that they are
    of: without it, readers would not know where they belong. And what a late task of an earlier
    beginning of a partition has put: no decision tells of it, nor does anybody see it."""
    for partition in partitions:
        for path in _never_begun(table, partition):
            table.storage.delete(path)
        for group in table.file_view(partition).groups():
            for slice_ in group.slices[KEPT_SLICES:]:
                for log in slice_.log_files:
                    table.storage.delete(log.path)
                if slice_.base_file is not None:
                    table.storage.delete(slice_.base_file.path)


def _never_begun(table: MetadataTable, partition: str) -> list[str]:
    parsed = (parse_path(e.path, e.size) for e in table.storage.list(partition))
    files = [file for file in parsed if file is not None]
    # Looked at after the listing: a beginning is on the timeline before its files are there.
    late = late_beginnings(files, reload(table.storage, table.timeline))
    return [file.path for file in files if file.instant in late]


def removable_before(timeline: Timeline) -> str:
    """Return the order key before which a metadata table's ``timeline`` may lack instants, as
    compactions have merged them; an empty text if there are too few compactions. Those it goes by
    stay, so it is the same afterwards."""
    done = sorted(order_key(i.requested) for i in compactions(timeline))
    return done[-KEPT_SLICES] if len(done) >= KEPT_SLICES else ""


def _shorten(table: MetadataTable) -> None:
    """Take off the timeline what no file is of any more: it is listed with each look. All from the
    compaction before the newest on stays, and how partitions began.

    Nothing is archived: what the metadata table was, nobody asks; it is made of the table's own
    history."""
    limit = removable_before(table.timeline)
    if not limit:
        return
    folders = [e.path for e in table.storage.list() if e.is_dir and not e.name.startswith(".")]
    parsed = (parse_path(e.path) for folder in folders for e in table.storage.list(folder))
    needed = {file.instant for file in parsed if file is not None}
    if table.timeline.layout.log_names_slice and needed:
        # A beginning of it: blocks count of what is older than the first instant, and of what is
        # there.
        limit = min(limit, *map(order_key, needed))
    for instant in table.timeline.writes():
        old = order_key(instant.completion_order) < limit
        if is_beginning(instant.requested) and not table.timeline.layout.log_names_slice:
            continue
        if old and instant.requested not in needed:
            pending = COMPACTION if instant.traits.is_plain else instant.action
            for state in (State.REQUESTED, State.INFLIGHT):
                begun = Instant(instant.requested, pending, state)
                table.storage.delete(table.timeline.path(begun))
            table.storage.delete(table.timeline.path(instant))
