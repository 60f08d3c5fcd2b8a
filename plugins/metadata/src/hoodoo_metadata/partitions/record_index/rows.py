"""Index rows: the key changes of a write, on their way into the file groups of ``record_index``.

An index row carries no row data (RFC-84). The tasks that write data files make one for each key
that came or went. Index rows are exchanged so that one task has all rows of a file group of the
index, and writes it as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen
from hoodoo.hookspecs.engine import PART, SLOT, Engine, Side, Stream, Task
from hoodoo.hookspecs.participant import KEY_CHANGES
from hoodoo.hookspecs.serializer import Serializer
from hoodoo.kernel.log_files import LogFiles, log_files
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage
from hoodoo_rows.api import NewFiles, Pending

from hoodoo_metadata.hfile import ENTRIES
from hoodoo_metadata.partitions.record_index.bucket import Bucket
from hoodoo_metadata.partitions.record_index.groups import IndexGroups
from hoodoo_metadata.partitions.record_index.growing import open_group
from hoodoo_metadata.partitions.record_index.locations import encode_locations
from hoodoo_metadata.table.base import put_base
from hoodoo_metadata.table.deltas import Delta, put_delta
from hoodoo_metadata.table.layout import RECORD_INDEX
from hoodoo_metadata.table.log_places import LogPlaces

_ROUTED = pa.schema([(PART, pa.int32()), (SLOT, pa.int32()), *KEY_CHANGES])
# File groups of the data table, to which index rows refer by the number ``file``. ``millis``: when
# the keys came, since the epoch.
PLACES = pa.schema(
    [
        ("file", pa.int64()),
        ("partition_path", pa.string()),
        ("file_id", pa.string()),
        ("millis", pa.int64()),
    ]
)
_REPEATED = "repeated"
_DONE = pa.schema([*NewFiles.STATS, pa.field(_REPEATED, pa.int64())])
_TASKS_PER_CORE = 2  # so that a large file group does not leave the other cores idle


@frozen
class GroupFiles:
    """How tasks write the file groups of an index: ``base`` files of all of them, for a new index,
    or log files of those that something changed in."""

    storage: Storage
    pending: Pending
    schema_text: str
    groups: IndexGroups
    base: bool
    # Slots of groups that are new, and written though nothing comes into them.
    new: frozenset[int] = frozenset()
    partition: str = RECORD_INDEX
    # Of an index that grows: its file groups by bucket, and how many entries one of them takes.
    buckets: tuple[tuple[FileSlice, ...], ...] | None = None
    cap: int = 0
    # File groups by slot, if keys must be counted that have another location already.
    known: tuple[tuple[FileSlice, ...], ...] | None = None
    # The value of each entry, if it is not a location.
    value: bytes | None = None
    # The places of log files, in version 6.
    places: LogPlaces | None = None
    # For the task: it reads the log files of the metadata table.
    logs: LogFiles = field(factory=log_files, eq=False, repr=False)

    def file_id(self, slot: int) -> str:
        """The file group that takes what comes into ``slot``."""
        name = self.groups.file_ids[slot]
        if self.buckets is None:
            return name
        return open_group(self.storage, name, self.buckets[slot], self.cap)


def write_index_rows(
    engine: Engine,
    rows: Stream,
    places: pa.Table,
    files: GroupFiles,
    serializer: Serializer | None = None,
) -> tuple[tuple[WriteStat, ...], int]:
    """The stats of the files, and how many keys have more than one location: counted for a new
    index, and if ``files.known`` is set.

    ``rows``: KEY_CHANGES, whose numbers ``file`` are in ``places`` (PLACES). Of a key that comes
    more than once, the row that is not deleted counts."""
    side = engine.side(places)
    parts = max(1, min(len(files.groups.file_ids), engine.parallelism * _TASKS_PER_CORE))
    routed = engine.map(rows, _Route(files.groups, parts, side))
    met = engine.exchange(routed, parts, serializer)
    done = engine.collect(engine.map(met, _WriteGroups(files, parts, side)))
    repeated = pc.sum(done.column(_REPEATED)).as_py() or 0
    return NewFiles.read_stats(done.drop_columns([_REPEATED])), repeated


@frozen
class _Route:
    groups: IndexGroups
    parts: int
    places: Side

    @property
    def out_schema(self) -> pa.Schema:
        return _ROUTED

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                slot = self.groups.slots(batch.column("record_key"), self._paths(batch))
                # Slot -1: the index has no groups for this partition path, and no rows to write.
                part = pa.array(slot % np.int32(self.parts), pa.int32())
                columns = [part, pa.array(slot, pa.int32()), *batch.columns]
                routed = pa.RecordBatch.from_arrays(columns, schema=_ROUTED)
                yield routed if (slot >= 0).all() else routed.filter(pa.array(slot >= 0))

    def _paths(self, batch: pa.RecordBatch) -> pa.Array | None:
        if not self.groups.is_partitioned:
            return None
        places = self.places.table()
        at = pc.index_in(batch.column("file"), value_set=_flat(places.column("file")))
        return _flat(places.column("partition_path")).take(at)


@frozen
class _WriteGroups:
    files: GroupFiles
    parts: int
    places: Side

    @property
    def out_schema(self) -> pa.Schema:
        return _DONE

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        left = set(range(task.number, len(self.files.groups.file_ids), self.parts))
        held: list[pa.RecordBatch] = []
        for batch in batches:
            if not batch.num_rows:
                continue
            if held and held[0].column(SLOT)[0] != batch.column(SLOT)[0]:
                yield self._write(held, left)
                held = []
            held.append(batch)
        if held:
            yield self._write(held, left)
        for group in sorted(left):
            if self.files.base or group in self.files.new:
                empty = pa.Table.from_batches([], KEY_CHANGES)
                yield _done(self._put(group, empty), 0)

    def _write(self, held: list[pa.RecordBatch], left: set[int]) -> pa.RecordBatch:
        group = int(held[0].column(SLOT)[0].as_py())
        left.discard(group)
        rows = pa.Table.from_batches(held).select(KEY_CHANGES.names).combine_chunks()
        one_each = _one_each(rows)
        if self.files.base:
            repeated = rows.num_rows - one_each.num_rows
        else:
            known = self._known(group, one_each)
            repeated = self._elsewhere(rows, known) if known is not None else 0
            if known is not None:
                one_each = self._without_foreign_deletes(one_each, known)
        return _done(self._put(group, one_each), repeated)

    def _known(self, slot: int, rows: pa.Table) -> pa.Table | None:
        """Where the index says that keys of ``rows``, one row each, lie: ``record_key``,
        ``deleted`` as in the row, and whether the place is that of the row (``same``), or its
        partition path (``same_path``). None if ``files.known`` is not set."""
        if self.files.known is None:
            return None
        keys = rows.column("record_key").combine_chunks()
        found = Bucket(self.files.storage, self.files.known[slot]).get_record_locations(keys)
        row = rows.take(pc.index_in(found.column("record_key"), value_set=keys))
        places = self.places.table()
        place = pc.index_in(row.column("file"), value_set=_flat(places.column("file")))
        of_row = {name: places.column(name).take(place) for name in ("partition_path", "file_id")}
        same_path = pc.equal(found.column("partition_path"), of_row["partition_path"])
        same = pc.and_(same_path, pc.equal(found.column("file_id"), of_row["file_id"]))
        columns = [found.column("record_key"), row.column("deleted"), same, same_path]
        return pa.table(columns, names=["record_key", "deleted", "same", "same_path"])

    def _without_foreign_deletes(self, rows: pa.Table, known: pa.Table) -> pa.Table:
        """``rows`` without deletes of keys that lie in another partition path: a write whose index
        computes the file group of a key puts deletes without knowing whether there is a row."""
        stays = known.filter(pc.and_not(known.column("deleted"), known.column("same_path")))
        if not stays.num_rows:
            return rows
        elsewhere = _flat(stays.column("record_key"))
        is_foreign = pc.is_in(rows.column("record_key"), value_set=elsewhere)
        foreign_deletes = pc.and_(rows.column("deleted"), is_foreign)
        return rows.filter(pc.invert(foreign_deletes)).combine_chunks()

    def _elsewhere(self, rows: pa.Table, known: pa.Table) -> int:
        """How many keys come into one place and lie in another one already, or come into two."""
        came = rows.filter(pc.invert(rows.column("deleted")))
        distinct = came.group_by(["record_key", "file"]).aggregate([]).num_rows
        within = distinct - pc.count_distinct(came.column("record_key")).as_py()
        gone = rows.filter(rows.column("deleted")).column("record_key").combine_chunks()
        # Also keys that are only deleted.
        moved = pc.is_in(known.column("record_key"), value_set=gone)
        elsewhere = known.filter(pc.invert(pc.or_(known.column("same"), moved)))
        return int(within + elsewhere.num_rows)

    def _put(self, group: int, rows: pa.Table) -> WriteStat:
        files, file_id = self.files, self.files.file_id(group)
        there = rows.filter(pc.invert(rows.column("deleted"))).combine_chunks()
        if files.value is None:
            entries = _entries(there, self.places.table())
        else:
            keys = _flat(there.column("record_key")).cast(pa.binary())
            entries = pa.table([keys, pa.repeat(pa.scalar(files.value), len(keys))], schema=ENTRIES)
        if files.base:
            batches = entries.to_batches()
            return put_base(
                files.storage,
                files.pending,
                files.partition,
                file_id,
                batches,
                files.schema_text,
                group,
            )
        gone = rows.filter(rows.column("deleted")).column("record_key").combine_chunks()
        delta = Delta(files.partition, file_id, entries, gone)
        return put_delta(
            files.storage, files.pending, delta, files.schema_text, group, files.places
        )


def _done(stat: WriteStat, repeated: int) -> pa.RecordBatch:
    columns = [*NewFiles.stats_batch([stat]).columns, pa.array([repeated], pa.int64())]
    return pa.record_batch(columns, schema=_DONE)


def _entries(rows: pa.Table, places: pa.Table) -> pa.Table:
    if not rows.num_rows:
        return ENTRIES.empty_table()
    at = pc.index_in(_flat(rows.column("file")), value_set=_flat(places.column("file")))
    # Places are few: as dictionaries they are encoded once each.
    where = [
        pa.DictionaryArray.from_arrays(at, _flat(places.column(name)))
        for name in ("partition_path", "file_id")
    ]
    millis = _flat(places.column("millis")).take(at)
    values = encode_locations(where[0], where[1], millis)
    return pa.table([_flat(rows.column("record_key")).cast(pa.binary()), values], schema=ENTRIES)


def _one_each(rows: pa.Table) -> pa.Table:
    """Ascending by key, as bytes are compared; one row for each key: one that stays, if there is
    one."""
    key = _flat(rows.column("record_key")).cast(pa.binary())
    order = pc.sort_indices(
        pa.table({"key": key, "deleted": rows.column("deleted"), "file": rows.column("file")}),
        sort_keys=[("key", "ascending"), ("deleted", "ascending"), ("file", "ascending")],
    )
    rows, key = rows.take(order), key.take(order)
    first = np.ones(len(key), bool)
    if len(key) > 1:
        first[1:] = np.asarray(pc.not_equal(key[1:], key[:-1]))
    return rows if first.all() else rows.filter(pa.array(first))


def _flat(column: pa.ChunkedArray) -> pa.Array:
    found = column.combine_chunks()
    return found if isinstance(found, pa.Array) else pa.concat_arrays(found.chunks)


def places(files: Sequence[tuple[int, str, str, int]]) -> pa.Table:
    """PLACES of number, partition path, file id and milliseconds."""
    columns: list[tuple[object, ...]] = list(zip(*files, strict=True)) if files else [()] * 4
    return pa.table(
        [pa.array(c, f.type) for c, f in zip(columns, PLACES, strict=True)], schema=PLACES
    )
