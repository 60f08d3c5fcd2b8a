"""The blocks of an HFile (HBase's format, version 3), read without hoodoo-metadata."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator

_MAGIC = (
    b"DATABLK*", b"DATABLKE", b"IDXLEAF2", b"IDXINTE2", b"IDXROOT2", b"METABLKc", b"FILEINF2",
    b"BLMFBLK2", b"BLMFMET2",
)  # fmt: skip
_BLOCK = re.compile(b"|".join(map(re.escape, _MAGIC)))
_HEADER = struct.Struct(
    ">8siiqBii"
)  # magic, stored, plain, block before, checksums: kind, of bytes, stored


def blocks(data: bytes) -> Iterator[bytes]:
    """The plain bytes of each block, wherever it begins: keys and values stand in them."""
    for match in _BLOCK.finditer(data):
        at = match.start()
        if len(data) - at < _HEADER.size:
            continue
        _, stored, plain, _, kind, _, on_disk = _HEADER.unpack_from(data, at)
        if not 0 <= stored <= len(data) - at or not 0 <= on_disk <= len(data) - at or kind > 2:
            continue  # a value that looks like a block
        content = data[at + _HEADER.size : at + on_disk]
        if len(content) == plain:
            yield content
            continue
        found = zlib.decompressobj(47).decompress(content)
        if len(found) != plain:
            raise ValueError(f"a block of {plain} bytes has {len(found)}")
        yield found
