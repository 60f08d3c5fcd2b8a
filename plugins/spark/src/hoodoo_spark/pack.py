"""The packing end of a chain: declared batches -> packed rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen
from hoodoo.errors import EngineError
from hoodoo.hookspecs.engine import PART, SLOT

from hoodoo_spark.packed import Messages, Out

BUFFER_BYTES = 32 << 20  # rows held back by one task to be sorted and cut
MESSAGE_BYTES = 4 << 20  # about the largest record batch that an exchange hands on
_SLOT_LOW = np.iinfo(np.int32).min


@frozen
class PackResult:
    """Packs for the driver: no parts, order kept."""

    messages: Messages
    piece: int
    route: int = 0

    def __call__(self, batches: Iterator[pa.RecordBatch], origin: int) -> Iterator[pa.RecordBatch]:
        out = Out(origin, self.piece)
        for buffer in buffers(batches, self.messages.schema):
            for rows in cut(buffer):
                size, data = self.messages.encode(rows)
                yield from out.message(0, 0, None, rows.num_rows, size, data)
            if out.rows:
                yield out.flush()


@frozen
class PackRouted:
    """Packs for an exchange: each message has one part and one slot.

    ``routes[p]`` is what the column ``route`` holds for part p. Rows keep their order within a slot.
    """

    messages: Messages
    piece: int
    routes: npt.NDArray[np.int32]

    @property
    def route(self) -> int:
        return int(self.routes[0])

    def __call__(self, batches: Iterator[pa.RecordBatch], origin: int) -> Iterator[pa.RecordBatch]:
        out = Out(origin, self.piece)
        for buffer in buffers(batches, self.messages.schema):
            for part, slot, run in self._runs(buffer):
                for rows in cut(run):
                    size, data = self.messages.encode(rows)
                    route = int(self.routes[part])
                    yield from out.message(route, part, slot, rows.num_rows, size, data)
            # A message is never left half handed out: the next batch of input may raise.
            if out.rows:
                yield out.flush()

    def _runs(self, rows: pa.RecordBatch) -> Iterator[tuple[int, int, pa.RecordBatch]]:
        part, slot = _numbers(rows, PART), _numbers(rows, SLOT)
        low, high = int(part.min()), int(part.max())
        if low < 0 or high >= len(self.routes):
            raise EngineError(
                f"part {low if low < 0 else high}",
                f"is not one of the {len(self.routes)} parts of the exchange.",
                "The step before the exchange computes __part from a plan of another size.",
            )
        key = (part << 32) + (slot - _SLOT_LOW)
        steps = np.diff(key)
        if (steps < 0).any():
            order = np.argsort(key, kind="stable")
            rows, key = rows.take(pa.array(order)), key[order]
            steps = np.diff(key)
        starts = [0, *(np.flatnonzero(steps) + 1).tolist(), rows.num_rows]
        for start, stop in zip(starts, starts[1:]):
            value = int(key[start])
            found = rows.slice(start, stop - start)
            yield value >> 32, (value & 0xFFFFFFFF) + _SLOT_LOW, found


def _numbers(rows: pa.RecordBatch, name: str) -> npt.NDArray[np.int64]:
    column = rows.column(name)
    if column.null_count:
        raise EngineError(
            f"column {name}",
            "has nulls before an exchange.",
            "The step before it gives every row a part and a slot.",
        )
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.int64)


def buffers(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of ``batches`` in batches of about BUFFER_BYTES; none is empty."""
    held: list[pa.RecordBatch] = []
    held_bytes = 0
    for batch in batches:
        for rows in cut(batch, BUFFER_BYTES):
            held.append(rows)
            held_bytes += rows.nbytes
            if held_bytes >= BUFFER_BYTES:
                yield from _joined(held, schema)
                held, held_bytes = [], 0
    if held:
        yield from _joined(held, schema)


def _joined(batches: list[pa.RecordBatch], schema: pa.Schema) -> list[pa.RecordBatch]:
    if len(batches) == 1:
        return batches
    table = pa.Table.from_batches(batches, schema).unify_dictionaries().combine_chunks()
    found: list[pa.RecordBatch] = table.to_batches()
    return found


def cut(rows: pa.RecordBatch, limit: int = MESSAGE_BYTES) -> Iterator[pa.RecordBatch]:
    """``rows`` in slices of about ``limit`` bytes, by the average row; none for an empty batch."""
    if not rows.num_rows:
        return
    step = max(1, rows.num_rows * limit // max(rows.nbytes, 1))
    for start in range(0, rows.num_rows, step):
        yield rows.slice(start, step)
