"""Rows on local disk between two steps: written once, memory-mapped when read.

Each upstream partition has one file. What is staged is an Arrow IPC file; what is exchanged is a file
of messages: rows are buffered, sorted by (part, slot), cut and serialized, so that every message has
one part and one slot; an index in memory says where each lies. Memory is bounded by one buffer per
running thread.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import pyarrow as pa

from hoodoo.engine.crossing import Crossing
from hoodoo.engine.runs import buffers, routed
from hoodoo.errors import EngineError, StorageError
from hoodoo.storage.api import Storage, has_plain_files

# (part, slot) -> where its messages lie in the file: first byte, bytes
Places = dict[tuple[int, int], list[tuple[int, int]]]
_ALIGNED = 64  # messages begin at multiples of so many bytes: Arrow reads them in place


def _scratch(storage: Storage) -> str | None:
    """Of a table that can only be read there is none: it may be looked for keys, all the same, where its bytes
    lie open to any program anyway."""
    try:
        return storage.scratch()
    except StorageError:
        if has_plain_files(storage):
            return None
        raise


class Spill:
    """A folder of IPC files, removed when the object goes: in the scratch directory of ``storage``, as rows
    of its table have to lie nowhere else; without one, where the system has temporary files."""

    def __init__(self, storage: Storage | None = None) -> None:
        folder = None if storage is None else _scratch(storage)
        self._folder = tempfile.mkdtemp(prefix="hoodoo-", dir=folder)
        self._fix = "Free some space" + (", or point TMPDIR at a larger disk" if not folder else "")
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
                f"{self._fix}; the table is as it was.",
            ) from error

    def read(self, number: int) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(self.path(number)) as source:
            reader = pa.ipc.open_file(source)
            for index in range(reader.num_record_batches):
                yield reader.get_batch(index)

    def write_routed(
        self, number: int, crossing: Crossing, parts: int, batches: Iterator[pa.RecordBatch]
    ) -> Places:
        """``batches`` cut by part and slot, as messages; where each lies."""
        places: Places = {}
        at = 0
        with self._guard():
            sink = pa.OSFile(self.path(number), "wb")
        try:
            for buffer in buffers(batches, crossing.shape.flat_schema):
                flat, runs = routed(buffer, parts)
                rows = crossing.rows(flat)
                for part, slot, start, count in runs:
                    message = crossing.pack(rows.slice(start, count))
                    size = len(message)
                    with self._guard():
                        sink.write(message)
                        sink.write(bytes(-size % _ALIGNED))
                    places.setdefault((part, slot), []).append((at, size))
                    at += size + -size % _ALIGNED
        except BaseException:
            with suppress(OSError):
                sink.close()
            raise
        with self._guard():
            sink.close()
        return places

    def messages(self, number: int, places: Sequence[tuple[int, int]]) -> Iterator[pa.Buffer]:
        """The messages that lie at ``places``, as views of the file."""
        if not places:
            return
        with pa.memory_map(self.path(number)) as source:
            for start, size in places:
                source.seek(start)
                yield source.read_buffer(size)
