"""Rows on local disk between two steps: written once, memory-mapped when read.

Each upstream partition has one Arrow IPC file. Rows are buffered up to BUFFER_BYTES, sorted by
(part, slot) and cut, so that every batch on disk has one part and one slot; an index in memory says
which batch is whose. Memory is bounded by one buffer per running thread.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import numpy as np
import pyarrow as pa

from hoodoo.errors import EngineError
from hoodoo.hookspecs.engine import PART, SLOT

BUFFER_BYTES = 32 << 20


class Spill:
    """A folder of IPC files, removed when the object goes."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="hoodoo-")
        # Streams are dropped, not closed: the folder goes with the last one that reads it.
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def path(self, number: int) -> str:
        return os.path.join(self._folder, f"{number}.arrow")

    def write(self, number: int, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        """All of ``batches``, in order."""
        with self._file(number, schema) as append:
            for batch in batches:
                append(batch)

    @contextmanager
    def _file(self, number: int, schema: pa.Schema) -> Iterator[Callable[[pa.RecordBatch], None]]:
        with self._guard():
            sink = pa.OSFile(self.path(number), "wb")
            writer = pa.ipc.new_file(sink, schema)

        def append(batch: pa.RecordBatch) -> None:
            with self._guard():  # around the write alone: what comes from upstream is not ours
                writer.write_batch(batch)

        try:
            yield append
        except BaseException:
            with suppress(OSError):
                sink.close()
            raise
        with self._guard():
            writer.close()
            sink.close()

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise EngineError(
                f"folder {self._folder}",
                f"rows on their way between two steps could not be kept there ({error}).",
                "Free some space, or point TMPDIR at a larger disk; the table is as it was.",
            ) from error

    def read(self, number: int) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(self.path(number)) as source:
            reader = pa.ipc.open_file(source)
            for index in range(reader.num_record_batches):
                yield reader.get_batch(index)

    def write_routed(
        self, number: int, schema: pa.Schema, batches: Iterator[pa.RecordBatch]
    ) -> dict[tuple[int, int], list[int]]:
        """``batches`` cut by part and slot; (part, slot) -> numbers of the batches in the file."""
        index: dict[tuple[int, int], list[int]] = {}
        written = 0
        with self._file(number, schema) as append:
            for buffer in _buffers(batches):
                for part, slot, rows in _cut(buffer):
                    index.setdefault((part, slot), []).append(written)
                    append(rows)
                    written += 1
        return index

    def read_some(self, number: int, wanted: list[int]) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(self.path(number)) as source:
            reader = pa.ipc.open_file(source)
            for index in wanted:
                yield reader.get_batch(index)


def _buffers(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(batch)
        size += batch.nbytes
        if size >= BUFFER_BYTES:
            yield pa.Table.from_batches(held)
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held)


def _cut(table: pa.Table) -> Iterator[tuple[int, int, pa.RecordBatch]]:
    part = table.column(PART).to_numpy().astype(np.int64)
    slot = table.column(SLOT).to_numpy().astype(np.int64)
    key = (part << 32) | slot
    if len(key) > 1 and (key[1:] < key[:-1]).any():
        order = np.argsort(key, kind="stable")
        table, key = table.take(pa.array(order)), key[order]
    edges = np.flatnonzero(np.diff(key)) + 1
    starts = np.concatenate(([0], edges))
    ends = np.concatenate((edges, [len(key)]))
    for start, end in zip(starts.tolist(), ends.tolist()):  # one turn per (part, slot), not per row
        whole = table.slice(start, end - start).combine_chunks()
        for batch in whole.to_batches():
            yield int(key[start] >> 32), int(key[start] & 0xFFFFFFFF), batch
