"""Z-order: the bits of all columns in turn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hoodoo_clustering.strategies.curve import Curve
from hoodoo_clustering.strategies.ranks import Words

_WORD = 64
_ONE = np.uint64(1)


class ZOrder(Curve):
    """Morton order."""

    @staticmethod
    def index(axes: Sequence[Words], bits: int) -> list[Words]:
        return interleaved(axes, bits)


def interleaved(axes: Sequence[Words], bits: int) -> list[Words]:
    """The highest bit of the first axis, of the second, and so on to the lowest of the last: one number of
    ``bits`` times ``len(axes)`` bits, in words of 64, the most significant first."""
    count = len(axes) * bits
    words = [np.zeros(len(axes[0]), np.uint64) for _ in range(-(-count // _WORD))]
    for place in range(count):  # from the lowest
        level, axis = divmod(place, len(axes))
        bit = (axes[-1 - axis] >> np.uint64(level)) & _ONE
        words[place // _WORD] |= bit << np.uint64(place % _WORD)
    return words[::-1]
