"""XXH64, the hash by which keys of the metadata table name columns and partitions.

Source: the xxHash specification; the seed is that of Hudi's ``HashID`` (format page 6). For short strings,
of which there are few: plain Python.
"""

from __future__ import annotations

# Java's int 0xdabadaba as a long.
SEED = 0xFFFFFFFFDABADABA

_MASK = (1 << 64) - 1
_P1 = 0x9E3779B185EBCA87
_P2 = 0xC2B2AE3D27D4EB4F
_P3 = 0x165667B19E3779F9
_P4 = 0x85EBCA77C2B2AE63
_P5 = 0x27D4EB2F165667C5


def xxh64(data: bytes, seed: int = SEED) -> bytes:
    """The hash of ``data``: 8 bytes, the most significant first."""
    end, at = len(data), 0
    if end >= 32:
        lanes = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
        while at + 32 <= end:
            for lane in range(4):
                word = int.from_bytes(data[at : at + 8], "little")
                lanes[lane] = _round(lanes[lane] & _MASK, word)
                at += 8
        h = sum(_rotated(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            h = ((h ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        h = (seed + _P5) & _MASK
    h = (h + end) & _MASK
    while at + 8 <= end:
        h ^= _round(0, int.from_bytes(data[at : at + 8], "little"))
        h = (_rotated(h, 27) * _P1 + _P4) & _MASK
        at += 8
    if at + 4 <= end:
        h ^= (int.from_bytes(data[at : at + 4], "little") * _P1) & _MASK
        h = (_rotated(h, 23) * _P2 + _P3) & _MASK
        at += 4
    for byte in data[at:]:
        h ^= (byte * _P5) & _MASK
        h = (_rotated(h, 11) * _P1) & _MASK
    h = ((h ^ (h >> 33)) * _P2) & _MASK
    h = ((h ^ (h >> 29)) * _P3) & _MASK
    return (h ^ (h >> 32)).to_bytes(8, "big")


def _round(lane: int, word: int) -> int:
    return (_rotated((lane + word * _P2) & _MASK, 31) * _P1) & _MASK


def _rotated(value: int, by: int) -> int:
    return ((value << by) | (value >> (64 - by))) & _MASK
