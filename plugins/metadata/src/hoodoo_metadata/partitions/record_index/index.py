"""Record index: where a record key lies, asked of the buckets of the partition ``record_index``
(RFC-08).

A bucket is a file group: the hash of a key says which one, and only its HFiles are looked into.
What a lookup costs grows with the keys asked for. What buckets are told is in
:mod:`hoodoo_metadata.partitions.record_index.rows`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, field, frozen
from hoodoo.errors import CorruptTableError
from hoodoo.hookspecs.engine import PART, SLOT, Engine, Side, Stream, Task
from hoodoo.hookspecs.index import KEYS_SCHEMA, LOCATIONS_SCHEMA, IndexContext
from hoodoo.kernel.log_files import LogFiles, log_files
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.payload import Payload, pack_slices, unpack_slices
from hoodoo.storage.api import Storage
from hoodoo.storage.together import together
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

from hoodoo_metadata.life.definitions import is_partitioned
from hoodoo_metadata.partitions.record_index.bucket import Bucket
from hoodoo_metadata.partitions.record_index.groups import IndexGroups, Slots
from hoodoo_metadata.partitions.record_index.growing import Growing, refuse_strangers
from hoodoo_metadata.partitions.record_index.locations import LOCATIONS
from hoodoo_metadata.table.layout import GROWING_INDEX, RECORD_INDEX, is_own
from hoodoo_metadata.table.metadata_table import MetadataTable
from hoodoo_metadata.table.schema import FIX
from hoodoo_metadata.table.slice import open_ahead

# Asked keys of so many bytes travel to the tasks of all buckets; more meet by bucket in an
# exchange.
_SIDE_BYTES = 64 << 20
_TASKS_PER_CORE = 2
# Opening the files of a bucket costs about as much as reading so many bytes of them.
_OPENING = 64 << 10
_ROUTED = pa.schema([(PART, pa.int32()), (SLOT, pa.int32()), ("record_key", pa.string())])


@frozen
class RecordIndex:
    """The index of a table at one moment. ``buckets``: in the order in which the hash counts
    them."""

    storage: Storage
    buckets: tuple[tuple[FileSlice, ...], ...]
    how: str = "auto"
    partitioned: bool = False
    growing: Growing | None = None
    # For the task: it reads the log files of the metadata table.
    logs: LogFiles = field(factory=log_files, eq=False, repr=False)

    @classmethod
    def open(
        cls,
        storage: Storage,
        timeline: Timeline,
        as_of: str | None = None,
        how: str = "auto",
        partition: str = RECORD_INDEX,
    ) -> RecordIndex:
        """The index of the data table in ``storage``, whose ``timeline`` was looked at before;
        ``as_of``: as its instants up to that one, by requested time, left it. ``partition``:
        ``record_index`` or one of Hoodoo's own.

        Raises CorruptTableError where the index is not there.
        """
        table = MetadataTable.seen(storage, timeline).until(as_of)
        slices = table.slices(partition, as_of)
        partitioned = is_partitioned(storage, partition)
        if not slices and not partitioned:
            raise CorruptTableError(
                f"{table.storage.root}/{partition}",
                "there is no record index" + (f" as of {as_of}." if as_of else "."),
                FIX,
            )
        if is_own(partition):
            refuse_strangers(Snapshot(storage, timeline), partition)
        if partition == GROWING_INDEX:
            growing = Growing.of(timeline.config)
            found = growing.families(slices)
            for number, family in enumerate(found):
                first = growing.file_id(number, 0)
                if first not in {slice_.file_id for slice_ in family}:
                    obj = f"{table.storage.root}/{partition}/{first}"
                    raise CorruptTableError(
                        obj, "is not there: keys are lost, or it is rebuilt.", FIX
                    )
            return cls(table.storage, found, how, growing=growing)
        return cls(table.storage, tuple((s,) for s in slices), how, partitioned)

    def locate(self, keys: Stream, context: IndexContext) -> Stream:
        """LOCATIONS_SCHEMA of ``keys`` (KEYS_SCHEMA). An entry that names a file group which is
        none of the slices of ``context``, those of the data table, is an error."""
        engine, slices = context.engine, context.slices
        there = pa.table({"group": pa.array([_group(s.partition_path, s.file_id) for s in slices])})
        side = engine.side(there)
        if context.key_bytes > _SIDE_BYTES or not context.on_driver:
            groups = self._groups({s.partition_path for s in slices})
            if not groups.file_ids:
                return engine.source(LOCATIONS_SCHEMA.empty_table())
            parts = max(1, min(len(groups.file_ids), engine.parallelism * _TASKS_PER_CORE))
            met = engine.exchange(
                engine.map(keys, _Route(groups, parts)), parts, context.serializer
            )
            return engine.map(met, _LookUpSlots(self._ordered(groups), side))
        asked = engine.collect(keys) if context.keys is None else context.keys
        if self.partitioned:
            asked = asked.group_by(KEYS_SCHEMA.names).aggregate([])
        else:  # nobody looks at the paths
            distinct = asked.column("record_key").unique()
            asked = pa.table([distinct, pa.nulls(len(distinct), pa.string())], schema=KEYS_SCHEMA)
        groups, slots, wanted = self._asked(asked)
        ordered = self._ordered(groups)
        numbers = np.unique(slots).tolist()
        open_ahead(self.storage, [s for number in numbers for s in ordered.buckets[number]])
        payloads = _dealt(ordered.buckets, numbers, engine.parallelism * _TASKS_PER_CORE)
        step = _LookUp(self.storage, self.how, engine.side(wanted), side, self.growing)
        return engine.map(engine.tasks(payloads), step)

    def entries(self, engine: Engine) -> Stream:
        """LOCATIONS_SCHEMA of all that the index says."""
        payloads = [pack_slices(list(bucket)) for bucket in self.buckets]
        return engine.map(engine.tasks(payloads), _Entries(self.storage))

    def locations(
        self,
        keys: pa.Array,
        partition_paths: pa.Array | None = None,
        within: Iterable[str] | None = None,
    ) -> pa.Table:
        """LOCATIONS of ``keys`` (strings), looked up by this process alone. A partitioned index is
        asked in the path of each key, or for each in the paths ``within``, or in all."""
        if within is not None and partition_paths is None and self.partitioned:
            known = self._groups(set(within)).paths or {}
            repeated = pa.array(np.tile(np.arange(len(keys)), len(known)))
            paths = np.repeat(np.array(list(known), dtype=object), len(keys))
            keys, partition_paths = keys.take(repeated), pa.array(paths, pa.string())
        if partition_paths is not None and self.partitioned:
            rows = pa.table([keys, partition_paths], schema=KEYS_SCHEMA)
            asked = rows.group_by(KEYS_SCHEMA.names).aggregate([])
            groups, slots, wanted = self._asked(asked)
            ordered = self._ordered(groups)
        else:
            ordered, slots, wanted = self, np.zeros(0, np.int32), pa.table({"record_key": keys})
        asked = []
        for number, bucket in enumerate(ordered.buckets):
            mine = self._mine(ordered, number, wanted, slots, partition_paths)
            if len(mine):
                asked.append((self._bucket(bucket), pc.unique(mine)))
        if not asked:
            return LOCATIONS.empty_table()
        calls = (partial(bucket.get_record_locations, mine) for bucket, mine in asked)
        return pa.concat_tables(together(self.storage, *calls))

    def _bucket(self, slices: tuple[FileSlice, ...]) -> Bucket:
        return Bucket(self.storage, slices, self.how, self.growing)

    def _mine(
        self,
        ordered: RecordIndex,
        number: int,
        wanted: pa.Table,
        slots: Slots,
        partition_paths: pa.Array | None,
    ) -> pa.Array:
        keys = wanted.column("record_key").combine_chunks()
        if not self.partitioned:
            slots = self._groups(set()).slots(keys, None)
        elif partition_paths is None:
            alike = [bucket[0].file_id for bucket in self.buckets]
            mine = ordered.buckets[number][0].file_id
            group = [f for f in alike if f.rsplit("-", 2)[0] == mine.rsplit("-", 2)[0]]
            place = group.index(mine)
            slots = IndexGroups(tuple(group)).slots(keys, None)
            return keys.filter(pa.array(slots == place))
        return keys.filter(pa.array(slots == number))

    def _groups(self, paths: set[str]) -> IndexGroups:
        if self.growing is not None:
            return self.growing.groups()
        ids = [bucket[0].file_id for bucket in self.buckets]
        return IndexGroups.of(ids, paths if self.partitioned else None)

    def _asked(self, asked: pa.Table) -> tuple[IndexGroups, Slots, pa.Table]:
        """The groups of the paths asked about, and the slot of each asked key that has one."""
        keys, paths = (asked.column(name).combine_chunks() for name in KEYS_SCHEMA.names)
        groups = self._groups(set(pc.unique(paths).to_pylist()) if self.partitioned else set())
        slots = groups.slots(keys, paths)
        wanted = pa.table({"record_key": keys, "slot": pa.array(slots, pa.int32())})
        known = slots >= 0
        if not known.all():
            wanted, slots = wanted.filter(pa.array(known)), slots[known]
        return groups, slots, wanted

    def _ordered(self, groups: IndexGroups) -> RecordIndex:
        """The same index with the buckets of ``groups``, in their order."""
        if self.growing is not None:
            return self
        by_id = {bucket[0].file_id: bucket for bucket in self.buckets}
        return evolve(self, buckets=tuple(by_id[i] for i in groups.file_ids))


def _dealt(
    buckets: Sequence[tuple[FileSlice, ...]], numbers: Sequence[int], tasks: int
) -> list[Payload]:
    """The buckets of these ``numbers`` in at most ``tasks`` payloads of about equal bytes: a task
    costs a tenth of a second before it reads anything, which is as much as many buckets take."""
    sizes = {number: sum(s.size for s in buckets[number]) for number in numbers}
    dealt: list[list[int]] = [[] for _ in range(min(tasks, len(numbers)))]
    loads = [0] * len(dealt)
    for number in sorted(numbers, key=lambda n: (-sizes[n], n)):
        lightest = loads.index(min(loads))
        dealt[lightest].append(number)
        loads[lightest] += sizes[number] + _OPENING
    return [
        Payload.of(
            json.dumps([[n, pack_slices(buckets[n]).decode()] for n in mine]).encode(),
            sum(sizes[n] for n in mine),
        )
        for mine in dealt
    ]


@frozen
class _Entries:
    """Step: payloads of the slices of a bucket in, its entries out."""

    storage: Storage
    logs: LogFiles = field(factory=log_files, eq=False, repr=False)

    @property
    def out_schema(self) -> pa.Schema:
        return LOCATIONS_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column("payload").to_pylist():
                bucket = Bucket(self.storage, tuple(unpack_slices(payload)))
                for found in bucket.entries():
                    yield from found.select(LOCATIONS_SCHEMA.names).combine_chunks().to_batches()


@frozen
class _Route:
    groups: IndexGroups
    parts: int

    @property
    def out_schema(self) -> pa.Schema:
        return _ROUTED

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            keys, paths = (batch.column(name) for name in KEYS_SCHEMA.names)
            slot = self.groups.slots(keys, paths)
            part = pa.array((slot % self.parts).astype(np.int32))
            routed = pa.record_batch([part, pa.array(slot, pa.int32()), keys], schema=_ROUTED)
            yield routed if (slot >= 0).all() else routed.filter(pa.array(slot >= 0))


@frozen
class _LookUpSlots:
    """Step after the exchange: the keys of a bucket come in consecutive batches."""

    index: RecordIndex
    there: Side

    @property
    def out_schema(self) -> pa.Schema:
        return LOCATIONS_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        for batch in batches:
            if not batch.num_rows:
                continue
            if held and held[0].column(SLOT)[0] != batch.column(SLOT)[0]:
                yield from self._look_up(held)
                held = []
            held.append(batch)
        if held:
            yield from self._look_up(held)

    def _look_up(self, held: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        keys = pa.chunked_array([batch.column("record_key") for batch in held]).unique()
        slices = self.index.buckets[int(held[0].column(SLOT)[0].as_py())]
        yield from _checked(self.index._bucket(slices), keys, self.there)


@frozen
class _LookUp:
    """Step: payloads of buckets; the asked keys are a side table."""

    storage: Storage
    how: str
    wanted: Side
    there: Side
    growing: Growing | None = None
    logs: LogFiles = field(factory=log_files, eq=False, repr=False)

    @property
    def out_schema(self) -> pa.Schema:
        return LOCATIONS_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        wanted = self.wanted.table()
        for payload in (p for batch in batches for p in batch.column("payload").to_pylist()):
            for number, slices in json.loads(payload):
                mine = wanted.filter(pc.equal(wanted.column("slot"), number))
                keys = mine.column("record_key").combine_chunks()
                groups = tuple(unpack_slices(slices.encode()))
                bucket = Bucket(self.storage, groups, self.how, self.growing)
                yield from _checked(bucket, keys, self.there)


def _checked(bucket: Bucket, keys: pa.Array, there: Side) -> Iterator[pa.RecordBatch]:
    found = bucket.get_record_locations(keys)
    path, file_id = (found.column(name) for name in ("partition_path", "file_id"))
    named = pc.binary_join_element_wise(path, file_id, _SEPARATOR)
    known = pc.is_in(named, value_set=there.table().column("group").combine_chunks())
    if not pc.all(known, min_count=0).as_py():
        lost = found.filter(pc.invert(known)).slice(0, 1).to_pylist()[0]
        raise CorruptTableError(
            f"{bucket.storage.root}/{bucket.slices[0].partition_path}/{bucket.slices[0].file_id}",
            f"says that the key {lost['record_key']!r} lies in the file group {lost['file_id']} of "
            f"{lost['partition_path']!r}, which the table does not have.",
            FIX,
        )
    yield from found.select(LOCATIONS_SCHEMA.names).combine_chunks().to_batches()


_SEPARATOR = "\0"


def _group(partition_path: str, file_id: str) -> str:
    return f"{partition_path}{_SEPARATOR}{file_id}"
