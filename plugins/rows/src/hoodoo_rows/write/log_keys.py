"""Keys that base files don't show: those that only log files have, and those that were deleted.

An index that looks keys up reads base files. That is enough as long as log files hold nothing but
updates of rows in the base file below them. It isn't where a file group has no base file; nor where
a writer found a key in the base file of before a compaction that left the key out, as deleted: its
log file then belongs to the new base file. And a key that was deleted and written again may lie in
two base files, and is deleted in one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.hookspecs.engine import Side, Stream, Task
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.index import LOCATIONS_SCHEMA
from hoodoo.model.filegroup import FileSlice, LogFile
from hoodoo.model.meta import RECORD_KEY, with_meta
from hoodoo.model.payload import pack_slices, unpack_slices
from hoodoo.storage.api import Storage
from hoodoo.storage.together import read_ahead
from hoodoo.timeline.instants import order_key

from hoodoo_rows.merge.pairs import flat
from hoodoo_rows.merge.rule import MergeRule
from hoodoo_rows.merge.slice import merged_rows
from hoodoo_rows.model.conform import conform
from hoodoo_rows.write.key_table import KeyTable
from hoodoo_rows.write.meet import AskedPlaces
from hoodoo_rows.write.target import WriteTarget


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
