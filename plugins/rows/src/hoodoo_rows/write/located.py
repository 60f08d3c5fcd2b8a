"""Located: where keys lie, for indexes that look keys up.

An index reads base files. That is enough as long as log files only update rows of the base file
below them. Other keys are added here. A file group may have no base file. A writer may have found a
key in the base file of before a compaction that left the key out, as deleted: its log file then
belongs to the new base file. And a key that was deleted and written again may lie in two base
files, and is deleted in one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.errors import CorruptTableError, warn
from hoodoo.hookspecs.engine import Side, Stream, Task, Workspace, result_bytes
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.index import (
    KEYS_SCHEMA,
    LOCATIONS_SCHEMA,
    ComputedIndex,
    Index,
    IndexContext,
    LookupIndex,
    PathIndex,
    SeesRows,
    Tees,
)
from hoodoo.hookspecs.observer import Event
from hoodoo.kernel.events import notify
from hoodoo.model.filegroup import FileSlice, LogFile
from hoodoo.model.meta import RECORD_KEY, with_meta
from hoodoo.model.payload import pack_slices, unpack_slices
from hoodoo.options.table import BY_ARRIVAL
from hoodoo.storage.api import Storage
from hoodoo.storage.together import read_ahead
from hoodoo.timeline.instants import order_key

from hoodoo_rows.merge.pairs import flat
from hoodoo_rows.merge.rule import MergeRule
from hoodoo_rows.merge.slice import merged_rows
from hoodoo_rows.model.conform import conform
from hoodoo_rows.produce.summary import Arrivals
from hoodoo_rows.write.key import KeysOnly
from hoodoo_rows.write.key_table import KeyTable, check_locations, check_rows
from hoodoo_rows.write.meet import AskedPlaces
from hoodoo_rows.write.target import IndexKind, WriteTarget, asked_for_keys


def locate(
    target: WriteTarget,
    index: LookupIndex,
    staged: Stream,
    arriving: Arrivals,
    compares: bool = False,
) -> pa.Table:
    """Where the staged keys lie: rows of LOCATIONS_SCHEMA. ``compares``: see
    :class:`IndexContext`."""
    return locate_rows(target, index, staged, arriving, compares)[0]


def locate_rows(
    target: WriteTarget,
    index: LookupIndex,
    staged: Stream,
    arriving: Arrivals,
    compares: bool = False,
    sees: bool = False,
) -> tuple[pa.Table, pa.Table | None]:
    """The same, and with ``sees`` the rows of base files that the index has seen (ROWS_SCHEMA);
    None where it does not look there."""
    if not target.slices:
        return LOCATIONS_SCHEMA.empty_table(), None
    if isinstance(index, Tees):
        assert isinstance(index.first, LookupIndex)
        found, at = locate_rows(target, index.first, staged, arriving, compares, sees)
        other = locate(target, index.second, staged, arriving, True)
        mine = found
        if index.first.is_global and not index.second.is_global:
            # The second looks in the asked paths alone.
            names = KEYS_SCHEMA.names
            asked = target.engine.collect(target.engine.map(staged, KeysOnly(KEYS_SCHEMA)))
            mine = found.join(asked, names, join_type="left semi", use_threads=False)
        _compare(target, mine.num_rows, different(mine, other))
        return found, at
    engine = target.engine
    context = context_of(target, arriving, compares)
    keys = engine.map(staged, KeysOnly(KEYS_SCHEMA))
    index = asked_for_keys(index, context)
    at, is_global = None, index.is_global
    if sees and isinstance(index, SeesRows):
        at = engine.collect(index.locate_rows(keys, context))
        found = at.select(LOCATIONS_SCHEMA.names)
    else:
        found = engine.collect(index.locate(keys, context))
    check_locations(index, found)
    if at is not None:
        check_rows(index, at)
    if target.logs is None or IndexKind.of(index).knows_logs:
        return found, at
    return with_log_keys(target, keys, found, is_global), at


def context_of(
    target: WriteTarget,
    arriving: Arrivals,
    compares: bool = False,
    workspace: Workspace | None = None,
) -> IndexContext:
    """What an index may use of ``target``."""
    return IndexContext(
        engine=target.engine,
        storage=target.storage,
        slices=target.settled,
        file_format=target.file_format,
        key_generator=target.virtual,
        serializer=target.serializer,
        key_rows=arriving.total,
        key_bytes=arriving.key_bytes,
        keys=arriving.keys,
        timeline=target.timeline,
        compares=compares,
        workspace=workspace,
        on_driver=arriving.keys is not None or arriving.held_bytes <= result_bytes(target.engine),
    )


def compare_computed(target: WriteTarget, index: ComputedIndex | PathIndex, keys: Stream) -> None:
    """Where ``index`` is two, say where the second finds a key in another file group than the
    computed one. Whether a key is in its file group at all, the first can't say."""
    if not isinstance(index, Tees) or not isinstance(index, ComputedIndex) or not target.slices:
        return
    asked = target.engine.collect(target.engine.map(keys, KeysOnly(KEYS_SCHEMA)))
    size = pc.sum(pc.binary_length(asked.column("record_key"))).as_py() or 0
    arriving = Arrivals(rows={"": asked.num_rows}, key_bytes=size)
    other = locate(target, index.second, keys, arriving, True)
    ids = pc.unique(other.column("file_id"))
    buckets = pa.array([bucket_of(index, file_id) for file_id in ids.to_pylist()], pa.int32())
    theirs = buckets.take(flat(pc.index_in(other.column("file_id"), value_set=ids)))
    same = pc.equal(index.bucket(flat(other.column("record_key"))), theirs)
    same = pc.and_(same, pc.is_valid(KeyTable(*asked.columns).places(*other.columns[:2])))
    differences = other.filter(pc.invert(pc.fill_null(same, False)))
    by = pa.repeat(pa.scalar(1, pa.int8()), differences.num_rows)
    _compare(target, other.num_rows, differences.append_column("found_by", by))


def bucket_of(index: ComputedIndex, file_id: str) -> int | None:
    """None for a file group of no bucket: nothing is computed to lie there."""
    try:
        return index.bucket_of(file_id)
    except CorruptTableError:
        return None


def _compare(target: WriteTarget, found: int, differences: pa.Table) -> None:
    """Report where two indexes differ. The write uses the first."""
    detail = {"keys": found, "differences": differences.num_rows}
    notify(Event("index.compared", target.config.name, "", detail))
    if differences.num_rows:
        one = differences.slice(0, 1).to_pylist()[0]
        place = f"file group {one['file_id']} of {one['partition_path']!r}"
        who = ("first", "second")[one["found_by"]]
        warn(
            f"table {target.config.name}: its two indexes differ in {differences.num_rows} places; "
            "for "
            f"example only the {who} one finds the key {one['record_key']!r} in {place}. "
            "table.compare_indexes tells all."
        )


def different(one: pa.Table, other: pa.Table) -> pa.Table:
    """The rows of LOCATIONS_SCHEMA that only one of the tables has, and ``found_by``: 0 for the
    first, 1 for the second."""
    names = LOCATIONS_SCHEMA.names
    parts = []
    for number, (mine, theirs) in enumerate(((one, other), (other, one))):
        lacking = mine.join(theirs.select(names), names, join_type="left anti", use_threads=False)
        by = pa.repeat(pa.scalar(number, pa.int8()), lacking.num_rows)
        parts.append(lacking.select(names).append_column("found_by", by))
    return pa.concat_tables(parts)


def keeps_gone(target: WriteTarget, index: Index) -> bool:
    """Whether ``index`` may rightly name keys that a compaction left out: it stores the keys that
    writes report, and if a row marked as deleted may lose, a write can't report the delete."""
    knows_logs = IndexKind.of(index).knows_logs
    return knows_logs and target.logs is not None and target.merger.merge_mode != BY_ARRIVAL


def unsure(target: WriteTarget, index: Index) -> tuple[FileSlice, ...]:
    """The slices of which ``index`` may name keys that have no row."""
    keeps = keeps_gone(target, index)
    return tuple(s for s in target.slices if s.row_logs or (keeps and _compacted(target, s)))


def _compacted(target: WriteTarget, slice_: FileSlice) -> bool:
    """Whether a compaction may have made the base file: the timeline says of none that is
    archived."""
    made = target.timeline.find(slice_.base_file.instant) if slice_.base_file else None
    return made is None or made.traits.is_plain


def living(target: WriteTarget, index: Index, found: pa.Table, stored: pa.Schema) -> pa.Table:
    """Those of ``found`` (LOCATIONS_SCHEMA), as ``index`` says, that have a row."""
    ids = set(pc.unique(found.column("file_id")).to_pylist())
    doubtful = [s for s in unsure(target, index) if s.file_id in ids]
    if not doubtful:
        return found
    alive, names = living_keys(target, doubtful, found, stored), LOCATIONS_SCHEMA.names
    doubted = pc.is_in(found.column("file_id"), pa.array([s.file_id for s in doubtful]))
    more = found.filter(doubted).join(alive, names, join_type="left semi", use_threads=False)
    return pa.concat_tables([found.filter(pc.invert(doubted)), more.select(found.schema.names)])


# --- keys that base files do not show ------------------------------------------------------------
def with_log_keys(target: WriteTarget, keys: Stream, found: pa.Table, anywhere: bool) -> pa.Table:
    """``found`` (LOCATIONS_SCHEMA) with those of ``keys`` that only log files have; of a key that
    was found more than once, where it is alive. ``anywhere``: whatever partition path a key came
    with."""
    engine, stream = target.engine, logged(target)
    if stream is not None:
        there = engine.collect(stream)
        if there.num_rows:
            step = AskedPlaces(None, anywhere, engine.side(there), ("record_key", "partition_path"))
            more = engine.collect(engine.map(keys, step))
            found = pa.concat_tables([found, more]).group_by(LOCATIONS_SCHEMA.names)
            found = found.aggregate([]).select(LOCATIONS_SCHEMA.names)
    return alive(target, found, anywhere)


def logged(target: WriteTarget) -> Stream | None:
    """LOCATIONS_SCHEMA of the keys of rows that perhaps only log files have; None: there are no
    such files."""
    pieces = [
        evolve(s, base_file=None, log_files=logs)
        for s in target.slices
        if (logs := _doubtful(target, s))
    ]
    return all_living(target, pieces, with_meta(target.schema)) if pieces else None


def alive(target: WriteTarget, found: pa.Table, anywhere: bool) -> pa.Table:
    """Of places (LOCATIONS_SCHEMA) those of keys at one place, and of others where they are
    alive."""
    by = ["record_key"] if anywhere else ["record_key", "partition_path"]
    counted = found.group_by(by).aggregate([("file_id", "count")])
    twice = counted.filter(pc.greater(counted.column("file_id_count"), 1))
    if not twice.num_rows:
        return found
    doubled = pc.is_in(found.column("record_key"), value_set=flat(twice.column("record_key")))
    asked = found.filter(doubled)
    lying = set(pc.unique(asked.column("file_id")).to_pylist())
    if not any(s.log_files for s in target.slices if s.file_id in lying):
        return found  # inserted twice: both are alive
    slices = [s for s in target.slices if s.file_id in lying]
    there = living_keys(target, slices, asked, with_meta(target.schema))
    return pa.concat_tables([found.filter(pc.invert(doubled)), there])


def living_keys(
    target: WriteTarget, slices: Iterable[FileSlice], asked: pa.Table, stored: pa.Schema
) -> pa.Table:
    """LOCATIONS_SCHEMA of the keys of ``asked`` that rows of ``slices`` have."""
    return target.engine.collect(all_living(target, slices, stored, target.engine.side(asked)))


def all_living(
    target: WriteTarget, slices: Iterable[FileSlice], stored: pa.Schema, asked: Side | None = None
) -> Stream:
    """LOCATIONS_SCHEMA of the keys that rows of ``slices`` have; of ``asked`` ones, if they are
    given."""
    rule = target.merge_rule(stored).narrowed([RECORD_KEY])
    step = LivingRows(target.storage, target.file_format, rule, asked)
    return target.engine.map(target.engine.tasks([pack_slices([s]) for s in slices]), step)


def _doubtful(target: WriteTarget, slice_: FileSlice) -> tuple[LogFile, ...]:
    """The log files of ``slice_`` that may hold keys which its base file lacks."""
    logs = tuple(log for log in slice_.log_files if not log.suffix)
    if slice_.base_file is None or not logs or target.computed is not None:
        return logs  # a computed index puts inserts into logs
    timeline = target.timeline
    made = timeline.find(slice_.base_file.instant)
    if made is None or not made.traits.is_plain:
        return ()  # archived long ago, or no compaction
    if not timeline.layout.names_completion:
        return logs  # neither the names nor the timeline say when
    limit = order_key(made.completion_order)
    return tuple(log for log in logs if order_key(log.instant) < limit)


@frozen
class LivingRows:
    """Step: slices in, their merged rows of the ``wanted`` keys out, in the columns ``out_schema``;
    with LOCATIONS_SCHEMA the places of these keys. ``wanted`` None: all rows."""

    storage: Storage
    file_format: BaseFileFormat
    rule: MergeRule
    wanted: Side | None
    out_schema: pa.Schema = LOCATIONS_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        wanted = None
        if self.wanted is not None:
            wanted = KeyTable(self.wanted.table().column("record_key"))
        texts = (text for batch in batches for text in batch.column("payload").to_pylist())
        slices = (slice_ for text in texts for slice_ in unpack_slices(text))
        reads = ((partial(self._of, slice_, wanted), slice_.size) for slice_ in slices)
        yield from read_ahead(self.storage, reads)

    def _of(self, slice_: FileSlice, wanted: KeyTable | None) -> Iterator[pa.RecordBatch]:
        for rows in merged_rows(self.storage, self.file_format, self.rule, slice_):
            if wanted is not None:
                rows = rows.filter(pc.is_valid(wanted.places(rows.column(RECORD_KEY))))
            if not self.out_schema.equals(LOCATIONS_SCHEMA):
                yield conform(rows.select(self.out_schema.names), self.out_schema)
                continue
            where = (pa.repeat(t, rows.num_rows) for t in (slice_.partition_path, slice_.file_id))
            columns = [flat(rows.column(RECORD_KEY)), *where]
            yield pa.record_batch(columns, schema=LOCATIONS_SCHEMA)
