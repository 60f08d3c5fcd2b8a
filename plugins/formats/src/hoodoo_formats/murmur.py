"""The seeded murmur2 rounds behind Hudi's bloom filters, over whole string arrays.

A filter hashes one key many times, each round seeded with the result before. What depends on the
key alone is computed once per key and kept; a round is then a few uint32 operations. Keys go
through in blocks that fit the processor's cache, sorted by length, longest first: the k-th word of
a key exists for a prefix of the block only, so keys of all lengths share one block.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

UInt32s = npt.NDArray[np.uint32]
Indices = npt.NDArray[np.intp]

BLOCK = 16384
# Where so few keys of a block have so many more words than the others, each of these words would be
# calls of NumPy for a handful of numbers: their rest goes through Python's integers.
FEW, LONG = 32, 256
_M = np.uint32(0x5BD1E995)
_R24 = np.uint32(24)
# What each round uses, as arrays: NumPy needs a microsecond more to make one of a number.
_MANY, _BY_13, _BY_15 = np.array(_M), np.array(13, np.uint32), np.array(15, np.uint32)


class Rounds:
    """The state of one block of keys: call :meth:`next` for each round's positions.

    ``rows`` are the keys' places in the array that the block was cut from.
    """

    def __init__(
        self,
        rows: Indices,
        words: list[UInt32s],
        rest: list[list[int]],
        lengths: UInt32s,
        tails: UInt32s,
    ) -> None:
        self.rows = rows
        self._rest = rest  # of the first keys: the mixed words that follow these
        self._words = words  # word i of the first len(words[i]) keys, mixed
        self._lengths = lengths
        self._tails = tails
        # `h *= m` happens only where there is a tail; times one elsewhere keeps it one operation.
        self._last = np.where(lengths & np.uint32(3), _M, np.uint32(1)).astype(np.uint32)
        self._h = np.zeros(len(rows), np.uint32)
        self._shifted, self._positions = np.empty_like(self._h), np.empty_like(self._h)

    def next(self, size: int) -> UInt32s:
        """One more round: ``abs(int32(hash) rem size)`` of each key, valid until the next call."""
        shifted, positions = self._shifted, self._positions
        self._hash(self._h, self._h)
        # |h| % size: Java's remainder has the dividend's sign, so taking the absolute value first
        # changes nothing. NumPy divides by a scalar with SIMD, but takes remainders one by one.
        np.absolute(self._h.view(np.int32), out=positions.view(np.int32))
        np.floor_divide(positions, np.uint32(size), out=shifted)
        shifted *= np.uint32(size)
        positions -= shifted
        return positions

    def all(self, size: int, count: int) -> UInt32s:
        """The positions of the next ``count`` rounds at once, one round after the other, in memory
        of their own. For few keys: then each call of NumPy costs more than its work, and the
        remainders take one call for all rounds."""
        found = np.empty((count, len(self._h)), np.uint32)
        before = self._h
        for h in found:
            self._hash(before, h)
            before = h
        self._h[:] = before
        signed = found.view(np.int32)
        np.absolute(signed, out=signed)
        found %= np.uint32(size)
        return found.reshape(-1)

    def _hash(self, before: UInt32s, h: UInt32s) -> None:
        """One round from the hashes ``before`` into ``h``, which may be the same array."""
        shifted = self._shifted
        np.bitwise_xor(before, self._lengths, h)
        for word in self._words:
            head = h if len(word) == len(h) else h[: len(word)]
            np.multiply(head, _MANY, head)
            np.bitwise_xor(head, word, head)
        for at, rest in enumerate(self._rest):
            value = int(h[at])
            for more in rest:
                value = (value * 0x5BD1E995 & 0xFFFFFFFF) ^ more
            h[at] = value
        np.bitwise_xor(h, self._tails, h)
        np.multiply(h, self._last, h)
        np.right_shift(h, _BY_13, shifted)
        np.bitwise_xor(h, shifted, h)
        np.multiply(h, _MANY, h)
        np.right_shift(h, _BY_15, shifted)
        np.bitwise_xor(h, shifted, h)

    def keep(self, chosen: Indices) -> None:
        """Go on with the keys at the places ``chosen`` (ascending) of the block only."""
        self._words = [w[chosen[: np.searchsorted(chosen, len(w))]] for w in self._words]
        while self._words and not len(self._words[-1]):
            self._words.pop()
        self._rest = [self._rest[at] for at in chosen[: np.searchsorted(chosen, len(self._rest))]]
        self.rows, self._h = self.rows[chosen], self._h[chosen]
        self._lengths, self._tails = self._lengths[chosen], self._tails[chosen]
        self._last = self._last[chosen]
        self._shifted, self._positions = np.empty_like(self._h), np.empty_like(self._h)


def rounds(keys: pa.Array) -> Iterator[Rounds]:
    """Blocks over the non-null keys of a string or binary array (large, view and dictionary
    too)."""
    offsets, data = _buffers(keys)
    lengths = np.diff(offsets)
    rows = (
        np.arange(len(keys)) if not keys.null_count else np.flatnonzero(np.asarray(keys.is_valid()))
    )
    counts = lengths[rows] >> 2
    if len(rows) and counts.min() != counts.max():
        order = np.argsort((counts.max() - counts).astype(np.uint32), kind="stable")
        rows = rows[order]
    # Words are read where they lie, aligned or not: one gather per word.
    words = np.ndarray((max(len(data) - 3, 0),), "<u4", data, strides=(1,))
    for start in range(0, len(rows), BLOCK):
        part = rows[start : start + BLOCK]
        yield Rounds(part, *_mixed(words, data, offsets[part], lengths[part]))


def _buffers(keys: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    if keys.type not in (pa.string(), pa.binary(), pa.large_string(), pa.large_binary()):
        keys = keys.cast(pa.string())
    large = keys.type in (pa.large_string(), pa.large_binary())
    _, raw, content = keys.buffers()
    if not len(keys) or raw is None:
        return np.zeros(len(keys) + 1, np.int64), np.zeros(0, np.uint8)
    kind = np.int64 if large else np.int32
    found = np.frombuffer(raw, kind)[keys.offset : keys.offset + len(keys) + 1]
    data = np.zeros(0, np.uint8) if content is None else np.frombuffer(content, np.uint8)
    return found.astype(np.int64), data


def _mixed(
    words: UInt32s,
    data: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
) -> tuple[list[UInt32s], list[list[int]], UInt32s, UInt32s]:
    """Mixed words, lengths and tails of one block, whose keys have falling word counts."""
    counts = lengths >> 2
    common, longest = int(counts[FEW] if len(counts) > FEW else 0), int(counts[0])
    if longest <= common + LONG:
        common = longest
    falling = -counts
    mixed = [
        _mix(words[starts[: np.searchsorted(falling, -i)] + 4 * i].astype(np.uint32))
        for i in range(common)
    ]
    rest = [
        _mix(words[start + 4 * common : start + 4 * count : 4].astype(np.uint32)).tolist()
        for start, count in zip(starts[:FEW], counts[:FEW])
        if count > common
    ]
    # The tail is counted from the end of the key, and its bytes are sign-extended, not masked.
    tails = np.zeros(len(starts), np.uint32)
    left, signed, ends = lengths & 3, data.view(np.int8), starts + lengths
    for back in (1, 2, 3):
        has = np.flatnonzero(left >= back)
        byte = signed[ends[has] - back].astype(np.int32).view(np.uint32)
        tails[has] ^= byte << np.uint32(8 * (back - 1))
    return mixed, rest, lengths.astype(np.uint32), tails


def _mix(k: UInt32s) -> UInt32s:
    k *= _M
    k ^= k >> _R24
    k *= _M
    return k
