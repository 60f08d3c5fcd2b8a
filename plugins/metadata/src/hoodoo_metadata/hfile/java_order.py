"""Java's order of keys: Hudi 1 sorts them as Java's strings, and its own writer of HFiles does not
look at their order.

As Java's strings, characters past U+FFFF (emoji, say) come before U+E000 to U+FFFF; as bytes,
behind them. Keys without any of these are where both orders have them, and are found as ever; the
others are looked for in all blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import le

import numpy as np
import numpy.typing as npt
import pyarrow as pa

# The first bytes, in UTF-8, of U+E000 to U+FFFF and of what is past them. No other byte is as high.
_MOVED, _PAST = 0xEE, 0xF0


def in_java_order(keys: Sequence[bytes]) -> bool:
    """Whether ``keys`` ascend as Java's strings do."""
    try:
        units = [key.decode().encode("utf-16-be") for key in keys]
    except UnicodeDecodeError:
        return False
    return all(map(le, units, units[1:]))


def in_byte_order(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same entries, first column ``key``, ascending as bytes, of ``batches`` that ascend as
    bytes or as Java's strings do. What keys without such characters are between is the same in both
    orders; so only keys from one with a character past U+FFFF on, up to the next without any, are
    held in memory and sorted."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        past = _has(batch, _PAST)
        if not held and not past.any():
            yield batch
            continue
        plain, at = ~_has(batch, _MOVED), 0
        while at < batch.num_rows:
            stop = _first(plain if held else past, at)
            part = batch.slice(at, stop - at)
            if held:
                held.append(part)
                if stop < batch.num_rows:
                    yield from _sorted(held)
                    held = []
            else:
                if part.num_rows:
                    yield part
                if stop < batch.num_rows:
                    held, stop = [batch.slice(stop, 1)], stop + 1
            at = stop
    yield from _sorted(held)


def _has(batch: pa.RecordBatch, byte: int) -> npt.NDArray[np.bool_]:
    """Which keys have a byte that is at least ``byte``."""
    keys = batch.column(0)
    _valid, places, data = keys.buffers()
    ends = np.frombuffer(places, np.int32)[keys.offset : keys.offset + len(keys) + 1]
    if not len(keys) or data is None:
        return np.zeros(len(keys), np.bool_)
    high = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]] >= byte
    if not high.any():
        return np.zeros(len(keys), np.bool_)
    before = np.concatenate(([0], np.cumsum(high)))[ends - ends[0]]
    found: npt.NDArray[np.bool_] = before[1:] > before[:-1]
    return found


def _first(rows: npt.NDArray[np.bool_], at: int) -> int:
    """The first of ``rows`` that is true from ``at`` on; their number if none is."""
    found = np.flatnonzero(rows[at:])
    return at + int(found[0]) if len(found) else len(rows)


def _sorted(held: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    if held:
        yield from pa.Table.from_batches(held).sort_by("key").combine_chunks().to_batches()
