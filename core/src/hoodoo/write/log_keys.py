"""Keys that base files don't tell of: those that only log files have, and those that are gone.

An index that looks keys up reads base files. That is enough as long as log files hold nothing but
updates of rows in the base file below them. It isn't where a file group has no base file; nor where a
writer found a key in the base file of before a compaction that left the key out, as deleted: its log
file then belongs to the new base file. And a key that was deleted and written again may lie in two
base files, one of which has it dead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, field, frozen

from hoodoo.hookspecs.engine import Side, Stream, Task
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.index import LOCATIONS_SCHEMA
from hoodoo.hookspecs.key_generator import KeyGenerator, record_key_columns
from hoodoo.hookspecs.log_format import LogFileReader
from hoodoo.kernel.log_files import LogFiles, log_files
from hoodoo.merge.pairs import flat
from hoodoo.merge.rule import MergeRule
from hoodoo.merge.slice import merged_rows
from hoodoo.model import slice_json
from hoodoo.model.filegroup import FileSlice, LogFile
from hoodoo.model.log_block import LogBlock
from hoodoo.model.meta import RECORD_KEY, with_meta
from hoodoo.storage.api import Storage
from hoodoo.storage.together import read_ahead
from hoodoo.timeline.instants import order_key
from hoodoo.write.key_table import KeyTable
from hoodoo.write.target import WriteTarget


def with_log_keys(target: WriteTarget, keys: Stream, found: pa.Table, anywhere: bool) -> pa.Table:
    """``found`` (LOCATIONS_SCHEMA) with those of ``keys`` that only log files have; of a key that was
    found more than once, where it is alive. ``anywhere``: whatever partition path a key came with."""
    if target.logs is None:
        return found
    engine, stream = target.engine, logged(target)
    if stream is not None:
        there = engine.collect(stream)
        if there.num_rows:
            step = KnownKeys(engine.side(there), anywhere)
            more = engine.collect(engine.map(keys, step))
            found = pa.concat_tables([found, more]).group_by(LOCATIONS_SCHEMA.names)
            found = found.aggregate([]).select(LOCATIONS_SCHEMA.names)
    return alive(target, found, anywhere)


def logged(target: WriteTarget) -> Stream | None:
    """LOCATIONS_SCHEMA of the keys that perhaps only log files have; None: there are no such files."""
    pieces = [
        evolve(s, base_file=None, log_files=logs)
        for s in target.slices
        if (logs := _doubtful(target, s))
    ]
    if not pieces:
        return None
    tasks = target.engine.tasks([slice_json.pack([piece]) for piece in pieces])
    return target.engine.map(tasks, ReadLogKeys(target.storage, target.virtual))


def alive(target: WriteTarget, found: pa.Table, anywhere: bool) -> pa.Table:
    """Of places (LOCATIONS_SCHEMA) those of keys at one place, and of others where they are alive."""
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
    """LOCATIONS_SCHEMA of the keys that rows of ``slices`` have; of ``asked`` ones, if they are given."""
    rule = target.merge_rule(stored).narrowed([RECORD_KEY])
    step = LiveKeys(target.storage, target.file_format, rule, asked)
    return target.engine.map(target.engine.tasks([slice_json.pack([s]) for s in slices]), step)


def _doubtful(target: WriteTarget, slice_: FileSlice) -> tuple[LogFile, ...]:
    """The log files of ``slice_`` that may hold keys which its base file lacks."""
    logs = tuple(log for log in slice_.log_files if not log.suffix)
    if slice_.base_file is None or not logs or target.computed is not None:
        return logs  # a computed index puts inserts into logs
    timeline = target.timeline
    made = timeline.find(slice_.base_file.instant)
    if made is None or made.action != "commit":
        return ()  # archived long ago, or no compaction
    if not timeline.layout.names_completion:
        return logs  # neither the names nor the timeline say when
    limit = order_key(made.completion_order)
    return tuple(log for log in logs if order_key(log.instant) < limit)


@frozen
class ReadLogKeys:
    """Step: slices in, the keys of their logs' data blocks out (LOCATIONS_SCHEMA). ``virtual`` makes
    them where they are not stored."""

    storage: Storage
    virtual: KeyGenerator | None = None
    logs: LogFiles = field(factory=log_files, eq=False, repr=False)

    @property
    def out_schema(self) -> pa.Schema:
        return LOCATIONS_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        reads = ((partial(self._of, slice_), slice_.size) for slice_ in _slices(batches))
        yield from read_ahead(self.storage, reads)

    def _of(self, slice_: FileSlice) -> Iterator[pa.RecordBatch]:
        for log in slice_.log_files:
            with self.logs.reader(self.storage, log.path, log.size) as reader:
                for block in reader.blocks:
                    if block.is_data:
                        yield _located(slice_, pc.unique(self._keys(reader, block)))

    def _keys(self, reader: LogFileReader, block: LogBlock) -> pa.ChunkedArray:
        if self.virtual is None:
            return reader.rows(block, [RECORD_KEY]).column(RECORD_KEY)
        names = record_key_columns(self.virtual)
        made = [self.virtual.record_keys(b) for b in reader.rows(block, names).to_batches()]
        return pa.chunked_array(made, pa.string())


@frozen
class KnownKeys:
    """Step: asked keys in (KEYS_SCHEMA), where the side table has them out (LOCATIONS_SCHEMA)."""

    known: Side
    anywhere: bool

    @property
    def out_schema(self) -> pa.Schema:
        return LOCATIONS_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        known = self.known.table().select(LOCATIONS_SCHEMA.names)
        on = ["record_key"] if self.anywhere else ["record_key", "partition_path"]
        table = KeyTable(*(known.column(name) for name in on))
        for batch in batches:
            found = known.take(table.rows_of(*(batch.column(name) for name in on)))
            yield from found.combine_chunks().to_batches()


@frozen
class LiveKeys:
    """Step: slices in, those of the wanted keys out that their merged rows have; None: all of these."""

    storage: Storage
    file_format: BaseFileFormat
    rule: MergeRule
    wanted: Side | None

    @property
    def out_schema(self) -> pa.Schema:
        return LOCATIONS_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        wanted = None
        if self.wanted is not None:
            wanted = KeyTable(self.wanted.table().column("record_key"))
        reads = ((partial(self._of, slice_, wanted), slice_.size) for slice_ in _slices(batches))
        yield from read_ahead(self.storage, reads)

    def _of(self, slice_: FileSlice, wanted: KeyTable | None) -> Iterator[pa.RecordBatch]:
        for rows in merged_rows(self.storage, self.file_format, self.rule, slice_):
            there = rows.column(RECORD_KEY)
            if wanted is not None:
                there = there.filter(pc.is_valid(wanted.places(there)))
            yield _located(slice_, there)


def _slices(batches: Iterator[pa.RecordBatch]) -> Iterator[FileSlice]:
    for batch in batches:
        for payload in batch.column("payload").to_pylist():
            yield from slice_json.unpack(payload)


def _located(slice_: FileSlice, keys: pa.Array) -> pa.RecordBatch:
    where: Sequence[str] = (slice_.partition_path, slice_.file_id)
    columns = [flat(keys), *(pa.repeat(text, len(keys)) for text in where)]
    return pa.record_batch(columns, schema=LOCATIONS_SCHEMA)
