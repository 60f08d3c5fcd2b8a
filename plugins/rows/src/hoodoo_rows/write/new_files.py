"""Write without an exchange: each task writes what it reads (bulk insert, append).

One file for each attempt of a task and partition path. Another attempt may get other rows, also
with other partition paths, where the source is not deterministic: so it has files of its own, and
the write counts all files of one attempt.

Rows that fit are sorted by path and written, one file after the other. Of more, a few paths have
files that stay open; the rows of the others wait on local disk, in buckets of paths, each of which
is written in the same way."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from functools import partial
from itertools import chain
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field, frozen
from hoodoo.hookspecs.engine import PART, SLOT, Task
from hoodoo.hookspecs.file_format import BaseFileFormat, BaseFileWriter
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import path_of
from hoodoo.model.meta import PARTITION_PATH
from hoodoo.storage.api import Storage
from hoodoo.storage.temporaries import discard, scratch_path
from hoodoo.storage.together import side_by_side
from hoodoo.timeline.markers import CREATE

from hoodoo_rows.engine.crossing import Crossing
from hoodoo_rows.engine.runs import stable_order
from hoodoo_rows.engine.spill import Places, Spill
from hoodoo_rows.model.internal_row import OP, PUT
from hoodoo_rows.produce.columns import stored_rows
from hoodoo_rows.produce.pending import Pending
from hoodoo_rows.produce.slots import new_uuid
from hoodoo_rows.produce.stats import STATS_SCHEMA, stats_batches

Batches = Iterator[pa.RecordBatch]
# What puts a whole file into the table, and its bytes.
Puts = Iterator[tuple[Callable[[], WriteStat], int]]
_BUCKETS = 256  # of partition paths whose rows wait on disk
_ROWS = 1 << 17  # written at a time
_LEAST_GROUP, _ROW_GROUP = 16 << 20, 128 << 20  # formats end larger row groups by themselves
# Of rows of one path, until they are joined: bytes, and pieces.
_GATHERED, _PIECES = 16 << 20, 256
_FEW = 10  # paths that have less than this part of the rows are few
_LONG_RUN = 512  # rows of one path in a batch that are worth handling by themselves


@frozen
class WriteNewFiles:
    """Step: keyed rows in, one row of STATS_SCHEMA out for each file written. ``memory``: bytes
    that a task may take; ``crossing``: how rows wait on disk."""

    schema: pa.Schema
    storage: Storage
    file_format: BaseFileFormat
    pending: Pending
    memory: int
    crossing: Crossing
    out_schema = STATS_SCHEMA

    @staticmethod
    def packing(keyed: pa.Schema) -> Crossing:
        """For rows of ``keyed``; made on the driver."""
        numbers = [pa.field(PART, pa.int32()), pa.field(SLOT, pa.int32())]
        return Crossing.of(pa.schema([*keyed, *numbers]), 1, None, near=True)

    def __call__(self, batches: Batches, task: Task) -> Batches:
        with closing(_Files(self, task, self.memory // 3)) as files:
            # Files that wait until they are put are on the local disk.
            puts = self._write(_live(batches), files)
            stats = side_by_side(self.storage, puts, self.memory, least=None)
            try:
                yield from stats_batches(stats)
            finally:
                if isinstance(stats, Generator):
                    stats.close()

    def _write(self, batches: Batches, files: _Files) -> Puts:
        # They may be there twice while they are sorted. Offsets of texts have 32 bits.
        at_once = min(self.memory // 6, 1 << 30)
        held, size = list[pa.RecordBatch](), 0
        for batch in batches:
            held.append(batch)
            size += batch.nbytes
            if size >= at_once:
                break
        else:
            for path, rows in _by_path(held):
                files.begun(path).held = rows
                yield from files.ended(path)
            yield from files.finished()
            return
        del batch
        spill = Spill(self.storage)
        rest = files.keep(held, batches, max(2, files.memory // _LEAST_GROUP))
        places = spill.write_routed(self.crossing, 1, 0, rest, at_once)
        yield from files.finished()
        for _part, bucket in sorted(places):
            yield from self._write(self._read(spill, places, bucket), files)

    def _read(self, spill: Spill, places: Places, bucket: int) -> Batches:
        for place in places[0, bucket]:  # each by itself: what has been read is not mapped any more
            for message in spill.messages(0, [place]):
                yield self.crossing.unpack(message, 0, bucket).drop_columns([PART, SLOT])


@define
class _NewFile:
    writer: BaseFileWriter
    local: str
    partition_path: str
    file_id: str
    name: str
    rows: int = 0
    # Rows that wait for it, and bytes of them; then bytes that wait in the writer for the end of a
    # row group.
    held: list[pa.RecordBatch] = field(factory=list)
    held_bytes: int = 0
    waiting: int = 0


@define
class _Files:
    """The files under construction of a task, by partition path."""

    step: WriteNewFiles
    task: Task
    memory: int  # bytes of rows that wait in all of them
    attempt: str = field(factory=lambda: uuid4().hex)
    open: dict[str, _NewFile] = field(factory=dict)
    local: set[str] = field(factory=set)  # files that are on the local disk

    def keep(self, held: list[pa.RecordBatch], batches: Batches, most: int) -> Batches:
        """``held``, which it empties, and ``batches``: rows of ``most`` paths go into their files,
        the others are handed on with their bucket. All are where ``most`` paths have few of the
        rows."""
        counted = pa.chunked_array([batch.column(PARTITION_PATH) for batch in held]).value_counts()
        fullest = sorted(counted.to_pylist(), key=lambda found: -found["counts"])
        if sum(found["counts"] for found in fullest[:most]) * _FEW < sum(map(len, held)):
            most = 0  # to take these from each batch would cost more
        kept, buckets = {found["values"] for found in fullest[:most]}, dict[str, int]()
        for batch in chain(_each(held), batches):
            coded = batch.column(PARTITION_PATH).dictionary_encode()
            paths, codes = coded.dictionary.to_pylist(), coded.indices.to_numpy()
            if len(kept) < most:
                kept.update([path for path in paths if path not in buckets][: most - len(kept)])
            to = [-1 if p in kept else buckets.setdefault(p, len(buckets)) for p in paths]
            slots = np.array(to, np.int32)[codes]
            mine = slots < 0
            if mine.any():
                for path, rows in _runs(batch if mine.all() else batch.filter(pa.array(mine))):
                    self.gather(path, rows)
            if not mine.all():
                if mine.any():
                    batch, slots = batch.filter(pa.array(~mine)), slots[~mine]
                batch = batch.append_column(PART, pa.array(np.zeros(len(slots), np.int32)))
                yield batch.append_column(SLOT, pa.array(slots % _BUCKETS))

    def gather(self, path: str, rows: pa.RecordBatch) -> None:
        """``rows`` for the file of ``path``, which is begun where there is none; written when there
        are enough."""
        file = self.open.get(path) or self.begun(path)
        file.held.append(rows)
        file.held_bytes += rows.nbytes
        most = min(_GATHERED, self.memory // 2 // max(2, len(self.open)))
        if file.held_bytes >= most or len(file.held) >= _PIECES:
            self._write(file)

    def _write(self, file: _NewFile) -> None:
        step, path, number = self.step, file.partition_path, self.task.number
        instant = step.pending.requested
        place = f"{number}-{file.file_id[:8]}" if path else str(number)
        table = pa.Table.from_batches(file.held)
        file.held, file.held_bytes = [], 0
        of_file = self.memory // max(2, len(self.open))
        for start in range(0, len(table), _ROWS):
            some = table.slice(start, _ROWS)
            made = stored_rows(some, step.schema, instant, file.name, place, file.rows)
            file.writer.write(made)
            file.rows += some.num_rows
            file.waiting += made.nbytes
            if file.waiting >= of_file < _ROW_GROUP:
                file.writer.flush()
                file.waiting = 0

    def begun(self, path: str) -> _NewFile:
        """A new file in the partition ``path``, which is open from now on."""
        step, number, instant = self.step, self.task.number, self.step.pending.requested
        local = scratch_path(step.storage)
        file_id = f"{new_uuid(instant, self.attempt, path)}-0"
        name = f"{file_id}_{number}-0-0_{instant}{step.file_format.extension}"
        writer = step.file_format.writer(local, step.schema)
        self.local.add(local)
        self.open[path] = _NewFile(writer, local, path, file_id, name)
        return self.open[path]

    def finished(self) -> Puts:
        """All of them are whole."""
        for path in list(self.open):
            yield from self.ended(path)

    def ended(self, path: str) -> Puts:
        """The file of ``path`` is whole."""
        file = self.open[path]
        if file.held:
            self._write(file)
        size = file.writer.close()
        del self.open[path]
        yield partial(self._put, file, size), size

    def close(self) -> None:
        """Delete the local files."""
        for local in self.local:
            discard(local)

    def _put(self, file: _NewFile, size: int) -> WriteStat:
        storage, pending = self.step.storage, self.step.pending
        size = pending.put(storage, file.partition_path, file.name, file.local, CREATE, size)
        discard(file.local)
        self.local.discard(file.local)
        return WriteStat(
            partition_path=file.partition_path,
            file_id=file.file_id,
            path=path_of(file.partition_path, file.name),
            num_writes=file.rows,
            num_inserts=file.rows,
            file_size=size,
        )


def _live(batches: Batches) -> Batches:
    for batch in batches:
        live = pc.equal(batch.column(OP), PUT)
        yield batch if pc.all(live).as_py() else batch.filter(live)


def _each(held: list[pa.RecordBatch]) -> Batches:
    while held:
        yield held.pop(0)


def _by_path(held: list[pa.RecordBatch]) -> Iterator[tuple[str, list[pa.RecordBatch]]]:
    """One turn per distinct partition path of ``held``, which it empties. Where paths are few, each
    batch is sorted by itself: rows are not there twice, and near each other. Else all at once: runs
    of few rows cost more."""
    paths = len(pc.unique(held[0].column(PARTITION_PATH))) if held else 0
    if len(held) > 1 and paths * _LONG_RUN > held[0].num_rows:
        held[:] = pa.Table.from_batches(held).combine_chunks().to_batches()
    found: dict[str, list[pa.RecordBatch]] = {}
    for batch in _each(held):
        for path, rows in _runs(batch):
            found.setdefault(path, []).append(rows)
    for path in list(found):
        yield path, found.pop(path)


def _runs(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of each partition path: one sort, and its runs."""
    if not batch.num_rows:
        return
    coded = batch.column(PARTITION_PATH).dictionary_encode()
    codes = coded.indices.to_numpy()
    if len(coded.dictionary) > 1:
        order = stable_order(codes, len(coded.dictionary))
        batch, codes = batch.take(pa.array(order)), codes[order]
    starts = np.searchsorted(codes, np.arange(len(coded.dictionary) + 1)).tolist()
    for path, start, end in zip(coded.dictionary.to_pylist(), starts[:-1], starts[1:], strict=True):
        yield path, batch.slice(start, end - start)
