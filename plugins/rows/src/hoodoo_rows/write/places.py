"""Places: where the keys of a write lie, as its index says; on the driver if they are few, else in
tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.hookspecs.engine import Side, Stream, Task, Workspace
from hoodoo.hookspecs.index import KEYS_SCHEMA, LOCATIONS_SCHEMA, LookupIndex, Tees
from hoodoo.hookspecs.merger import Merger
from hoodoo.model.meta import PARTITION_PATH, RECORD_KEY, with_meta, without_meta
from hoodoo.model.payload import pack_slices
from hoodoo.options.kinds import FLAG
from hoodoo.options.table import BY_ARRIVAL

from hoodoo_rows.merge.pairs import is_plain, merge_pairs
from hoodoo_rows.model.internal_row import OP, PUT
from hoodoo_rows.placement import FOLLOWS
from hoodoo_rows.produce.columns import SEQ, keyed
from hoodoo_rows.produce.summary import Arrivals
from hoodoo_rows.write.key import KeysOnly
from hoodoo_rows.write.key_table import KeyTable, check_asked
from hoodoo_rows.write.located import (
    LivingRows,
    alive,
    all_living,
    context_of,
    different,
    living,
    logged,
    unsure,
)
from hoodoo_rows.write.meet import AskedPlaces, CountPlaces, in_order, meet
from hoodoo_rows.write.prepare import Only
from hoodoo_rows.write.tag import NOWHERE, AskedRows, TagGlobal, TagLocal
from hoodoo_rows.write.target import IndexKind, WriteTarget, asked_for_keys


class Places(Protocol):
    """Where the keys of keyed rows lie, as ``index`` says: rows of LOCATIONS_SCHEMA."""

    @property
    def index(self) -> LookupIndex:
        """What looked the keys up."""

    def groups(self) -> list[dict[str, Any]]:
        """``partition_path``, ``file_id`` and ``rows``, the number of keys, of each file group, in
        order."""

    def through(self, step: Any, rows: Stream) -> Stream:
        """What ``step`` makes of ``rows``: its ``found`` is the places of their keys."""

    def stream(self) -> Stream:
        """All of them. PluginError if ``index`` found one that no row has."""

    def first(self) -> str:
        """One of the keys."""

    def without(self, gone: pa.Table) -> Places:
        """All but those of ``gone`` (LOCATIONS_SCHEMA)."""


@frozen
class OnDriver:
    """``found``: LOCATIONS_SCHEMA. ``rows``: whose keys they are. ``seen``: ROWS_SCHEMA, the rows
    of base files that have the keys, as far as they are known."""

    target: WriteTarget
    index: LookupIndex
    rows: Stream
    found: pa.Table
    seen: pa.Table | None = None

    def groups(self) -> list[dict[str, Any]]:
        """The file groups that have keys, with their numbers of rows."""
        ones = pa.repeat(pa.scalar(1, pa.int64()), self.found.num_rows)
        return in_order(self.found.append_column("rows", ones))

    def through(self, step: Any, rows: Stream) -> Stream:
        """``rows`` through ``step``, which gets the places."""
        engine = self.target.engine
        return engine.map(rows, evolve(step, found=engine.side(self.found)))

    def stream(self) -> Stream:
        """The places as a stream."""
        engine = self.target.engine
        if self.found.num_rows:
            step = AskedRows(engine.side(self.found), self.index.is_global)
            asked = engine.collect(engine.map(self.rows, step))
            check_asked(self.index, self.found, asked.column("row"))
        return engine.source(self.found)

    def first(self) -> str:
        """One of the record keys."""
        return str(self.found.column("record_key")[0].as_py())

    def without(self, gone: pa.Table) -> OnDriver:
        """The places but those of ``gone``."""
        if not gone.num_rows:
            return self
        names = LOCATIONS_SCHEMA.names
        left = self.found.join(gone, names, join_type="left anti", use_threads=False)
        return evolve(self, found=left)


@frozen
class InTasks:
    """``staged``: LOCATIONS_SCHEMA."""

    target: WriteTarget
    index: LookupIndex
    arriving: Arrivals
    staged: Stream

    def groups(self) -> list[dict[str, Any]]:
        """The file groups that have keys, with their numbers of rows."""
        engine = self.target.engine
        return in_order(engine.collect(engine.map(self.staged, CountPlaces())))

    def through(self, step: Any, rows: Stream) -> Stream:
        """``rows`` through ``step``, which gets the places of its part."""
        return meet(self.target, self.arriving, rows, self.staged, step, self.index)

    def stream(self) -> Stream:
        """The places as a stream."""
        return self.staged

    def first(self) -> str:
        """One of the record keys."""
        engine = self.target.engine
        found = engine.collect(engine.map(self.staged, First(LOCATIONS_SCHEMA)))
        return str(found.column("record_key")[0].as_py())

    def without(self, gone: pa.Table) -> InTasks:
        """The places but those of ``gone``."""
        if not gone.num_rows:
            return self
        engine = self.target.engine
        return evolve(self, staged=engine.map(self.staged, Without(engine.side(gone))))


def in_tasks(
    target: WriteTarget,
    index: LookupIndex,
    rows: Stream,
    arriving: Arrivals,
    workspace: Workspace | None,
    deletes: bool = False,
    stored: pa.Schema | None = None,
) -> InTasks | None:
    """Where the keys of keyed ``rows`` lie, if these are too many for the driver. ``deletes``: only
    the places are needed, not the rows. ``stored``: only keys that have a row, of this schema,
    count."""
    context = context_of(target, arriving, workspace=workspace)
    if workspace is None or not target.slices or context.on_driver or isinstance(index, Tees):
        return None
    engine = target.engine
    asked = asked_for_keys(index, context)
    found = asked.locate(engine.map(rows, KeysOnly(KEYS_SCHEMA)), context)
    with_logs = target.logs is not None and any(s.row_logs for s in target.slices)
    with_logs = with_logs and not IndexKind.of(asked).knows_logs
    doubtful = unsure(target, index) if stored is not None else ()
    if deletes or with_logs or doubtful:
        more = logged(target) if with_logs and not doubtful else None
        if stored is not None and doubtful:  # of these file groups their rows say it
            there = engine.side(pa.table({"file_id": [s.file_id for s in doubtful]}))
            found, more = (
                engine.map(found, Without(there, ["file_id"])),
                all_living(target, doubtful, stored),
            )
        found = found if more is None else engine.union([found, more])
        judged = None if with_logs or doubtful else asked
        step = AskedPlaces(judged, asked.is_global)
        found = meet(target, arriving, narrow(target, rows), found, step, judged)
    whole = InTasks(target, index, arriving, engine.stage(found, workspace))
    if not with_logs:
        return whole
    # All places of a key are in one task.
    twice = engine.collect(engine.map(whole.staged, Twice(asked.is_global)))
    lost = different(twice, alive(target, twice, asked.is_global))
    return whole.without(lost.filter(pc.equal(lost.column("found_by"), 0)))


def tag(target: WriteTarget, places: Places, rows: Stream, moves: bool = True) -> Stream:
    """Keyed ``rows`` with the file id that holds their key. ``moves``: a key may go to another
    partition path."""
    index = places.index
    if not index.is_global:
        return places.through(TagLocal(rows.schema), rows)
    moves = moves and index.moves_partitions
    if moves and not is_plain(target.merger, BY_ARRIVAL):
        rows = _settle_moves(target, places, rows)
    return places.through(TagGlobal(rows.schema, moves), rows)


def _settle_moves(target: WriteTarget, places: Places, rows: Stream) -> Stream:
    """Where the order of rows is not the order of commits, a row that would move its key to another
    partition path first has to win over the stored row. The stored rows of such keys are
    fetched."""
    engine = target.engine
    moving = engine.collect(places.through(MovingKeys(), narrow(target, rows)))
    if not moving.num_rows:
        return rows
    lying = set(pc.unique(moving.column("file_id")).to_pylist())
    wanted = [pack_slices([s]) for s in target.slices if s.file_id in lying]
    table_schema = own_columns(rows)
    rule = target.merge_rule(with_meta(without_meta(table_schema)))
    side = engine.side(moving)
    fetch = LivingRows(target.storage, target.file_format, rule, side, table_schema)
    stored = engine.collect(engine.map(engine.tasks(wanted), fetch))
    return engine.map(rows, SettleMoves(rows.schema, engine.side(stored), target.merger))


def narrow(target: WriteTarget, rows: Stream) -> Stream:
    """``rows`` without the columns of the table."""
    return target.engine.map(rows, Only(keyed(pa.schema([]))))


@frozen
class First:
    """Step: one row, if there are any."""

    out_schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                yield batch.slice(0, 1)
                return


@frozen
class Twice:
    """Step: the places (LOCATIONS_SCHEMA) of keys that lie in more than one. All places of a key
    come to one task."""

    anywhere: bool
    out_schema = LOCATIONS_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        found = pa.Table.from_batches(batches, LOCATIONS_SCHEMA)
        by = LOCATIONS_SCHEMA.names[: 1 if self.anywhere else 2]
        counts = found.group_by(by, use_threads=False).aggregate([("file_id", "count")])
        keys = counts.filter(pc.greater(counts.column("file_id_count"), 1)).select(by)
        if keys.num_rows:
            lying = found.join(keys, by, join_type="left semi", use_threads=False)
            yield from lying.select(found.schema.names).to_batches()


@frozen
class Without:
    """Step: the places (LOCATIONS_SCHEMA) that are not ``gone``, by the columns ``names``."""

    gone: Side
    names: Sequence[str] = LOCATIONS_SCHEMA.names
    out_schema = LOCATIONS_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        gone = KeyTable(*self.gone.table().select(self.names).columns)
        for batch in batches:
            yield batch.filter(pc.is_null(gone.places(*batch.select(self.names).columns)))


def where_rows_stay(
    target: WriteTarget, places: Places, paths: AbstractSet[str], rows: Stream, arriving: Arrivals
) -> tuple[Places, bool]:
    """Drop places of deleted rows from ``places``, where the keys of ``rows`` lie (in ``paths``).
    Only a place in another partition path than that of the new row is checked; if it is dropped,
    the row is written to its own path. Also return whether a row stays in another path.

    One pass over the keys; none if the driver has them and rows name each place, or if the table
    has such rows already."""
    index = places.index
    if not index.is_global or index.moves_partitions:
        return places, False
    follows = FLAG.stored(target.config.get(FOLLOWS) or "")
    if not paths or (len(arriving.rows) == 1 and paths == {*arriving.rows}):
        return places, not follows and bool(paths)
    keys = arriving.keys
    if keys is not None and isinstance(places, OnDriver):
        named = KeyTable(*keys.columns).places(*places.found.columns[:2])
        if not named.null_count:
            return places, not follows  # each place is one that a row names
    engine, keyed = target.engine, narrow(target, rows)
    if target.logs is not None:
        moving = engine.collect(places.through(MovingKeys(), keyed))
        if not moving.num_rows:
            return places, not follows
        stored = with_meta(without_meta(own_columns(rows)))
        places = places.without(different(moving, living(target, index, moving, stored)))
    if not follows:
        return places, True
    leaving = engine.map(places.through(MovingKeys(puts=True), keyed), First(LOCATIONS_SCHEMA))
    return places, bool(engine.collect(leaving).num_rows)


# --- steps of keys that move to another partition path -------------------------------------------
def own_columns(staged: Stream) -> pa.Schema:
    """Without what says what becomes of a row."""
    return pa.schema([f for f in staged.schema if f.name not in (OP, SEQ)])


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
