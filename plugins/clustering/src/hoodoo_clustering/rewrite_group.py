"""Rewrite: the rows of a group in their new order and into files of the target size. A task's
work."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

import numpy as np
import pyarrow as pa
from attrs import define, frozen
from hoodoo.errors import CommitConflictError
from hoodoo.hookspecs.engine import Task
from hoodoo.hookspecs.file_format import BaseFileFormat, BaseFileWriter
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import path_of
from hoodoo.model.meta import FILE_NAME, RECORD_KEY, repeated, with_meta
from hoodoo.storage.api import Storage
from hoodoo.storage.temporaries import discard, scratch_path
from hoodoo.timeline.markers import CREATE
from hoodoo_rows.api import KeyChanges, MergeRule, NewFiles, Pending

from hoodoo_clustering.file_bounds import FileBounds
from hoodoo_clustering.group_job import GroupJob, jobs_of
from hoodoo_clustering.group_rows import GroupRows
from hoodoo_clustering.hookspecs.clustering import Clustering, OneFile, PlacesRows
from hoodoo_clustering.leaves import with_leaves
from hoodoo_clustering.sample import sample
from hoodoo_clustering.sized_files import Sizes, sized
from hoodoo_clustering.sort_runs import sort_rows

# What KeyChanges says; with each stat the group of the file, and its bounds as FileBounds packs
# them.
REWRITTEN = pa.schema([*NewFiles.WRITTEN, ("group", pa.int32()), ("bounds", pa.binary())])
# The largest part of a file that waits to be compressed.
_PART = 128 << 20
# The target of a file that takes all rows of its group.
_ENDLESS = 1 << 62


@frozen
class RewriteGroups:
    """Step: payloads of jobs (:func:`jobs_of`) in, rows of REWRITTEN out.

    ``rule``: of all stored columns but the name of the file. ``target_bytes``: of a file, on disk.
    ``memory``: bytes of rows that one task holds; besides, there are the record keys of one file,
    twice if it ``tells`` them. ``attempt`` is in the names of all files: one run's are not another
    one's. ``threads``: for each task, where there are fewer tasks than the engine runs at a
    time."""

    storage: Storage
    file_format: BaseFileFormat
    rule: MergeRule
    pending: Pending
    order: Clustering
    target_bytes: int
    memory: int
    tells: bool = False
    attempt: str = ""
    threads: int = 1

    @property
    def out_schema(self) -> pa.Schema:
        return REWRITTEN

    @property
    def _one_file(self) -> bool:
        return isinstance(self.order, OneFile) and self.order.one_file

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        key_changes = KeyChanges(True, task)  # which numbers all files of the task
        for batch in batches:
            for data in batch.column("payload").to_pylist():
                for job in jobs_of(data):
                    yield from self._rewrite(job, key_changes)

    def _rewrite(self, job: GroupJob, key_changes: KeyChanges) -> Iterator[pa.RecordBatch]:
        rows = GroupRows(
            self.storage, self.file_format, self.rule, job.slices, self.memory, self.threads
        )
        if isinstance(self.order, PlacesRows):
            yield from self._placed(job, rows, self.order, key_changes)
            return
        counted: int | None = rows.counted()
        blocks: Iterator[pa.Table]
        if self.order.columns:
            order = self._fitted(rows)

            def keys(some: pa.Table) -> Sequence[pa.ChunkedArray | pa.Array]:
                return order.keys(with_leaves(some, order.columns))

            found = sort_rows(rows.batches(True), keys, self.memory, self.storage, self.threads)
            blocks, counted = found.blocks, found.rows
        else:
            blocks = (pa.Table.from_batches([batch]) for batch in rows.batches())
        part = min(_PART, max(1, self.memory // 4))
        target = _ENDLESS if self._one_file else self.target_bytes
        sizes = Sizes(target, part, counted or None, None if self._one_file else job.outputs)
        with ExitStack() as stack:

            def begin(number: int, expected: int | None) -> _NewFile:
                if self._one_file:
                    expected = counted
                return _NewFile.begin(self, job, key_changes, number, expected, stack.callback)

            for told in sized(blocks, sizes, begin):
                yield from told

    def _placed(
        self, job: GroupJob, rows: GroupRows, places: PlacesRows, key_changes: KeyChanges
    ) -> Iterator[pa.RecordBatch]:
        """The files that the order names, one after the other. One without rows is not made."""
        order, ids = self._fitted(rows), places.file_ids(job.extra)

        def keys(block: pa.Table) -> list[pa.ChunkedArray | pa.Array]:
            found = places.file_of(block, job.extra)
            if not order.columns:
                return [found]
            return [found, *order.keys(with_leaves(block, order.columns))]

        expected = -(-rows.counted() // max(1, len(ids)))
        part = min(_PART, max(1, self.memory // 4))
        with ExitStack() as stack:
            file: _NewFile | None = None
            waiting = 0
            mixed = bool(order.columns)
            found = sort_rows(rows.batches(mixed), keys, self.memory, self.storage, self.threads)
            for block in found.blocks:
                numbers = np.asarray(places.file_of(block, job.extra))
                ends = [*(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
                for begin, end in zip([0, *ends], ends, strict=False):
                    file_id, some = ids[int(numbers[begin])], block.slice(begin, end - begin)
                    if file is not None and file.file_id != file_id:
                        yield from file.close()
                        file = None
                    if file is None:
                        number, waiting = ids.index(file_id), 0
                        file = _NewFile.begin(
                            self,
                            job,
                            key_changes,
                            number,
                            expected or None,
                            stack.callback,
                            file_id,
                        )
                    file.write(some)
                    waiting += some.nbytes
                    if waiting >= part:
                        file.flush()
                        waiting = 0
            if file is not None:
                yield from file.close()

    def _fitted(self, rows: GroupRows) -> Clustering:
        if not self.order.sample_rows:
            return self.order
        return self.order.fitted(sample(rows, self.order.columns, self.order.sample_rows))


@define
class _NewFile:
    """One file of a group. Its ``close`` gives what is told of it."""

    step: RewriteGroups
    job: GroupJob
    key_changes: KeyChanges
    file_id: str
    name: str
    local: str
    writer: BaseFileWriter
    bounds: FileBounds
    rows: int = 0
    stat: WriteStat | None = None

    @classmethod
    def begin(
        cls,
        step: RewriteGroups,
        job: GroupJob,
        key_changes: KeyChanges,
        number: int,
        expected: int | None,
        at_end: Callable[[Callable[[str], None], str], object],
        file_id: str | None = None,
    ) -> _NewFile:
        instant, run = step.pending.requested, 0
        # Of the run, the group and the file's number alone: a task that runs twice makes it again.
        if file_id is None:
            file_id = f"{NewFiles.uuid(instant, step.attempt, job.number, number)}-0"
        else:  # each run has the same
            run = zlib.crc32(step.attempt.encode()) >> 1
        name = f"{file_id}_{job.number}-{number}-{run}_{instant}{step.file_format.extension}"
        local = scratch_path(step.storage)
        at_end(discard, local)
        writer = step.file_format.writer(local, with_meta(step.rule.schema), expected)
        bounds = FileBounds(step.order.columns)
        return cls(step, job, key_changes, file_id, name, local, writer, bounds)

    def write(self, rows: pa.Table) -> None:
        """Rows without the name of a file."""
        self.rows += rows.num_rows
        self.bounds.add(rows)
        if self.step.tells:
            self.key_changes.came(rows.column(RECORD_KEY))
        self.writer.write(rows.append_column(FILE_NAME, repeated(self.name, rows.num_rows)))

    def flush(self) -> int:
        return self.writer.flush()

    def size(self) -> int:
        assert self.stat is not None
        return self.stat.file_size

    def close(self) -> Iterator[pa.RecordBatch]:
        """Hand the file over. CommitConflictError if the instant doesn't stand any more."""
        path = self.job.partition_path
        size = self.writer.close()
        there = self.step.pending.put(self.step.storage, path, self.name, self.local, CREATE, size)
        discard(self.local)
        if there != size:
            raise CommitConflictError(
                f"clustering {self.step.pending.requested}",
                f"two attempts of a task made {path_of(path, self.name)}, one with {there} bytes "
                "and one "
                f"with {size}: the rows of a file were not the same twice.",
                "See that all workers have the same software, and cluster again.",
            )
        self.stat = WriteStat(
            partition_path=path,
            file_id=self.file_id,
            path=path_of(path, self.name),
            num_writes=self.rows,
            num_inserts=self.rows,
            file_size=size,
        )
        return self._told(self.stat)

    def _told(self, stat: WriteStat) -> Iterator[pa.RecordBatch]:
        first = True
        for batch in self.key_changes.told(stat):
            group = pa.array([self.job.number], pa.int32()) if first else _nulls(batch, pa.int32())
            bounds = pa.array([self.bounds.pack()]) if first else _nulls(batch, pa.binary())
            yield pa.record_batch([*batch.columns, group, bounds], schema=REWRITTEN)
            first = False


def _nulls(batch: pa.RecordBatch, kind: pa.DataType) -> pa.Array:
    return pa.nulls(batch.num_rows, kind)
