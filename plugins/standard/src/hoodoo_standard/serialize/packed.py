"""The serializer `arrow`, the default: record batches as they lie in memory.

A message is one Arrow IPC record batch without its schema. Where a message leaves the machine it is
compressed if that pays; compressed ones begin with `LZ4R` and their size, plain ones with the four
bytes 0xFF of Arrow's own framing. Dictionaries travel before the batch, within its message.
"""

from __future__ import annotations

import struct
from typing import Any, ClassVar

import pyarrow as pa
from attrs import field, frozen
from hoodoo.errors import EngineError
from hoodoo.hookspecs.registration import Settings
from hoodoo_rows.engine.frames import Framed, refuse_reuse
from hoodoo_rows.engine.row_shape import constants_of
from hoodoo_rows.model.internal_row import constant

_COMPRESS_FROM = 1024  # bytes; below, lz4 saves nothing
_COMPRESSED = struct.Struct("<4sI")
_MARK = b"LZ4R"
_CODEC = pa.Codec("lz4_raw")


@frozen
class ArrowSerializer:
    """Implements :class:`~hoodoo.hookspecs.serializer.Serializer`."""

    name: str = "arrow"
    version: ClassVar[int] = 1

    @classmethod
    def from_settings(cls, settings: Settings) -> ArrowSerializer:
        return cls()

    def bind(self, schema: pa.Schema, near: bool = False) -> ArrowMessages:
        return ArrowMessages(schema, compress=not near)

    def open(self, header: bytes) -> ArrowMessages:
        try:
            return ArrowMessages(pa.ipc.read_schema(pa.py_buffer(header)))
        except (pa.ArrowException, OSError) as error:
            raise EngineError(
                "header of a stream",
                f"is not one of the serializer arrow ({error}).",
                "Read it with the serializer that wrote it.",
            ) from error


@frozen
class ArrowMessages(Framed):
    """Record batches of one schema as messages, and back."""

    schema: pa.Schema
    compress: bool = True
    # All in the order of the schema. Constants stay behind.
    wire: pa.Schema = field(init=False, repr=False)
    constants: tuple[int, ...] = field(init=False, repr=False)
    # Bytes before a message that holds dictionaries, to make an IPC stream of it; else empty.
    prefix: bytes = field(init=False, repr=False)

    @wire.default
    def _wire(self) -> pa.Schema:
        left = set(constants_of(self.schema))
        return pa.schema([f for i, f in enumerate(self.schema) if i not in left])

    @constants.default
    def _constants(self) -> tuple[int, ...]:
        return constants_of(self.schema)

    @prefix.default
    def _prefix(self) -> bytes:
        if not any(has_dictionary(f.type) for f in self.wire):
            return b""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.wire):
            pass
        whole: bytes = sink.getvalue().to_pybytes()
        return whole[:-8]  # the mark of the stream's end

    def header(self) -> bytes:
        return self.schema.serialize().to_pybytes()

    def serialize(self, rows: pa.RecordBatch) -> pa.Buffer:
        wire = rows.select(self.wire.names) if self.constants else rows
        raw = self._with_dictionaries(wire) if self.prefix else wire.serialize()
        if self.compress and _COMPRESS_FROM <= raw.size < 1 << 32:
            packed = _CODEC.compress(raw)
            if packed.size < raw.size * 7 // 8:
                return pa.py_buffer(b"".join((_COMPRESSED.pack(_MARK, raw.size), packed)))
        return raw

    def deserialize(self, message: pa.Buffer | bytes, reuse: Any = None) -> pa.RecordBatch:
        refuse_reuse(reuse)
        raw = pa.py_buffer(message)
        if raw.slice(0, 4).to_pybytes() == _MARK:
            size = _COMPRESSED.unpack(raw.slice(0, 8).to_pybytes())[1]
            raw = _CODEC.decompress(raw.slice(8), size)
        if self.prefix:
            whole = pa.py_buffer(b"".join((self.prefix, raw)))
            wire = pa.ipc.open_stream(whole).read_next_batch()
        else:
            wire = pa.ipc.read_record_batch(raw, self.wire)
        if not self.constants:
            return wire
        columns = list(wire.columns)
        for at in self.constants:
            columns.insert(at, constant(self.schema.field(at), wire.num_rows))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _with_dictionaries(self, wire: pa.RecordBatch) -> pa.Buffer:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.wire) as writer:
            writer.write_batch(wire)
        return sink.getvalue().slice(len(self.prefix))


def has_dictionary(kind: pa.DataType) -> bool:
    """Whether ``kind`` holds a dictionary at any depth: its batch alone can't be read."""
    if pa.types.is_dictionary(kind):
        return True
    if isinstance(kind, pa.BaseExtensionType):
        return has_dictionary(kind.storage_type)
    if pa.types.is_nested(kind):
        return any(has_dictionary(kind.field(i).type) for i in range(kind.num_fields))
    return False
