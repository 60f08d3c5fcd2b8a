"""A Hilbert curve through both ends of a route at once: four coordinates, 16 bits each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
BITS = 16


def on_map(lat: npt.NDArray[np.float64], lon: npt.NDArray[np.float64]) -> tuple[Words, Words]:
    """Places of degrees on a map on which equal areas are equal (Lambert's), from 1 to 65535."""
    most = (1 << BITS) - 2
    x = (lon + 180) / 360
    y = (np.sin(np.radians(lat)) + 1) / 2
    across, up = (1 + np.clip(ratio, 0, 1) * most for ratio in (x, y))
    return across.astype(np.uint64), up.astype(np.uint64)


def along(axes: list[Words]) -> Words:
    """The place on the curve of each point (J. Skilling, "Programming the Hilbert curve", 2004)."""
    point = [axis.copy() for axis in axes]
    for level in range(BITS - 1, 0, -1):
        below = np.uint64((1 << level) - 1)
        for axis in point:
            upper = (axis >> np.uint64(level)) & np.uint64(1) == 1
            swapped = (point[0] ^ axis) & below
            point[0] ^= np.where(upper, below, swapped)
            if axis is not point[0]:
                axis ^= np.where(upper, np.uint64(0), swapped)
    for before, axis in zip(point, point[1:], strict=False):
        axis ^= before
    flips = np.zeros_like(point[0])
    for level in range(BITS - 1, 0, -1):
        upper = (point[-1] >> np.uint64(level)) & np.uint64(1) == 1
        flips ^= np.where(upper, np.uint64((1 << level) - 1), np.uint64(0))
    place = np.zeros_like(point[0])
    for level in range(BITS - 1, -1, -1):
        for axis in point:
            place = place << np.uint64(1) | ((axis ^ flips) >> np.uint64(level)) & np.uint64(1)
    return place
