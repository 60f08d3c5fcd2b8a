"""Keys compared by eight of their bytes, as one number each.

The order of these numbers is coarser than that of the keys, never another: bytes behind a key's end
count as zeros. So what is found by them is a superset, and is compared in full.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hoodoo_metadata.hfile.entry_offsets import PAD, Places, view

Heads = npt.NDArray[np.uint64]


def heads(data: bytes | bytearray, starts: Places, sizes: Places, skipped: int) -> Heads:
    """Of the keys at ``starts`` of ``data``, which has PAD more bytes: eight after ``skipped``."""
    at = starts if not skipped else np.minimum(starts + skipped, len(data) - PAD)
    found = view(data, ">u8")[at].astype(np.uint64)
    left = sizes - skipped
    if len(left) and left.min() < 8:
        unused = 8 - np.clip(left, 0, 8)
        # A shift by 64 is none.
        found = np.where(unused == 8, 0, found >> (unused * 8 % 64).astype(np.uint64))
        found = found << (unused * 8 % 64).astype(np.uint64)
    return found


class Keys:
    """Keys that are looked up: binary, distinct, in the order of their heads."""

    def __init__(self, keys: pa.Array, skipped: int) -> None:
        """``skipped`` bytes are thought to be equal in most of them."""
        data, offsets = _parts(keys)
        order = np.argsort(heads(data, offsets[:-1], np.diff(offsets), skipped))
        self.keys = keys.take(pa.array(order))
        self._data, self._offsets = _parts(self.keys)
        self._skipped = skipped
        self._heads = self.heads(0, len(keys), skipped)

    def heads(self, start: int, stop: int, skipped: int) -> Heads:
        """Of some of them."""
        offsets = self._offsets[start : stop + 1]
        return heads(self._data, offsets[:-1], np.diff(offsets), skipped)

    def between(self, first: bytes, last: bytes) -> tuple[int, int]:
        """The range of those that may lie between two keys, which are included."""
        ends = [head_of(key, self._skipped) for key in (first, last)]
        low = int(np.searchsorted(self._heads, ends[0], "left"))
        return low, int(np.searchsorted(self._heads, ends[1], "right"))


def head_of(key: bytes, skipped: int) -> np.uint64:
    """The same of one key."""
    return np.uint64(int.from_bytes(key[skipped : skipped + 8].ljust(8, b"\0"), "big"))


def shared(first: bytes, last: bytes) -> int:
    """How many bytes two keys begin with in common, and so all keys between them."""
    size = min(len(first), len(last))
    return next((i for i in range(size) if first[i] != last[i]), size)


def _parts(keys: pa.Array) -> tuple[bytes, Places]:
    """Bytes, padded, and offsets in them."""
    offsets = np.frombuffer(keys.buffers()[1], np.int32)[keys.offset :][: len(keys) + 1]
    data = keys.buffers()[2]
    inside = b"" if data is None else memoryview(data)[offsets[0] : offsets[-1]]
    return b"".join([inside, bytes(PAD)]), offsets.astype(np.int64) - offsets[0]
