"""Boxes: the values that slices hold in some columns, as ranks, and which of them overlap.

Values of any type become the places that they have among all ends of a column, so that all
comparing is NumPy's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from hoodoo_clustering.hookspecs.clustering import Clusterable

Mask = npt.NDArray[np.bool_]
Ranks = npt.NDArray[np.int64]
Places = npt.NDArray[np.int64]
# Pairs of boxes that are compared at once.
_PAIRS = 1 << 18


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
        """The boxes that share values with ``one``, itself among them: they meet in every column,
        and in one of them at more than an end. Neighbours of one order that end and begin with the
        same value don't overlap, or what was ordered once would be ordered again forever."""
        return _meet(self.low, self.high, self.low[:, [one]], self.high[:, [one]])

    def components(self) -> list[list[int]]:
        """Boxes that hang together, by the numbers of their slices: each overlaps with another one
        of its component. The component of the first slice comes first."""
        count = self.low.shape[1]
        if not count:
            return []
        owner = self._of_intervals() if len(self.low) == 1 else self._of_boxes()
        # Numbered by their first slices, in whose order they come.
        first = np.full(count, count, np.int64)
        np.minimum.at(first, owner, np.arange(count))
        owner = first[owner]
        by_owner = np.argsort(owner, kind="stable")
        ends = np.flatnonzero(np.diff(owner[by_owner])) + 1
        return [part.tolist() for part in np.split(by_owner, ends)]

    def _of_intervals(self) -> Places:
        """A number for each box, of one column: that of its component. One walk, from the least
        value on."""
        low, high = self.low[0], self.high[0]
        order = np.lexsort((high, low))
        low, high = low[order], high[order]
        reach = np.maximum.accumulate(high)[:-1]
        # A value alone overlaps with what goes past it on both sides, and with the same value
        # alone.
        again = (low[1:] == high[1:]) & (low[:-1] == low[1:]) & (high[:-1] == high[1:])
        begins = np.append(True, (low[1:] >= reach) & ~again)
        owner = np.empty(len(low), np.int64)
        owner[order] = begins.cumsum() - 1
        return owner

    def _of_boxes(self) -> Places:
        """The same of any columns: from box to box, among those that are left and near in the
        column in which boxes are the narrowest."""
        widths = (self.high - self.low).max(axis=1)
        near = int(widths.argmin())
        owner = np.empty(self.low.shape[1], np.int64)
        # Sorted, so that what may meet a box lies together.
        places = np.argsort(self.low[near], kind="stable")
        low, high, width = self.low[:, places], self.high[:, places], int(widths[near])
        left = np.ones(len(places), bool)
        rest, number = len(places), 0
        while rest:
            found = np.array([left.argmax()])
            waiting: list[tuple[Ranks, Ranks]] = []
            while True:
                left[found] = False
                rest -= len(found)
                owner[places[found]] = number
                if len(found):
                    waiting.append((low[:, found], high[:, found]))
                if not waiting or not rest:
                    break
                if rest * 2 <= len(left):  # what has an owner is passed over no longer
                    low, high, places = low[:, left], high[:, left], places[left]
                    left = np.ones(len(places), bool)
                lows, highs = waiting.pop()
                # As many of them at once as makes no more pairs than that.
                cut = max(0, lows.shape[1] - max(1, _PAIRS // len(left)))
                lowest, highest = lows[:, cut:, None], highs[:, cut:, None]
                if cut:
                    waiting.append((lows[:, :cut], highs[:, :cut]))
                start = np.searchsorted(low[near], lowest[near].min() - width, "left")
                stop = np.searchsorted(low[near], highest[near].max(), "right")
                some = np.flatnonzero(left[start:stop]) + start
                pairs = _meet(low[:, None, some], high[:, None, some], lowest, highest)
                found = some[pairs.any(axis=0)]
            number += 1
        return owner

    def meetings(self) -> int:
        """How many pairs overlap."""
        count = self.low.shape[1]
        rows = max(1, _PAIRS // max(1, count))
        total = 0
        for at in range(0, count, rows):
            low, high = self.low[:, at : at + rows], self.high[:, at : at + rows]
            total += int(
                _meet(
                    self.low[:, None, :], self.high[:, None, :], low[:, :, None], high[:, :, None]
                ).sum()
            )
        return (total - count) // 2  # each pair was seen from both, and each box with itself


def _meet(low: Ranks, high: Ranks, first: Ranks, last: Ranks) -> Mask:
    """Whether boxes overlap with others; of both, the columns are the first axis."""
    inside = (low < last) & (high > first)
    alone = (first == last) & (low == first) & (high == last)
    meet = ((low <= last) & (high >= first)).all(axis=0)
    found: Mask = meet & (inside | alone).any(axis=0)
    return found
