"""``java.lang.String.hashCode`` of whole arrays, with NumPy.

``h = 31 * h + c`` over the UTF-16 code units of a string, in 32 bits. The loop below runs over
character positions, not over rows: step p updates all strings longer than p at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Int32s = npt.NDArray[np.int32]
# Longer strings are hashed one by one, as sums of units times powers of 31: a step for each of
# their positions, however few strings are as long, takes a hundred times as long as that.
_LONG = 2048


def string_hash(values: pa.Array) -> Int32s:
    """The hash code of each string, or of each binary that is UTF-8 text; a null hashes to 0, as
    ``Objects.hashCode`` does."""
    if not len(values):
        return np.zeros(0, np.int32)
    if isinstance(values, pa.ChunkedArray):
        return np.concatenate([string_hash(c) for c in values.chunks])
    if pa.types.is_large_string(values.type) or pa.types.is_large_binary(values.type):
        values = values.cast(pa.binary())
    if values.null_count:
        values = values.fill_null("" if pa.types.is_string(values.type) else b"")
    units, ends = _code_units(values)
    starts = np.concatenate(([0], ends[:-1]))
    return units_hash(units, starts, ends - starts)


def units_hash(
    units: npt.NDArray[Any], starts: npt.NDArray[Any], lengths: npt.NDArray[Any]
) -> Int32s:
    """The hash codes of the strings of ``lengths`` that begin at ``starts`` among the code
    units."""
    if not len(starts):
        return np.zeros(0, np.int32)
    if (most := int(lengths.max())) > _LONG:
        powers = np.cumprod(np.r_[np.uint32(1), np.full(most - 1, 31, np.uint32)], dtype=np.uint32)
        found = units_hash(units, starts, np.where(lengths > _LONG, 0, lengths)).view(np.uint32)
        for at in np.flatnonzero(lengths > _LONG):
            row = units[starts[at] : starts[at] + lengths[at]].astype(np.uint32)
            found[at] = np.dot(row, powers[: len(row)][::-1])
        return found.view(np.int32)
    if (lengths == lengths[0]).all():
        hashes = np.zeros(len(starts), np.uint32)
        for position in range(int(lengths[0])):
            hashes *= np.uint32(31)
            hashes += units[starts + position]
        return hashes.view(np.int32)
    # Longest first: the strings that have a unit at position p are then a prefix.
    order = np.argsort(-lengths, kind="stable")
    starts, sorted_lengths = starts[order], lengths[order]
    hashes = np.zeros(len(starts), np.uint32)
    longer = np.searchsorted(-sorted_lengths, -np.arange(int(sorted_lengths[0])), side="left")
    for position, count in enumerate(longer.tolist()):
        active = hashes[:count]
        active *= np.uint32(31)
        active += units[starts[:count] + position]
    answer = np.empty_like(hashes)
    answer[order] = hashes
    signed: Int32s = answer.view(np.int32)
    return signed


def _code_units(values: pa.StringArray) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """All UTF-16 code units in a row, and where each string ends in them."""
    buffers = values.buffers()
    offsets = np.frombuffer(buffers[1], np.int32, len(values) + 1, values.offset * 4)
    data = np.frombuffer(buffers[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    ends = (offsets[1:] - offsets[0]).astype(np.int64)
    if not len(data) or data.max() < 0x80:
        return data, ends
    # A byte that starts a character is one unit, or two where the character has four bytes.
    width = ((data & 0xC0) != 0x80).astype(np.int64) + (data >= 0xF0)
    before = np.concatenate(([0], np.cumsum(width)))
    units = np.frombuffer(data.tobytes().decode("utf-8").encode("utf-16-le"), np.uint16)
    return units, before[ends]
