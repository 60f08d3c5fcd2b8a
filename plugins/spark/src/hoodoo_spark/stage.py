"""Staging: every partition of a stream as one Arrow IPC file in the workspace, written once; or,
where it is small, as bytes in the hands of the driver."""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import EngineError
from hoodoo.hookspecs.engine import Task
from hoodoo.storage.api import Storage, has_plain_files

from hoodoo_spark.groups import FAR, NEAR, Grouped, has_groups, read_index
from hoodoo_spark.packed import Out

# What a payload begins with: what follows, a path or rows, and how many bytes the rows have in
# memory.
_HEAD = struct.Struct(">8sq")
_PATH, _ROWS = b"path", b"rows"
_GROUPS = b"groups"  # the path of a file with an index
# Of how many partitions the driver takes rows, and how many bytes of each in any case: it may have
# thousands.
_PARTITIONS = 1024
_LEAST = 16 << 10


@frozen
class WriteStaged:
    """The end of a chain that writes its batches to ``<prefix>/stage-<token>-<number>.arrow``.

    The name is the driver's: a retry, or a speculative copy, that finds the file there takes it and
    drops its own, so that all readers see one evaluation even of a source that is not
    deterministic. Returns one packed row: a payload for :class:`ReadStaged`. Of a partition that
    has few of ``small`` bytes it holds the rows themselves, and there is no file."""

    storage: Storage
    prefix: str
    token: str
    schema: pa.Schema
    small: int = 0
    route: int = 0

    def path(self, number: int) -> str:
        return f"{self.prefix}/stage-{self.token}-{number:06d}.arrow"

    def __call__(self, batches: Iterator[pa.RecordBatch], origin: int) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        size, most = 0, _share(self.small, origin)
        for batch in batches:
            if batch.num_rows:
                held.append(batch)
                size += batch.nbytes
            if size > most:
                break
        if size <= most:
            sink = pa.BufferOutputStream()
            self._write(sink, held)
            content = _HEAD.pack(_ROWS, size) + sink.getvalue().to_pybytes()
        else:
            kind, size = self._put(self.path(origin), chain(held, batches))
            content = _HEAD.pack(kind, size) + self.path(origin).encode()
        out = Out(origin, 1 << 20)
        yield from out.message(0, 0, None, pa.py_buffer(content))
        if out.rows:
            yield out.flush()

    def _put(self, path: str, batches: Iterable[pa.RecordBatch]) -> tuple[bytes, int]:
        """What the file is, and the bytes of its rows."""
        handle, local = tempfile.mkstemp(suffix=".arrow", dir=self.storage.scratch())
        os.close(handle)
        grouped = None
        if has_groups(self.schema):
            grouped = Grouped(self.schema, NEAR if has_plain_files(self.storage) else FAR)
        try:
            with pa.OSFile(local, "wb") as sink:
                size = self._write(sink, batches, grouped)
            mine = self.storage.put_file_if_absent(path, local)
        finally:
            if os.path.exists(local):
                os.unlink(local)
        whole = grouped is not None and grouped.whole
        if grouped is not None and not mine:  # the rows of an attempt before may lie otherwise
            with self.storage.open(path) as found:
                whole = read_index(found) is not None
        return _GROUPS if whole else _PATH, size

    def _write(
        self,
        sink: pa.NativeFile,
        batches: Iterable[pa.RecordBatch],
        grouped: Grouped | None = None,
    ) -> int:
        """The bytes of the rows."""
        size = 0
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        if grouped is not None:
            return grouped.write(sink, batches, options)
        with pa.ipc.new_stream(sink, self.schema, options=options) as writer:
            for batch in batches:
                if batch.num_rows:
                    writer.write_batch(batch)
                    size += batch.nbytes
        return size


def _share(small: int, origin: int) -> int:
    """How many bytes of rows partition ``origin`` may hand to the driver. Partitions that are alike
    and have ``small`` bytes together all do; whatever they are, together they hand over less than
    eight times as much, and 16 MiB."""
    if not small or origin >= _PARTITIONS:
        return -1
    return max(small // (origin + 1), min(small, _LEAST))


@frozen
class ReadStaged:
    """What :class:`WriteStaged` returned -> its batches. One batch of a file in memory at a
    time."""

    storage: Storage
    out_schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column("payload").to_pylist():
                path = path_in(payload)
                if path is None:
                    with rows_in(payload) as reader:
                        yield from reader
                    continue
                with opened(self.storage, path) as source, pa.ipc.open_stream(source) as reader:
                    yield from reader


def opened(storage: Storage, path: str) -> pa.NativeFile:
    """The staged file ``path``."""
    try:
        return storage.open(path)
    except FileNotFoundError as error:
        raise EngineError(
            f"staged file {path}",
            "is gone.",
            "A staged stream is read within the action that made it.",
        ) from error


def _kind(payload: bytes) -> bytes:
    kind: bytes = _HEAD.unpack_from(payload)[0]
    return kind.rstrip(b"\0")


def path_in(payload: bytes) -> str | None:
    """The file that the payload names; None where it has the rows."""
    return None if _kind(payload) == _ROWS else payload[_HEAD.size :].decode()


def rows_in(payload: bytes) -> pa.RecordBatchStreamReader:
    """The rows of a payload that names no file."""
    return pa.ipc.open_stream(pa.py_buffer(payload).slice(_HEAD.size))


def has_index(payload: bytes) -> bool:
    """Whether rows of one group can be read alone: they have an index, or are at hand."""
    return _kind(payload) != _PATH


def size_in(payload: bytes) -> int:
    """The bytes in memory of the rows."""
    size: int = _HEAD.unpack_from(payload)[1]
    return size


def check_complete(paths: list[str], storage: Storage, prefix: str) -> None:
    """Raise EngineError unless each of ``paths`` is there, once."""
    there = {entry.path for entry in storage.list(prefix)}
    missing = sorted(set(paths) - there)
    if missing or len(set(paths)) != len(paths):
        raise EngineError(
            f"staged rows below {prefix}",
            f"are not complete: {len(missing)} of {len(paths)} files are missing"
            + (f", the first is {missing[0]}." if missing else "."),
            "All workers write to the same storage: check that the table's path is shared.",
        )
