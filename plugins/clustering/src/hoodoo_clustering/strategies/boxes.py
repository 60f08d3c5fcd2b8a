"""Boxes: the values that slices hold in some columns, as ranks, and which of them overlap.

Values of any type become the places that they have among all ends of a column, so that all comparing is
NumPy's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from hoodoo_clustering.hookspecs.clustering import Clusterable

Mask = npt.NDArray[np.bool_]


@frozen(eq=False)
class Boxes:
    """``low`` and ``high``: ranks, one row for each column, in it one for each slice."""

    low: npt.NDArray[np.int64]
    high: npt.NDArray[np.int64]

    @classmethod
    def of(cls, slices: Sequence[Clusterable], columns: Sequence[str]) -> Boxes:
        """Of slices whose bounds of all ``columns`` are known."""
        shape = (len(columns), len(slices))
        low, high = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for at, column in enumerate(columns):
            ends: list[Any] = [item.bounds[column] for item in slices]
            rank = {value: n for n, value in enumerate(sorted({v for e in ends for v in e}))}
            low[at] = [rank[first] for first, _ in ends]
            high[at] = [rank[last] for _, last in ends]
        return cls(low, high)

    def overlapping(self, one: int) -> Mask:
        """The boxes that share values with ``one``, itself among them: they meet in every column, and in one
        of them at more than an end. Neighbours of one order that end and begin with the same value
        don't overlap, or what was ordered once would be ordered again forever."""
        meet = np.ones(self.low.shape[1], bool)
        more = np.zeros_like(meet)
        for low, high in zip(self.low, self.high, strict=True):
            first, last = low[one], high[one]
            meet &= (low <= last) & (high >= first)
            more |= (low < last) & (high > first)
            if first == last:
                more |= (low == first) & (high == last)
        return meet & more

    def components(self) -> list[list[int]]:
        """Boxes that hang together, by the numbers of their slices: each overlaps with another one of its
        component. The component of the first slice comes first."""
        count = self.low.shape[1]
        left = np.ones(count, bool)
        found = []
        for first in range(count):
            if not left[first]:
                continue
            left[first] = False
            component, waiting = [first], [first]
            while waiting:
                near = np.flatnonzero(self.overlapping(waiting.pop()) & left)
                left[near] = False
                component += near.tolist()
                waiting += near.tolist()
            found.append(sorted(component))
        return found

    def meetings(self) -> int:
        """How many pairs overlap."""
        count = self.low.shape[1]
        return sum(int(self.overlapping(one)[one + 1 :].sum()) for one in range(count))
