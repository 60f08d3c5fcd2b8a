"""A 64-bit hash of record keys, of whole arrays at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_LONGEST = 256
_SHORT = 64  # bytes
MANY = 1 << 19  # keys
_WEIGHTS = np.random.default_rng(0x600D00).integers(1, 1 << 63, _LONGEST, dtype=np.uint64) | 1


def key_hash(keys: pa.Array) -> npt.NDArray[np.uint64]:
    """A 64-bit hash of each string of ``keys`` (no nulls); the same on every machine.

    Multilinear over the bytes, then mixed (splitmix64). It is not Hudi's: it decides only which new
    file takes an insert, and that is written down by the file itself.
    """
    if isinstance(keys, pa.ChunkedArray):
        keys = keys.combine_chunks()
    count = len(keys)
    if not count:
        return np.empty(0, np.uint64)
    _, offsets_buffer, data_buffer = keys.buffers()
    width = np.int64 if pa.types.is_large_string(keys.type) else np.int32
    offsets = np.frombuffer(offsets_buffer, width)[keys.offset : keys.offset + count + 1]
    offsets = offsets.astype(np.int64)
    start, end = int(offsets[0]), int(offsets[-1])
    lengths = np.diff(offsets)
    total = lengths.astype(np.uint64) * _WEIGHTS[0]
    longest = int(lengths.max())
    if data_buffer is not None and 0 < longest <= _SHORT:
        _add_short(np.frombuffer(data_buffer, np.uint8), offsets[:-1], lengths, longest, total)
    elif data_buffer is not None and longest:
        data = np.frombuffer(data_buffer, np.uint8)[start:end].astype(np.uint64)
        place = np.arange(end - start) - np.repeat(offsets[:-1] - start, lengths)
        data = (data + 1) * _WEIGHTS[place % _LONGEST] + (place // _LONGEST).astype(np.uint64)
        filled = lengths > 0  # reduceat gives nonsense for empty runs
        total[filled] += np.add.reduceat(data, (offsets[:-1] - start)[filled])
    return _mix(total)


def _add_short(
    data: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    longest: int,
    total: npt.NDArray[np.uint64],
) -> None:
    """The same sums, byte by byte for all strings at once: a fifth of the time for strings of ten
    bytes."""
    order: Any = slice(None)
    if int(lengths.min()) < longest:
        # The longest first: those that have a byte at a place are then a prefix.
        order = np.argsort((longest - lengths).astype(np.uint16), kind="stable")
    starts, lengths, sums = starts[order], lengths[order], total[order]
    counts = np.searchsorted(-lengths, -np.arange(longest), side="left")
    for place, count in enumerate(counts.tolist()):
        value = data[starts[:count] + place].astype(np.uint64)
        value += np.uint64(1)
        value *= _WEIGHTS[place]
        sums[:count] += value
    total[order] = sums


def all_differ(keys: pa.ChunkedArray) -> bool:
    """Whether all ``keys`` are known to differ. Where two hashes are the same, and of dictionaries,
    nothing is known. Of :data:`MANY` keys a third of the time of a table of them, which no cache
    has room for."""
    if pa.types.is_dictionary(keys.type) or len(keys) < 2:
        return len(keys) < 2
    hashes = np.concatenate([key_hash(chunk) for chunk in keys.chunks])
    hashes.sort()
    return bool((hashes[1:] != hashes[:-1]).all())


def _mix(value: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    with np.errstate(over="ignore"):
        value = value + np.uint64(0x9E3779B97F4A7C15)
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
