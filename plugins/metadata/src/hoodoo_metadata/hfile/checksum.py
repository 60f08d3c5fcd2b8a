"""Checksums of many chunks at once.

CRC32 is zlib's. CRC32C has no function in what Hoodoo needs, so it is computed here, without a loop
over bytes: a checksum is linear, so a chunk is cut into pieces of 256 bytes, all pieces of all chunks are
taken through in steps of two bytes with a table of 65,536, and neighbours are joined, pair by pair.
Zeros in front of a piece change nothing while the state is 0, so that all pieces are equally long.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hoodoo_metadata.hfile.format import Checksum

_POLYNOMIAL = 0x82F63B78  # Castagnoli, reflected
_PIECE = 256
_AT_ONCE = 1 << 22  # bytes of a matrix of pieces, so that it stays in the processor's cache
Words = npt.NDArray[np.uint32]


def checksums(kind: Checksum, chunks: Sequence[bytes | memoryview]) -> list[int]:
    """The checksum of each of ``chunks``."""
    if kind is Checksum.NULL:
        return [0] * len(chunks)
    if kind is Checksum.CRC32:
        return [zlib.crc32(chunk) for chunk in chunks]
    if not chunks:
        return []
    longest = max(len(chunk) for chunk in chunks)
    pieces = 1 << max(0, (longest - 1) // _PIECE).bit_length()
    rows = max(1, _AT_ONCE // (pieces * _PIECE))
    found: list[int] = []
    for start in range(0, len(chunks), rows):
        found += _crc32c(chunks[start : start + rows], pieces)
    return found


def _crc32c(chunks: Sequence[bytes | memoryview], pieces: int) -> list[int]:
    width = pieces * _PIECE
    laid = np.zeros((len(chunks), width), np.uint8)
    for row, chunk in zip(laid, chunks):
        if len(chunk):
            row[width - len(chunk) :] = np.frombuffer(chunk, np.uint8)
    # One column for each two bytes of a piece, so that a step reads what lies beside each other.
    halves = np.ascontiguousarray(laid.view("<u2").reshape(-1, _PIECE // 2).T)
    table = _table()
    state = table.take(halves[0])
    index, step = np.empty(len(state), np.int64), np.empty_like(state)
    for column in halves[1:]:
        np.bitwise_xor(state & np.uint32(0xFFFF), column, out=index)
        # Indexes are in range; "wrap" spares the copy that the check of them would make.
        table.take(index, out=step, mode="wrap")
        state >>= np.uint32(16)
        state ^= step
    span = _PIECE
    while pieces > 1:
        pairs = state.reshape(-1, 2)
        state = _shifted(pairs[:, 0], span) ^ pairs[:, 1]
        span, pieces = 2 * span, pieces // 2
    return [int(v) ^ _begun(len(chunk)) for v, chunk in zip(state, chunks)]


@lru_cache(maxsize=1)
def _table() -> Words:
    """What two bytes make of a state of 0."""
    found = np.arange(1 << 16, dtype=np.uint32)
    for _ in range(16):
        odd = (found & np.uint32(1)).astype(bool)
        found = (found >> np.uint32(1)) ^ np.where(odd, np.uint32(_POLYNOMIAL), np.uint32(0))
    return found


@lru_cache(maxsize=32)
def _operator(span: int) -> Words:
    """What ``span`` zero bytes make of a state: tables for its upper and its lower half.

    ``span`` is a power of two.
    """
    whole = np.zeros((2, 1 << 16), np.uint32)
    if span == 1:
        values = np.arange(1 << 16, dtype=np.uint32)
        for half, shift in ((0, 0), (1, 16)):
            state = values << np.uint32(shift)
            low = state & np.uint32(0xFF)
            # One byte's step, by the table for two with a zero byte in front.
            whole[half] = _table()[low << np.uint32(8)] ^ (state >> np.uint32(8))
        return whole
    for half in (0, 1):
        whole[half] = _apply(_operator(span // 2), _operator(span // 2)[half])
    return whole


def _apply(operator: Words, state: Words) -> Words:
    found: Words = operator[0][state & np.uint32(0xFFFF)] ^ operator[1][state >> np.uint32(16)]
    return found


def _shifted(state: Words, span: int) -> Words:
    return _apply(_operator(span), state)


@lru_cache(maxsize=4096)
def _begun(size: int) -> int:
    """What the state that a checksum begins with is after ``size`` bytes, and its last inversion."""
    state = np.array([0xFFFFFFFF], np.uint32)
    bit = 0
    while size >> bit:
        if size >> bit & 1:
            state = _shifted(state, 1 << bit)
        bit += 1
    return int(state[0]) ^ 0xFFFFFFFF
