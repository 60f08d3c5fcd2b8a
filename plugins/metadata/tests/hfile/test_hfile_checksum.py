"""Checksums of many chunks agree with the definition."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hoodoo_metadata.hfile.format import Checksum, checksums


def _by_bits(data: bytes) -> int:
    """CRC32C as it is defined."""
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


def test_crc32c_of_the_standard() -> None:
    # RFC 3720, B.4, and the usual check value.
    assert checksums(Checksum.CRC32C, [b"123456789", bytes(32), b"\xff" * 32]) == [
        0xE3069283,
        0x8A9136AA,
        0x62A8AB43,
    ]


@pytest.mark.parametrize(
    "sizes", [[0, 1, 2, 3], [255, 256, 257], [511, 512, 513, 1], [5000, 16, 0]]
)
def test_crc32c_of_chunks_of_any_length(sizes: list[int]) -> None:
    bits = np.random.default_rng(7)
    chunks = [bits.bytes(size) for size in sizes]
    assert checksums(Checksum.CRC32C, chunks) == [_by_bits(chunk) for chunk in chunks]


def test_crc32c_of_more_chunks_than_are_taken_at_once() -> None:
    chunk = np.random.default_rng(8).bytes(16384)
    several = [chunk] * 300 + [chunk[:700]]
    expected = checksums(Checksum.CRC32C, [chunk]) * 300 + [_by_bits(chunk[:700])]
    assert checksums(Checksum.CRC32C, several) == expected


def test_the_other_kinds() -> None:
    assert checksums(Checksum.NULL, [b"a", b"b"]) == [0, 0]
    assert checksums(Checksum.CRC32, [b"a"]) == [zlib.crc32(b"a")]
    assert checksums(Checksum.CRC32C, []) == []
