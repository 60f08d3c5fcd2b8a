"""Hilbert's curve: neighbours on it are neighbours in space, so that no file reaches across a jump.

After J. Skilling, "Programming the Hilbert curve" (AIP Conference Proceedings 707, 2004):
coordinates are turned, level by level, into the frame that the curve has inside its cell; bits in
turn then are the index."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hoodoo_clustering.strategies.curve import Curve
from hoodoo_clustering.strategies.ranks import Words
from hoodoo_clustering.strategies.zorder import interleaved


class Hilbert(Curve):
    """Hilbert's order."""

    @staticmethod
    def index(axes: Sequence[Words], bits: int) -> list[Words]:
        return interleaved(turned(axes, bits), bits)


def turned(axes: Sequence[Words], bits: int) -> list[Words]:
    """Coordinates whose interleaved bits are the place on the curve."""
    found = [axis.copy() for axis in axes]
    first = found[0]
    for level in range(bits - 1, 0, -1):
        lower = np.uint64((1 << level) - 1)
        for axis in found:
            inside = _ones(axis, level)
            first ^= lower & inside  # in the upper half: the frame is mirrored
            swap = (first ^ axis) & lower & ~inside  # in the lower half: two axes change places
            first ^= swap
            if axis is not first:
                axis ^= swap
    return _gray(found, bits)


def _gray(axes: list[Words], bits: int) -> list[Words]:
    """From the cells' corners, which differ by one step each, to their numbers."""
    for before, axis in zip(axes, axes[1:], strict=False):
        axis ^= before
    flips = np.zeros_like(axes[-1])
    for level in range(bits - 1, 0, -1):
        flips ^= _ones(axes[-1], level) & np.uint64((1 << level) - 1)
    for axis in axes:
        axis ^= flips
    return axes


def _ones(axis: Words, level: int) -> Words:
    """All bits where the bit of this level is set, else none."""
    return np.uint64(0) - ((axis >> np.uint64(level)) & np.uint64(1))
