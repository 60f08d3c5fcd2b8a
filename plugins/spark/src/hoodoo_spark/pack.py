"""The packing end of a chain: declared batches -> packed rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen
from hoodoo.hookspecs.serializer import BoundSerializer
from hoodoo_rows.engine.crossing import Crossing
from hoodoo_rows.engine.runs import buffers, cut, routed

from hoodoo_spark.packed import Out

MESSAGE_BYTES = 4 << 20  # about the largest record batch that an exchange hands on


@frozen
class PackResult:
    """Packs for the driver: no parts, order kept."""

    bound: BoundSerializer
    piece: int
    route: int = 0

    def __call__(self, batches: Iterator[pa.RecordBatch], origin: int) -> Iterator[pa.RecordBatch]:
        out = Out(origin, self.piece)
        for buffer in buffers(batches, self.bound.schema):
            for rows in cut(buffer, MESSAGE_BYTES):
                yield from out.message(0, 0, None, self.bound.serialize(rows))
            if out.rows:
                yield out.flush()


@frozen
class PackRouted:
    """Packs for an exchange: each message has one part and one slot.

    ``routes[p]`` is what the column ``route`` holds for part p. Rows keep their order within a
    slot."""

    crossing: Crossing
    piece: int
    routes: npt.NDArray[np.int32]

    @property
    def route(self) -> int:
        return int(self.routes[0])

    def __call__(self, batches: Iterator[pa.RecordBatch], origin: int) -> Iterator[pa.RecordBatch]:
        out = Out(origin, self.piece)
        for buffer in buffers(batches, self.crossing.shape.flat_schema):
            flat, runs = routed(buffer, len(self.routes))
            rows = self.crossing.rows(flat)
            for part, slot, start, count in runs:
                for piece in cut(rows.slice(start, count), MESSAGE_BYTES):
                    message = pa.py_buffer(b"".join(self.crossing.pack(piece)))
                    yield from out.message(int(self.routes[part]), part, slot, message)
            # A message is never left half handed out: the next batch of input may raise.
            if out.rows:
                yield out.flush()
