"""What the footer of a base file says of keys, asked as the bloom index does."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo_formats.bloom import BloomFilter
from hoodoo_formats.record_keys import key_filter, key_range


@frozen(eq=False)
class KeyFilter:
    """Which keys a base file may hold, by the range and the filter of its keys, where it has them."""

    range: tuple[str, str] | None = None
    filter: BloomFilter | None = None

    @staticmethod
    def from_footer(footer: Mapping[str, str], obj: str = "base file") -> KeyFilter:
        """Raises CorruptTableError naming ``obj`` for a filter that can't be read."""
        return KeyFilter(key_range(footer), key_filter(footer, obj))

    def might_contain(self, keys: pa.Array) -> pa.BooleanArray:
        """False where the file certainly lacks the key. ``keys``: strings without nulls."""
        inside = self._in_range(keys)
        if self.filter is None or not inside.any():
            return pa.array(inside)
        places = np.flatnonzero(inside)
        asked = keys if len(places) == len(keys) else keys.take(pa.array(places))
        inside[places] = self.filter.might_contain(asked).to_numpy(zero_copy_only=False)
        return pa.array(inside)

    def _in_range(self, keys: pa.Array) -> npt.NDArray[np.bool_]:
        # Hudi's two writers compare in different orders (Java's and the bytes'), which disagree on
        # rare characters only: with those in play, the range says nothing.
        ends = self.range or ()
        if not ends or any(_is_rare(end.encode()) for end in ends) or _any_rare(keys):
            return np.ones(len(keys), bool)
        low, high = ends
        inside = pc.and_(pc.greater_equal(keys, low), pc.less_equal(keys, high))
        return np.array(pc.fill_null(inside, False), bool)


def _is_rare(key: bytes) -> bool:
    return bool(key) and max(key) >= 0xEE


def _any_rare(keys: pa.Array) -> bool:
    return any(_is_rare(key.encode()) for key in keys.to_pylist())
