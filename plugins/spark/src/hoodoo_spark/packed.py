"""Packed rows: the only thing that crosses the JVM between two steps.

One packed row is a piece of one message of a serializer (whose schema the stream declares), small
enough that ten thousand of them fit in any Arrow batch that Spark builds. A message holds rows of
one (part, slot). Spark shuffles and sorts packed rows by their numbers and never looks inside.
Pieces rather than whole messages, because PySpark 3.5 cuts batches towards Python by number of rows
only: a part of a few hundred wide rows would pass 2 GiB in one batch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

import pyarrow as pa
from attrs import define, field
from hoodoo.errors import HoodooError

DDL = "route int, part int, slot int, origin int, seq int, kind tinyint, payload binary"
SCHEMA = pa.schema(
    [
        ("route", pa.int32()),  # what Spark partitions by: see route.py
        ("part", pa.int32()),
        ("slot", pa.int32()),  # null: sorts before every slot
        ("origin", pa.int32()),  # the task that packed it; with seq, its place within the slot
        ("seq", pa.int32()),
        ("kind", pa.int8()),
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


class Arrived(Exception):
    """An error row of an earlier step was read; it is passed along as it came."""

    def __init__(self, payload: bytes) -> None:
        super().__init__(payload)
        self.payload = payload


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
        self, route: int, part: int, slot: int | None, data: pa.Buffer
    ) -> Iterator[pa.RecordBatch]:
        """Add one message; yields whenever enough has come together."""
        whole = pa.py_buffer(data)  # a serializer may answer bytes
        for at in range(0, max(whole.size, 1), self.piece):
            chunk = whole.slice(at, min(self.piece, whole.size - at))
            kind = MORE if at + self.piece < whole.size else LAST
            self._add(route, part, slot, kind, chunk)
            if self.bytes >= OUT_BYTES:
                yield self.flush()

    def _add(self, route: int, part: int, slot: int | None, kind: int, data: Any) -> None:
        self.rows.append((route, part, slot, self.origin, self.seq, kind))
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
    row = (route, 0, None, origin, 0, ERROR, payload)
    return pa.RecordBatch.from_arrays(
        [pa.array([value], f.type) for value, f in zip(row, SCHEMA, strict=True)], schema=SCHEMA
    )


Row = tuple[int, int, int, int, pa.Buffer]  # part, slot, origin, kind, payload
# A whole message, its part and its slot -> its rows.
Decode = Callable[[pa.Buffer, int, int], pa.RecordBatch]


def rows_of(batches: Iterator[pa.RecordBatch]) -> Iterator[Row]:
    """The packed rows of batches that come from the JVM, columns found by position."""
    for batch in batches:
        part, slot, origin, kind = (batch.column(i).to_pylist() for i in (1, 2, 3, 5))
        payload = batch.column(6)
        for i in range(batch.num_rows):
            yield part[i], slot[i], origin[i], kind[i], payload[i].as_buffer()


def unpack(rows: Iterator[Row], decode: Decode) -> Iterator[pa.RecordBatch]:
    """The batches in ``rows``, which are sorted by SORT and of one part.

    Raises Arrived at the first error row.
    """
    held: list[pa.Buffer] = []
    held_from = -1
    for part, slot, origin, kind, payload in rows:
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
            yield decode(whole, part, slot)
    if held:
        raise RuntimeError(f"pieces of task {held_from} end early")


def by_part(
    batches: Iterator[pa.RecordBatch], decode: Decode
) -> Iterator[tuple[int, Iterator[pa.RecordBatch]]]:
    """Each part with its batches, in order. A part's batches are read before the next part."""
    for part, rows in groupby(rows_of(batches), key=lambda row: row[0]):
        yield part, unpack(rows, decode)
