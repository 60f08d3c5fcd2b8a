"""Located: the tagging part of a write, for indexes that look keys up."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import CorruptTableError, warn
from hoodoo.hookspecs.engine import Side, Stream, Task, Workspace, result_bytes
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
from hoodoo.hookspecs.merger import Merger
from hoodoo.hookspecs.observer import Event
from hoodoo.kernel.events import notify
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.meta import PARTITION_PATH, RECORD_KEY
from hoodoo.options.table import BY_ARRIVAL

from hoodoo_rows.merge.pairs import flat, merge_pairs
from hoodoo_rows.model.internal_row import OP, PUT
from hoodoo_rows.produce.columns import SEQ
from hoodoo_rows.produce.summary import Arrivals
from hoodoo_rows.write.key import KeysOnly
from hoodoo_rows.write.key_table import KeyTable, check_locations, check_rows
from hoodoo_rows.write.log_keys import living_keys, with_log_keys
from hoodoo_rows.write.tag import NOWHERE
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


@frozen
class MovingKeys:
    """Step: the locations of keys that arrive with another partition path; with ``puts``, in rows
    that stay."""

    puts: bool = False
    found: Side = NOWHERE
    out_schema = LOCATIONS_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        locations = self.found.table().combine_chunks()
        known = KeyTable(locations.column("record_key"))
        for batch in batches:
            here = locations.take(known.rows_of(batch.column(RECORD_KEY))).combine_chunks()
            keys, paths = (here.column(name) for name in KEYS_SCHEMA.names)
            at = pc.index_in(keys, value_set=batch.column(RECORD_KEY)).combine_chunks()
            differs = pc.not_equal(batch.column(PARTITION_PATH).take(at), paths)
            if self.puts:
                differs = pc.and_(differs, pc.equal(batch.column(OP), PUT).take(at))
            yield from here.filter(pc.fill_null(differs, False)).to_batches()


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


def own_columns(staged: Stream) -> pa.Schema:
    """Without what says what becomes of a row."""
    return pa.schema([f for f in staged.schema if f.name not in (OP, SEQ)])


@frozen
class SettleMoves:
    """Step: incoming rows against the stored rows of their keys; the losers end here."""

    out_schema: pa.Schema
    stored: Side
    merger: Merger

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        stored = self.stored.table().combine_chunks()
        known = KeyTable(stored.column(RECORD_KEY))
        for batch in batches:
            at = known.places(batch.column(RECORD_KEY))
            met = pc.is_valid(at)
            if not pc.any(met).as_py():
                yield batch
                continue
            newer = pa.Table.from_batches([batch.filter(met)])
            lying = stored.take(at.drop_null())
            puts = pa.repeat(pa.scalar(PUT, pa.int8()), lying.num_rows)
            columns = [
                puts if n == OP else newer.column(n) if n == SEQ else lying.column(n)
                for n in newer.schema.names
            ]
            older = pa.Table.from_arrays(columns, schema=newer.schema)
            answer = merge_pairs(older, newer, self.merger)
            kept = newer if answer.rows is None else answer.rows
            if answer.newer_wins is not None:
                kept = kept.filter(answer.newer_wins)
            yield batch.filter(pc.invert(met))
            yield from kept.select(self.out_schema.names).combine_chunks().to_batches()
