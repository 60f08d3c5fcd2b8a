"""The serializer: rows are Arrow IPC, each buffer of a message compressed with LZ4."""

from __future__ import annotations

from typing import Any, ClassVar

import pyarrow as pa
from attrs import field, frozen
from hoodoo.errors import EngineError
from hoodoo.hookspecs import Settings
from hoodoo_rows.engine.frames import Framed, refuse_reuse

# Tasks run beside each other already: no threads of Arrow's below them.
_LZ4 = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
_READ = pa.ipc.IpcReadOptions(use_threads=False)
_END = 8  # bytes by which Arrow marks the end of a stream


@frozen
class Lz4Serializer:
    """Implements :class:`hoodoo.hookspecs.serializer.Serializer`."""

    name: str = "arrow_lz4"
    version: ClassVar[int] = 1  # of the messages: raise it when code of before could not read them

    @classmethod
    def from_settings(cls, settings: Settings) -> Lz4Serializer:
        return cls()

    def bind(self, schema: pa.Schema, near: bool = False) -> Lz4Messages:
        """Compressed near and far: local disks are often slower than LZ4."""
        return Lz4Messages(schema)

    def open(self, header: bytes) -> Lz4Messages:
        try:
            return Lz4Messages(pa.ipc.read_schema(pa.py_buffer(header)))
        except (pa.ArrowException, OSError) as error:
            raise EngineError(
                "header of a stream",
                f"is not one of the serializer {self.name} ({error}).",
                "Read it with the serializer that wrote it.",
            ) from error


@frozen
class Lz4Messages(Framed):
    """A message is what follows the schema in an Arrow stream: dictionaries, if there are any, and
    one batch."""

    schema: pa.Schema
    # The schema as a stream begins with it: both ends have it, so that no message does.
    head: bytes = field(init=False, repr=False)

    @head.default
    def _head(self) -> bytes:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.schema, options=_LZ4):
            pass
        whole: bytes = sink.getvalue().to_pybytes()
        return whole[:-_END]

    def header(self) -> bytes:
        return self.head

    def serialize(self, rows: pa.RecordBatch) -> pa.Buffer:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.schema, options=_LZ4) as writer:
            writer.write_batch(rows)
        whole = sink.getvalue()
        return whole.slice(len(self.head), whole.size - len(self.head) - _END)

    def deserialize(self, message: pa.Buffer | bytes, reuse: Any = None) -> pa.RecordBatch:
        refuse_reuse(reuse)
        stream = b"".join((self.head, message))
        return pa.ipc.open_stream(stream, options=_READ).read_next_batch()
