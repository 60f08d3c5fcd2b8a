"""Z-order: the bits of all columns in turn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from hoodoo_clustering.strategies.curve import Curve
from hoodoo_clustering.strategies.ranks import Words

_WORD = 64
_ONE = np.uint64(1)
# Bits of a coordinate whose places are looked up, instead of computed one by one: a table of 512
# KiB.
_LOOKED_UP = 16


class ZOrder(Curve):
    """Morton order."""

    @staticmethod
    def index(axes: Sequence[Words], bits: int) -> list[Words]:
        return interleaved(axes, bits)


def interleaved(axes: Sequence[Words], bits: int) -> list[Words]:
    """The highest bit of the first axis, of the second, and so on to the lowest of the last: one
    number of ``bits`` times ``len(axes)`` bits, in words of 64, the most significant first."""
    count = len(axes) * bits
    if count <= _WORD and bits <= _LOOKED_UP:
        spread = _spread(bits, len(axes))
        found = np.zeros(len(axes[0]), np.uint64)
        for numbers in axes:
            found <<= _ONE
            found |= spread[numbers]
        return [found]
    words = [np.zeros(len(axes[0]), np.uint64) for _ in range(-(-count // _WORD))]
    for place in range(count):  # from the lowest
        level, axis = divmod(place, len(axes))
        bit = (axes[-1 - axis] >> np.uint64(level)) & _ONE
        words[place // _WORD] |= bit << np.uint64(place % _WORD)
    return words[::-1]


@lru_cache(maxsize=8)
def _spread(bits: int, apart: int) -> Words:
    """Of each number of ``bits`` bits the word that has them ``apart``, the lowest at its end."""
    numbers = np.arange(1 << bits, dtype=np.uint64)
    words = np.zeros(1 << bits, np.uint64)
    for level in range(bits):
        words |= (numbers >> np.uint64(level) & _ONE) << np.uint64(level * apart)
    words.flags.writeable = False  # all tasks of a process share it
    return words
