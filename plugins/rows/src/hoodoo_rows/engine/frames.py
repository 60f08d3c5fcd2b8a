"""Streams of messages: a header once, then messages, each behind its length.

    b"HOODOOSR", length, header, then for each message: length, message

Lengths are little-endian int64; each message is padded with zeros to 8 bytes, which its length does
not count, so that Arrow reads it in place. The end is the end of the file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from hoodoo.errors import EngineError, PluginError
from hoodoo.hookspecs.serializer import BoundSerializer, Serializer

from hoodoo_rows.model.internal_row import InternalRow

_MAGIC = b"HOODOOSR"
_LENGTH = struct.Struct("<q")
_COPIED_BYTES = 1 << 20


class Framed:
    """What most bound serializers share. Who inherits has ``schema``, ``header``, ``serialize`` and
    ``deserialize``, which calls :func:`refuse_reuse` first."""

    __slots__ = ()

    @property
    def length(self) -> int:
        """The bytes of a serialized row: -1, as rows differ."""
        return -1

    def create(self) -> pa.RecordBatch:
        """Raise PluginError: a row of default values means nothing."""
        raise PluginError(
            "internal row",
            "can't be made with default values.",
            "Make it from a row, or make an index record.",
        )

    def copy(self: Any, rows: Any, reuse: Any = None) -> Any:
        """``rows`` once more, in memory of their own: a batch, or an InternalRow. Raises
        PluginError for ``reuse``."""
        refuse_reuse(reuse)
        if isinstance(rows, InternalRow):
            return InternalRow.of(self.copy(rows.batch(self.schema)))
        return self.deserialize(self.serialize(rows))

    def copy_stream(self, source: Any, target: Any) -> int:
        """Copy one serialized row from the stream ``source`` to ``target``; its length in bytes."""
        return copy_stream(source, target)


def refuse_reuse(reuse: Any) -> None:
    """Raise PluginError if there is an object to be reused."""
    if reuse is not None:
        raise PluginError(
            "internal row",
            "can't be reused: key, path and row data never change.",
            "Call it without `reuse`, and use the object that it returns.",
        )


def write_stream(bound: BoundSerializer, batches: Iterable[pa.RecordBatch], target: Any) -> int:
    """``batches`` as one stream; how many messages."""
    target.write(_MAGIC)
    _write(target, bound.header())
    count = 0
    for count, rows in enumerate(batches, 1):  # noqa: B007
        _write(target, bound.serialize(rows))
    return count


def read_stream(serializer: Serializer, source: Any) -> Iterator[pa.RecordBatch]:
    """The batches of one stream. Raises EngineError if it is none, or ends early."""
    bound = serializer.open(_header(source))
    while (size := _length(source)) is not None:
        yield bound.deserialize(pa.py_buffer(_padded(source, size)).slice(0, size))


def copy_stream(source: Any, target: Any) -> int:
    """A stream from ``source`` to ``target`` as it is; how many messages. Memory: a megabyte."""
    header = _header(source)
    target.write(_MAGIC)
    _write(target, header)
    count = 0
    while (size := _length(source)) is not None:
        target.write(_LENGTH.pack(size))
        left = size + -size % 8
        while left:
            piece = _exactly(source, min(left, _COPIED_BYTES))
            target.write(piece)
            left -= len(piece)
        count += 1
    return count


def _write(target: Any, data: Any) -> None:
    size = len(data)
    target.write(_LENGTH.pack(size))
    target.write(data)
    target.write(bytes(-size % 8))


def _header(source: Any) -> bytes:
    if source.read(len(_MAGIC)) != _MAGIC:
        raise EngineError(
            "stream of internal rows",
            "does not begin with its header.",
            "Read it from its beginning.",
        )
    size = _length(source)
    if size is None:
        raise _early()
    return _padded(source, size)[:size]


def _length(source: Any) -> int | None:
    """None at the end of the stream."""
    found = source.read(_LENGTH.size)
    if not found:
        return None
    if len(found) < _LENGTH.size:
        raise _early()
    size: int = _LENGTH.unpack(found)[0]
    return size


def _padded(source: Any, size: int) -> bytes:
    return _exactly(source, size + -size % 8)


def _exactly(source: Any, size: int) -> bytes:
    found: bytes = source.read(size)
    if len(found) != size:
        raise _early()
    return found


def _early() -> EngineError:
    return EngineError(
        "stream of internal rows", "ends within a message.", "Write the whole stream again."
    )
