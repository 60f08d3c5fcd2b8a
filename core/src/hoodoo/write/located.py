"""Located: the tagging part of a write, for indexes that look keys up."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from hoodoo.errors import warn
from hoodoo.hookspecs.engine import Side, Stream, Task, Workspace
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.index import (
    KEYS_SCHEMA,
    LOCATIONS_SCHEMA,
    IndexContext,
    LookupIndex,
    Tees,
)
from hoodoo.hookspecs.merger import Merger
from hoodoo.hookspecs.observer import Event
from hoodoo.kernel.answers import check_locations
from hoodoo.kernel.events import notify
from hoodoo.merge.ops import OP, PUT
from hoodoo.merge.pairs import fold, merge_pairs
from hoodoo.merge.rule import MergeRule
from hoodoo.merge.slice import merged_rows
from hoodoo.model import slice_json
from hoodoo.model.meta import PARTITION_PATH, RECORD_KEY, with_meta, without_meta
from hoodoo.model.schema_conform import conform
from hoodoo.storage.api import Storage
from hoodoo.write.key import KeysOnly
from hoodoo.write.log_keys import with_log_keys
from hoodoo.write.route import RouteByKey
from hoodoo.write.summary import Arrivals
from hoodoo.write.tag import TagGlobal, TagLocal
from hoodoo.write.target import WriteTarget


def locate(target: WriteTarget, index: LookupIndex, staged: Stream, arriving: Arrivals) -> pa.Table:
    """Where the staged keys lie: rows of LOCATIONS_SCHEMA."""
    if not target.slices:
        return LOCATIONS_SCHEMA.empty_table()
    if isinstance(index, Tees):
        found = locate(target, index.first, staged, arriving)
        _compare(target, index, found, locate(target, index.second, staged, arriving))
        return found
    engine = target.engine
    context = IndexContext(
        engine=engine,
        storage=target.storage,
        slices=target.slices,
        file_format=target.file_format,
        key_generator=target.virtual,
        serializer=target.serializer,
        key_rows=arriving.total,
        key_bytes=arriving.key_bytes,
        timeline=target.timeline,
    )
    keys = engine.map(staged, KeysOnly(KEYS_SCHEMA))
    found = engine.collect(index.locate(keys, context))
    check_locations(index, found)
    if getattr(index, "knows_logs", False):
        return found
    return with_log_keys(target, keys, found, index.is_global)


def _compare(target: WriteTarget, index: Tees, found: pa.Table, other: pa.Table) -> None:
    """Tell where two indexes differ. The write goes by the first."""
    differences = different(found, other)
    detail = {"keys": found.num_rows, "differences": differences.num_rows}
    notify(Event("index.compared", target.config.name, "", detail))
    if differences.num_rows:
        one = differences.slice(0, 1).to_pylist()[0]
        place = f"file group {one['file_id']} of {one['partition_path']!r}"
        who = ("first", "second")[one["found_by"]]
        warn(
            f"table {target.config.name}: its two indexes differ in {differences.num_rows} places; for "
            f"example only the {who} one finds the key {one['record_key']!r} in {place}. "
            "table.compare_indexes tells all."
        )


def different(one: pa.Table, other: pa.Table) -> pa.Table:
    """The rows of LOCATIONS_SCHEMA that only one of the tables has, and ``found_by``: 0 for the first, 1 for
    the second."""
    names = LOCATIONS_SCHEMA.names
    parts = []
    for number, (mine, theirs) in enumerate(((one, other), (other, one))):
        lacking = mine.join(theirs.select(names), names, join_type="left anti", use_threads=False)
        by = pa.repeat(pa.scalar(number, pa.int8()), lacking.num_rows)
        parts.append(lacking.select(names).append_column("found_by", by))
    return pa.concat_tables(parts)


def tag(target: WriteTarget, index: LookupIndex, staged: Stream, found: pa.Table) -> Stream:
    """Staged rows with the file id that holds their key."""
    side = target.engine.side(found)
    if not index.is_global:
        return target.engine.map(staged, TagLocal(staged.schema, side))
    if index.moves_partitions and target.merger.merge_mode != "COMMIT_TIME_ORDERING":
        staged = _settle_moves(target, staged, found)
    return target.engine.map(staged, TagGlobal(staged.schema, side, index.moves_partitions))


def meet_by_key(target: WriteTarget, stream: Stream, workspace: Workspace) -> Stream:
    """One row per key, staged: what a global index needs, where one key may come with two paths."""
    engine = target.engine
    routed = engine.map(stream, RouteByKey(stream.schema, engine.parallelism))
    met = target.exchange(routed, engine.parallelism)
    return engine.stage(engine.map(met, FoldByKey(stream.schema, target.merger)), workspace)


@frozen
class FoldByKey:
    """Step: after an exchange by key, one row per key."""

    schema: pa.Schema
    merger: Merger

    @property
    def out_schema(self) -> pa.Schema:
        return self.schema

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        held = [batch.select(self.schema.names) for batch in batches if batch.num_rows]
        if held:
            rows = pa.Table.from_batches(held).sort_by("__seq")
            yield from fold(rows, self.merger).combine_chunks().to_batches()


def _settle_moves(target: WriteTarget, staged: Stream, found: pa.Table) -> Stream:
    """Where the order of rows is not the order of commits, a row that would move its key to another
    partition path first has to win over the stored row. The stored rows of such keys are fetched."""
    engine = target.engine
    moving = engine.collect(engine.map(staged, MovingKeys(engine.side(found))))
    if not moving.num_rows:
        return staged
    lying = set(pc.unique(moving.column("file_id")).to_pylist())
    wanted = [slice_json.pack([s]) for s in target.slices if s.file_id in lying]
    table_schema = pa.schema([f for f in staged.schema if f.name not in (OP, "__seq")])
    fetch = FetchRows(
        table_schema, engine.side(moving), target.storage, target.file_format,
        target.merge_rule(with_meta(without_meta(table_schema))),
    )  # fmt: skip
    stored = engine.collect(engine.map(engine.tasks(wanted), fetch))
    return engine.map(staged, SettleMoves(staged.schema, engine.side(stored), target.merger))


@frozen
class MovingKeys:
    """Step: the locations of keys that arrive with another partition path."""

    found: Side

    @property
    def out_schema(self) -> pa.Schema:
        return LOCATIONS_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        locations = self.found.table().combine_chunks()
        for batch in batches:
            at = pc.index_in(locations.column("record_key"), value_set=batch.column(RECORD_KEY))
            path = batch.column(PARTITION_PATH).take(at.combine_chunks())
            differs = pc.not_equal(path, locations.column("partition_path"))
            yield from locations.filter(pc.fill_null(differs, False)).to_batches()


@frozen
class FetchRows:
    """Step: file slices in, their rows of the wanted keys out (keyed, without sequence)."""

    out_schema: pa.Schema
    wanted: Side
    storage: Storage
    file_format: BaseFileFormat
    rule: MergeRule

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        keys = self.wanted.table().column("record_key").combine_chunks()
        for batch in batches:
            for payload in batch.column("payload").to_pylist():
                for slice_ in slice_json.unpack(payload):
                    for rows in merged_rows(self.storage, self.file_format, self.rule, slice_):
                        found = rows.filter(pc.is_in(rows.column(RECORD_KEY), value_set=keys))
                        yield conform(found.select(self.out_schema.names), self.out_schema)


@frozen
class SettleMoves:
    """Step: incoming rows against the stored rows of their keys; the losers end here."""

    schema: pa.Schema
    stored: Side
    merger: Merger

    @property
    def out_schema(self) -> pa.Schema:
        return self.schema

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        stored = self.stored.table().combine_chunks()
        known = stored.column(RECORD_KEY)
        for batch in batches:
            at = pc.index_in(batch.column(RECORD_KEY), value_set=known)
            met = pc.is_valid(at)
            if not pc.any(met).as_py():
                yield batch
                continue
            newer = pa.Table.from_batches([batch.filter(met)])
            lying = stored.take(at.drop_null())
            puts = pa.repeat(pa.scalar(PUT, pa.int8()), lying.num_rows)
            columns = [
                puts if n == OP else newer.column(n) if n == "__seq" else lying.column(n)
                for n in newer.schema.names
            ]
            older = pa.Table.from_arrays(columns, schema=newer.schema)
            answer = merge_pairs(older, newer, self.merger)
            kept = newer.filter(answer.newer_wins) if answer.newer_wins is not None else answer.rows
            yield batch.filter(pc.invert(met))
            assert kept is not None
            yield from kept.select(self.schema.names).combine_chunks().to_batches()
