"""Rows on local disk between two steps: written once, memory-mapped when read.

Each upstream partition has one file. What is staged is an Arrow IPC file; what is exchanged is a
file of messages: rows are buffered, sorted by (part, slot), cut and serialized, so that every
message has one part and one slot; an index in memory says where each lies. Memory is bounded by one
buffer per running thread."""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import pyarrow as pa
from hoodoo.errors import EngineError, StorageError
from hoodoo.storage.api import Storage, has_plain_files

from hoodoo_rows.engine.crossing import Crossing
from hoodoo_rows.engine.runs import BUFFER_BYTES, buffers, routed

# (part, slot) -> where its messages lie in the file: first byte, bytes
Places = dict[tuple[int, int], list[tuple[int, int]]]
_MOST_OPEN = 64  # files of one exchange that have no name: each takes a descriptor
_ALIGNED = 64  # messages begin at multiples of so many bytes: Arrow reads them in place


def _scratch(storage: Storage) -> str | None:
    """Of a table that can only be read there is none: it may be looked for keys, all the same,
    where its bytes lie open to any program anyway."""
    try:
        return storage.scratch()
    except StorageError:
        if has_plain_files(storage):
            return None
        raise


def _remove(folder: str, descriptors: dict[int, int]) -> None:
    for descriptor in descriptors.values():
        with suppress(OSError):
            os.close(descriptor)
    shutil.rmtree(folder, ignore_errors=True)


class Spill:
    """A folder of IPC files, removed when the object goes: in the scratch directory of ``storage``,
    as rows of its table have to lie nowhere else; without one, where the system has temporary
    files.

    A file that is complete has no name any more, where the system allows that: a process that is
    killed leaves none, and neither does an error that somebody holds, with all that it was raised
    in."""

    def __init__(self, storage: Storage | None = None) -> None:
        folder = None if storage is None else _scratch(storage)
        self._folder = tempfile.mkdtemp(prefix="hoodoo-", dir=folder)
        self._fix = "Free some space" + (", or point TMPDIR at a larger disk" if not folder else "")
        # Streams are dropped, not closed: the folder goes with the last one that reads it.
        self._nameless: dict[int, int] = {}  # number -> descriptor
        weakref.finalize(self, _remove, self._folder, self._nameless)

    def path(self, number: int) -> str:
        """The local file of the run ``number``."""
        return os.path.join(self._folder, f"{number}.arrow")

    def write(self, schema: pa.Schema, number: int, batches: Iterator[pa.RecordBatch]) -> None:
        """All of ``batches``, in order."""
        with self._file(number) as sink:
            with self._guard():
                writer = pa.ipc.new_file(sink, schema)
            for batch in batches:
                with self._guard():  # guards the write, not the upstream batches
                    writer.write_batch(batch)
            with self._guard():
                writer.close()

    @contextmanager
    def _file(self, number: int) -> Iterator[pa.NativeFile]:
        with self._guard():
            sink = pa.OSFile(self.path(number), "wb")
        try:
            yield sink
        except BaseException:
            with suppress(OSError):
                sink.close()
                os.unlink(self.path(number))  # who holds the error would hold the file, too
            raise
        with self._guard():
            sink.close()
        self._unname(number)

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise EngineError(
                f"folder {self._folder}",
                f"rows between two steps could not be stored there ({error}).",
                f"{self._fix}; the table is unchanged.",
            ) from error

    def read(self, number: int) -> Iterator[pa.RecordBatch]:
        """The batches of the run ``number``, in the order in which they were written."""
        with self._mapped(number) as source:
            reader = pa.ipc.open_file(source)
            for index in range(reader.num_record_batches):
                yield reader.get_batch(index)

    def write_routed(
        self,
        crossing: Crossing,
        parts: int,
        number: int,
        batches: Iterator[pa.RecordBatch],
        held: int = BUFFER_BYTES,
    ) -> Places:
        """``batches`` cut by part and slot, as messages; where each lies. ``held``: bytes of rows
        that are sorted at once."""
        places: Places = {}
        at = 0
        with self._file(number) as sink:
            for buffer in buffers(batches, crossing.shape.flat_schema, held):
                flat, runs = routed(buffer, parts)
                rows = crossing.rows(flat)
                for part, slot, start, count in runs:
                    message, end = crossing.pack(rows.slice(start, count))
                    size = len(message) + len(end)
                    with self._guard():
                        sink.write(message)
                        sink.write(end)
                        sink.write(bytes(-size % _ALIGNED))
                    places.setdefault((part, slot), []).append((at, size))
                    at += size + -size % _ALIGNED
        return places

    def _unname(self, number: int) -> None:
        """The complete file stays as long as its descriptor; of very many, some keep their
        names."""
        if len(self._nameless) >= _MOST_OPEN:
            return
        try:
            descriptor = os.open(self.path(number), os.O_RDONLY)
        except OSError:
            return
        try:
            os.unlink(self.path(number))
        except OSError:  # a system on which a name can't go while the file is open
            os.close(descriptor)
            return
        self._nameless[number] = descriptor

    def _mapped(self, number: int) -> pa.NativeFile:
        descriptor = self._nameless.get(number)
        if descriptor is None:
            return pa.memory_map(self.path(number))
        if not os.fstat(descriptor).st_size:
            return pa.BufferReader(b"")
        return pa.BufferReader(pa.py_buffer(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)))

    def messages(self, number: int, places: Sequence[tuple[int, int]]) -> Iterator[pa.Buffer]:
        """The messages that lie at ``places``, as views of the file."""
        if not places:
            return
        with self._mapped(number) as source:
            for start, size in places:
                source.seek(start)
                yield source.read_buffer(size)
