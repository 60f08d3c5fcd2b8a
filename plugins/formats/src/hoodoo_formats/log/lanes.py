"""Records that follow each other, found without a loop over them.

Where a record begins depends on the lengths of all before it. So many lanes walk at once, each
through a stretch of the bytes, NumPy taking one step in all of them. Where a lane may begin is a
guess: a record that looks right and leads on to others that do. That the guesses were right is
proved in the end: each lane has to arrive exactly where the next one began.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]

_HOPS = 6  # records in a row that have to look right for a guess
_MARGIN = 4


@frozen
class Walk:
    """How to walk. ``after`` answers where the records at given places end, -1 where none can be;
    it is not asked about the last four bytes. ``begins`` says which places a record can begin at,
    to rule most out for guesses, which have ``least`` bytes or more."""

    after: Callable[[Bytes, Places], Places]
    begins: Callable[[Bytes, Places], Any]
    least: int


def places_of(data: Bytes, end: int, rows: int, walk: Walk) -> Places | None:
    """The offsets of ``rows`` records that fill the first ``end`` bytes of ``data``, and ``end``.

    None if they were not found: the bytes are damaged, or too uneven for guesses.
    """
    average = max(5, end // max(1, rows))
    lanes = max(1, min(4096, int(rows**0.5) * 2))
    starts = _guesses(data, end, lanes, average, walk)
    starts = np.unique(np.concatenate([np.zeros(1, np.int64), starts]))
    found = _walk(data, starts, np.append(starts[1:], end), 64 * (rows // lanes + 16), walk)
    return None if found is None or len(found) != rows else np.append(found, end)


def _guesses(data: Bytes, end: int, lanes: int, average: int, walk: Walk) -> Places:
    """For each lane but the first a record's start, as far as one can be told."""
    starts = np.linspace(0, end, lanes, endpoint=False, dtype=np.int64)[1:]
    window = 3 * average + 64
    at = (starts[:, None] + np.arange(window)).ravel()
    lane = np.repeat(np.arange(len(starts)), window)
    keep = at < end - _MARGIN
    at, lane = at[keep], lane[keep]
    keep = walk.begins(data, at)
    at, lane = at[keep], lane[keep]
    for _ in range(_HOPS):
        following = walk.after(data, at)
        keep = (following >= at + walk.least) & (following <= at + 32 * average)
        keep &= following < end - _MARGIN
        at, lane = following[keep], lane[keep]
    # The first survivor of each lane. What began wrong has mostly met the true records by now.
    _, first = np.unique(lane, return_index=True)
    return at[first]


def _walk(data: Bytes, places: Places, stops: Places, limit: int, walk: Walk) -> Places | None:
    """All places on the way from each start to its stop, in order."""
    last = int(stops[-1]) - _MARGIN
    lanes = np.arange(len(places))
    visited: list[Places] = []
    owners: list[Places] = []
    while len(places):
        limit -= 1
        if limit < 0 or places.max() > last:
            return None
        visited.append(places)
        owners.append(lanes)
        following = walk.after(data, places)
        if (following <= places).any() or (following > stops).any():
            return None
        ahead = following < stops
        places, lanes, stops = following[ahead], lanes[ahead], stops[ahead]
    order = np.argsort(np.concatenate(owners), kind="stable")
    return np.concatenate(visited)[order]
