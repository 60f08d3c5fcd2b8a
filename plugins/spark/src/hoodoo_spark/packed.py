"""Packed rows: the only thing that crosses the JVM between two steps.

One packed row is a piece of one Arrow IPC record batch message (without its schema, which the stream
declares), small enough that ten thousand of them fit in any Arrow batch that Spark builds. A message
holds rows of one (part, slot). Spark shuffles and sorts packed rows by their numbers and never looks
inside. Pieces rather than whole messages, because PySpark 3.5 cuts batches towards Python by number
of rows only: a part of a few hundred wide rows would pass 2 GiB in one batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pyarrow as pa
from attrs import define, field, frozen
from hoodoo.errors import HoodooError

DDL = (
    "route int, part int, slot int, origin int, seq int, kind tinyint, size int, rows int, "
    "payload binary"
)
SCHEMA = pa.schema(
    [
        ("route", pa.int32()),  # what Spark partitions by: see route.py
        ("part", pa.int32()),
        ("slot", pa.int32()),  # null: sorts before every slot
        ("origin", pa.int32()),  # the task that packed it; with seq, its place within the slot
        ("seq", pa.int32()),
        ("kind", pa.int8()),
        ("size", pa.int32()),  # bytes of the message when it is compressed, else 0
        ("rows", pa.int32()),
        ("payload", pa.binary()),
    ]
)
SORT = ("part", "slot", "origin", "seq")

# Kinds.
LAST = 0  # the last or only piece of a message
MORE = 1  # another piece of the same message follows
ERROR = 2  # a HoodooError as JSON
EMPTY = 3  # says that the part exists; every part of an exchange has one

OUT_BYTES = 4 << 20  # packed rows are handed to the JVM in batches of about this many bytes
COMPRESS_FROM = 1024  # bytes; below, lz4 saves nothing
CODEC = pa.Codec("lz4_raw")


class Arrived(Exception):
    """An error row of an earlier step was read; it is passed along as it came."""

    def __init__(self, payload: bytes) -> None:
        super().__init__(payload)
        self.payload = payload


def has_dictionary(kind: pa.DataType) -> bool:
    """Whether ``kind`` holds a dictionary at any depth: its message can't be read by itself."""
    if pa.types.is_dictionary(kind):
        return True
    if isinstance(kind, pa.BaseExtensionType):
        return has_dictionary(kind.storage_type)
    if pa.types.is_nested(kind):
        return any(has_dictionary(kind.field(i).type) for i in range(kind.num_fields))
    return False


@frozen
class Messages:
    """Record batches of one schema as bytes and back."""

    schema: pa.Schema
    compress: bool = True
    whole: bool = field(init=False)  # schema and dictionaries travel with each message

    @whole.default
    def _whole(self) -> bool:
        return any(has_dictionary(f.type) for f in self.schema)

    def encode(self, batch: pa.RecordBatch) -> tuple[int, pa.Buffer]:
        """(size, bytes): size is the number of bytes to inflate to, or 0."""
        if self.whole:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            raw = sink.getvalue()
        else:
            raw = batch.serialize()
        if self.compress and raw.size >= COMPRESS_FROM:
            packed = CODEC.compress(raw)
            if packed.size < raw.size * 7 // 8:
                return raw.size, packed
        return 0, raw

    def decode(self, size: int, data: pa.Buffer) -> pa.RecordBatch:
        raw = CODEC.decompress(data, size) if size else data
        if self.whole:
            return pa.ipc.open_stream(raw).read_next_batch()
        return pa.ipc.read_record_batch(raw, self.schema)


@define
class Out:
    """Collects packed rows of one task and hands them out in batches.

    ``piece`` is the largest payload in bytes, a multiple of 64, so that pieces stay aligned.
    """

    origin: int
    piece: int
    seq: int = 0
    bytes: int = 0
    rows: list[tuple[Any, ...]] = field(factory=list)
    data: list[Any] = field(factory=list)

    def message(
        self, route: int, part: int, slot: int | None, rows: int, size: int, data: pa.Buffer
    ) -> Iterator[pa.RecordBatch]:
        """Add one message; yields whenever enough has come together."""
        for at in range(0, max(data.size, 1), self.piece):
            chunk = data.slice(at, min(self.piece, data.size - at))
            kind = MORE if at + self.piece < data.size else LAST
            self._add(route, part, slot, kind, size, rows if kind == LAST else 0, chunk)
            if self.bytes >= OUT_BYTES:
                yield self.flush()

    def _add(
        self, route: int, part: int, slot: int | None, kind: int, size: int, rows: int, data: Any
    ) -> None:
        self.rows.append((route, part, slot, self.origin, self.seq, kind, size, rows))
        self.data.append(data)
        self.seq += 1
        self.bytes += len(data)

    def flush(self) -> pa.RecordBatch:
        """What has come together, as one batch."""
        columns: list[pa.Array] = [
            pa.array(values, f.type) for values, f in zip(zip(*self.rows, strict=True), SCHEMA)
        ]
        columns.append(_binary(self.data))
        self.rows, self.data, self.bytes = [], [], 0
        return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _binary(pieces: list[Any]) -> pa.Array:
    ends = [0]
    for piece in pieces:
        ends.append(ends[-1] + len(piece))
    offsets = pa.array(ends, pa.int32()).buffers()[1]
    return pa.Array.from_buffers(
        pa.binary(), len(pieces), [None, offsets, pa.py_buffer(b"".join(pieces))]
    )


def error_json(error: HoodooError) -> bytes:
    """The error as the payload of an error row, padded so that what follows stays aligned."""
    text = json.dumps(error.to_dict()).encode()
    return text + b" " * (-len(text) % 8)


def error_row(route: int, origin: int, payload: bytes) -> pa.RecordBatch:
    """The one row that says that task ``origin`` found something wrong. It goes to part 0, whose
    ``route`` is given."""
    row = (route, 0, None, origin, 0, ERROR, 0, 0, payload)
    return pa.RecordBatch.from_arrays(
        [pa.array([value], f.type) for value, f in zip(row, SCHEMA, strict=True)], schema=SCHEMA
    )


Row = tuple[int, int, int, int, pa.Buffer]  # part, origin, kind, size, payload


def rows_of(batches: Iterator[pa.RecordBatch]) -> Iterator[Row]:
    """The packed rows of batches that come from the JVM, columns found by position."""
    for batch in batches:
        part, origin, kind, size = (batch.column(i).to_pylist() for i in (1, 3, 5, 6))
        payload = batch.column(8)
        for i in range(batch.num_rows):
            yield part[i], origin[i], kind[i], size[i], payload[i].as_buffer()


def unpack(rows: Iterator[Row], messages: Messages) -> Iterator[pa.RecordBatch]:
    """The batches in ``rows``, which are sorted by SORT and of one part.

    Raises Arrived at the first error row.
    """
    held: list[pa.Buffer] = []
    held_from = -1
    for _, origin, kind, size, payload in rows:
        if kind == EMPTY:
            continue
        if kind == ERROR:
            raise Arrived(payload.to_pybytes())
        if held and origin != held_from:
            raise RuntimeError(f"pieces of task {held_from} end early")  # Spark runs it again
        held.append(payload)
        held_from = origin
        if kind == LAST:
            whole = held[0] if len(held) == 1 else pa.py_buffer(b"".join(held))
            held = []
            yield messages.decode(size, whole)
    if held:
        raise RuntimeError(f"pieces of task {held_from} end early")


def by_part(
    batches: Iterator[pa.RecordBatch], messages: Messages
) -> Iterator[tuple[int, Iterator[pa.RecordBatch]]]:
    """Each part with its batches, in order. A part's batches are read before the next part."""
    for part, rows in groupby(rows_of(batches), key=lambda row: row[0]):
        yield part, unpack(rows, messages)
