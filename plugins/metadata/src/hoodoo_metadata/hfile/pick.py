"""Pick: a few keys found in blocks by their bytes, without a walk over the entries of the blocks.

To know where entries begin takes a walk over all of them; to find some bytes is as fast as memory.
A key is stored with its length before it and bytes behind it that are the same for all: where
values can't hold that, what is found is the entry. Whoever reads values that can hold anything
walks."""

from __future__ import annotations

from collections.abc import Sequence

from hoodoo_metadata.hfile.blocks import Bytes
from hoodoo_metadata.hfile.format import KEY_BYTES, SUFFIX

_BEFORE = 8  # the lengths of key and value, before the length of the key's content
_AROUND = 2 + len(SUFFIX)


def pattern(key: bytes) -> bytes:
    """What an entry of ``key`` has in it."""
    return b"%b%b%b" % (len(key).to_bytes(2, "big"), key, SUFFIX)


def picked(block: Bytes, keys: Sequence[bytes]) -> list[tuple[bytes, bytes]] | None:
    """The entries of those of ``keys`` that ``block``, the plain bytes of a block, has. None where
    what was found is no entry, so that the block has to be walked."""
    data = block if isinstance(block, bytes) else bytes(block)
    first = 10 + int.from_bytes(data[8:10], "big")
    if (
        data[first : first + len(SUFFIX)] != SUFFIX
    ):  # another writer puts something else behind keys
        return None
    found = []
    for key in keys:
        at = data.find(pattern(key)) if len(key) <= KEY_BYTES else -1
        if at < 0:
            continue
        size = len(key) + _AROUND
        begin, stop = at + size, at - 4
        if at < _BEFORE or int.from_bytes(data[stop - 4 : stop], "big") != size:
            return None
        end = begin + int.from_bytes(data[stop:at], "big")
        if end >= len(data) or data[end]:  # one byte follows, the version: 0
            return None
        found.append((key, data[begin:end]))
    return found
