"""Checksums of chunks, as HFiles have them: CRC32 is zlib's, CRC32C that of google-crc32c."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import google_crc32c

from hoodoo_metadata.hfile.format import Checksum


def checksums(kind: Checksum, chunks: Sequence[bytes | memoryview]) -> list[int]:
    """The checksum of each of ``chunks``; 0 of the kind NULL."""
    if kind is Checksum.NULL:
        return [0] * len(chunks)
    if kind is Checksum.CRC32:
        return [zlib.crc32(chunk) for chunk in chunks]
    return [google_crc32c.value(bytes(chunk)) for chunk in chunks]
