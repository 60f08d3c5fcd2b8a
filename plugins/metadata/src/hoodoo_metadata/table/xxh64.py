"""XXH64, the hash by which keys of the metadata table name columns and partitions.

Source: Hudi's ``HashID``, whose seed this is.
"""

from __future__ import annotations

import xxhash

# Java's int 0xdabadaba as a long.
SEED = 0xFFFFFFFFDABADABA


def xxh64(data: bytes, seed: int = SEED) -> bytes:
    """The hash of ``data``: 8 bytes, the most significant first."""
    return xxhash.xxh64_digest(data, seed)
