"""Write without an exchange: each task writes what it reads (bulk insert, append).

One file for each task and partition path, so that a task which runs twice, in whatever order its
rows come, makes the same file names and nothing else; the first whole file wins.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field, frozen

from hoodoo.hookspecs.engine import Task
from hoodoo.hookspecs.file_format import BaseFileFormat, BaseFileWriter
from hoodoo.merge.ops import OP, PUT
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import path_of
from hoodoo.model.meta import PARTITION_PATH
from hoodoo.produce.markers import CREATE
from hoodoo.produce.pending import Pending
from hoodoo.produce.rows import stored_rows
from hoodoo.produce.scratch import discard, scratch_path
from hoodoo.produce.slots import new_uuid
from hoodoo.produce.stats import STATS_SCHEMA, stats_batch
from hoodoo.storage.api import Storage

# Rows wait in memory until this many bytes are there; then the fullest partition path is written.
HELD_BYTES = 96 << 20


@define
class _OpenFile:
    writer: BaseFileWriter
    local: str
    partition_path: str
    file_id: str
    name: str
    place: int
    rows: int = 0
    held: list[pa.RecordBatch] = field(factory=list)
    held_bytes: int = 0

    @property
    def path(self) -> str:
        return path_of(self.partition_path, self.name)


@frozen
class WriteNewFiles:
    """Step: keyed rows in, one row of STATS_SCHEMA out for each file written."""

    schema: pa.Schema
    storage: Storage
    file_format: BaseFileFormat
    pending: Pending

    @property
    def out_schema(self) -> pa.Schema:
        return STATS_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        files: dict[str, _OpenFile] = {}
        try:
            held = 0
            for batch in batches:
                live = pc.equal(batch.column(OP), PUT)
                batch = batch if pc.all(live).as_py() else batch.filter(live)
                for path, rows in _by_path(batch):
                    file = files.get(path) or self._start(path, task, files)
                    file.held.append(rows)
                    file.held_bytes += rows.nbytes
                    held += rows.nbytes
                while held >= HELD_BYTES:
                    fullest = max(files.values(), key=lambda f: f.held_bytes)
                    held -= self._flush(fullest)
            for file in files.values():
                self._flush(file)
                yield stats_batch([self._finish(file)])
        finally:
            for file in files.values():
                discard(file.local)

    def _start(self, path: str, task: Task, files: dict[str, _OpenFile]) -> _OpenFile:
        local = scratch_path(self.storage)
        file_id = f"{new_uuid(self.pending.requested, 'task', task.number, path)}-0"
        name = f"{file_id}_{task.number}-0-0_{self.pending.requested}{self.file_format.extension}"
        writer = self.file_format.writer(local, self.schema)
        files[path] = _OpenFile(writer, local, path, file_id, name, task.number)
        return files[path]

    def _flush(self, file: _OpenFile) -> int:
        if file.held:
            rows = pa.Table.from_batches(file.held)
            place = f"{file.place}-{file.file_id[:8]}" if file.partition_path else str(file.place)
            file.writer.write(
                stored_rows(rows, self.schema, self.pending.requested, file.name, place, file.rows)
            )
            file.rows += rows.num_rows
        freed, file.held, file.held_bytes = file.held_bytes, [], 0
        return freed

    def _finish(self, file: _OpenFile) -> WriteStat:
        size = file.writer.close()
        rows = file.rows
        if not self.pending.put(self.storage, file.partition_path, file.name, file.local, CREATE):
            # Another attempt of this task was first; its rows count, whatever ours were.
            with self.file_format.reader(self.storage, file.path) as found:
                rows = found.num_rows
            entry = self.storage.head(file.path)
            size = entry.size if entry else size
        return WriteStat(
            partition_path=file.partition_path,
            file_id=file.file_id,
            path=file.path,
            num_writes=rows,
            num_inserts=rows,
            file_size=size,
        )


def _by_path(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """One turn per distinct partition path: one sort, and its runs."""
    if not batch.num_rows:
        return
    coded = batch.column(PARTITION_PATH).dictionary_encode()
    codes = coded.indices.to_numpy()
    if len(coded.dictionary) > 1:
        order = np.argsort(codes, kind="stable")
        batch, codes = batch.take(pa.array(order)), codes[order]
    starts = np.searchsorted(codes, np.arange(len(coded.dictionary) + 1)).tolist()
    for path, start, end in zip(coded.dictionary.to_pylist(), starts[:-1], starts[1:], strict=True):
        yield path, batch.slice(start, end - start)
