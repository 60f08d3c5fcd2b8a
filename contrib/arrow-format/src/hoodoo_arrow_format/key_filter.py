"""Which keys a file may have: a bloom filter of 64-bit hashes, stored as text beside the ranges."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import Factory, define, frozen
from hoodoo_rows.model.key_hash import key_hash

FILTER = "hoodoo_arrow_format.keys"
# Bits for each key, and bits that a key sets: one key in 100,000 is let through by chance.
_BITS, _HASHES = 24, 16
_LONGEST = 1 << 27  # bits; more keys than that are for let more through


def _places(hashes: npt.NDArray[np.uint64], number: int, size: int) -> npt.NDArray[np.int64]:
    """Where each key has its bit of this ``number``: two halves of a hash make many."""
    low, high = hashes & np.uint64(0xFFFFFFFF), hashes >> np.uint64(32) | np.uint64(1)
    return ((low + np.uint64(number) * high) % np.uint64(size)).astype(np.int64)


@frozen(eq=False)
class KeyFilter:
    """Implements :class:`hoodoo.hookspecs.file_format.MembershipFilter`."""

    bits: npt.NDArray[np.uint8]

    @classmethod
    def read(cls, texts: Mapping[str, str]) -> KeyFilter | None:
        if FILTER not in texts:
            return None
        return cls(np.frombuffer(base64.b64decode(texts[FILTER]), np.uint8))

    def might_contain(self, keys: pa.Array | pa.ChunkedArray) -> pa.BooleanArray:
        hashes, found = key_hash(keys), np.ones(len(keys), bool)
        for number in range(_HASHES):
            at = _places(hashes, number, len(self.bits) * 8)
            found &= (self.bits[at >> 3] >> (at & 7).astype(np.uint8) & 1).astype(bool)
        return pa.array(found)


@define
class Keys:
    """Of the rows of a file, as far as they have come: eight bytes of each."""

    _hashes: list[npt.NDArray[np.uint64]] = Factory(list)
    _rows: int = 0

    def add(self, keys: pa.Array) -> None:
        keys = keys.drop_null()
        self._hashes.append(key_hash(keys))
        self._rows += len(keys)

    @property
    def text_bytes(self) -> int:
        """About the length of what :meth:`texts` adds."""
        return self._size // 6

    @property
    def _size(self) -> int:
        return min(max(self._rows * _BITS, 64) + 7 & ~7, _LONGEST)

    def texts(self) -> dict[str, str]:
        """What is stored; nothing where no key is."""
        if not self._rows:
            return {}
        hashes, bits = np.concatenate(self._hashes), np.zeros(self._size, bool)
        for number in range(_HASHES):
            bits[_places(hashes, number, len(bits))] = True
        packed = np.packbits(bits, bitorder="little")
        return {FILTER: base64.b64encode(packed.tobytes()).decode("ascii")}
