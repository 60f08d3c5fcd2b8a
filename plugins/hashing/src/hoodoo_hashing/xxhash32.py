"""XXH32 of whole arrays, with NumPy: texts of one length are hashed together.

Source: the specification of xxHash; Hudi hashes keys by it (``HashID.getXXHash32``, seed 0).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Words = npt.NDArray[np.uint32]
_P1, _P2, _P3, _P4, _P5 = (
    np.uint32(p) for p in (2654435761, 2246822519, 3266489917, 668265263, 374761393)
)
# Bytes of texts that are looked at at a time.
_AT_ONCE = 32 << 20


def xxhash32(texts: pa.StringArray) -> Words:
    """The hash of the UTF-8 bytes of each text; none is null."""
    count = len(texts)
    if not count:
        return np.zeros(0, np.uint32)
    buffers = texts.buffers()
    offsets = np.frombuffer(buffers[1], np.int32, count + 1, texts.offset * 4).astype(np.int64)
    data = np.frombuffer(buffers[2] or b"", np.uint8)
    lengths = np.diff(offsets)
    order = np.argsort(lengths, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(lengths[order])) + 1, count)
    hashes, begin = np.empty(count, np.uint32), 0
    for end in ends.tolist():
        length = int(lengths[order[begin]])
        step = max(1, _AT_ONCE // max(1, length))
        for start in range(begin, end, step):
            rows = order[start : min(end, start + step)]
            hashes[rows] = _alike(data, offsets[rows], length)
        begin = end
    return hashes


def _alike(data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], length: int) -> Words:
    """Of texts of ``length`` bytes."""
    whole = length // 4
    octets = data[starts[:, None] + np.arange(length)]
    words = np.ascontiguousarray(octets[:, : whole * 4]).view("<u4").astype(np.uint32, copy=False)
    with np.errstate(over="ignore"):
        hashes, at = _lanes(words) if length >= 16 else (np.full(len(starts), _P5), 0)
        hashes = hashes + np.uint32(length)
        for word in range(at, whole):
            hashes = _turned(hashes + words[:, word] * _P3, 17) * _P4
        for octet in range(whole * 4, length):
            hashes = _turned(hashes + octets[:, octet].astype(np.uint32) * _P5, 11) * _P1
        hashes = (hashes ^ (hashes >> np.uint32(15))) * _P2
        hashes = (hashes ^ (hashes >> np.uint32(13))) * _P3
        return hashes ^ (hashes >> np.uint32(16))


def _lanes(words: npt.NDArray[Any]) -> tuple[Words, int]:
    """What four words at a time make, and how many words that were."""
    zero = np.uint32(0)
    begin = (_P1 + _P2, _P2, zero, zero - _P1)
    lanes = [np.full(len(words), value, np.uint32) for value in begin]
    stripes = words.shape[1] // 4
    for stripe in range(stripes):
        for i in range(4):
            lanes[i] = _turned(lanes[i] + words[:, 4 * stripe + i] * _P2, 13) * _P1
    turned = (_turned(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True))
    return sum(turned, np.zeros(len(words), np.uint32)), 4 * stripes


def _turned(values: Words, by: int) -> Words:
    left, right = np.uint32(by), np.uint32(32 - by)
    turned: Words = (values << left) | (values >> right)
    return turned
