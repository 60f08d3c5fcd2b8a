"""Where the rows of an Avro block begin: each is an int32 length, big-endian, and so many bytes.

A row's place depends on the lengths of all rows before it, and a loop over them would be one over
rows. So many lanes walk at once, each through a stretch of the content, NumPy taking one step in all
of them. Where a lane may begin is a guess: lengths that look right and lead on to others that do.
That the guesses were right is proved at the end: the rows have to follow each other without a gap
from the first byte to the last, and be as many as the block says.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.int64]

# Below this many rows the generic reader is done before the lanes are laid out.
FEWEST = 1024
_HOPS = 6  # lengths in a row that have to look right for a guess


def row_starts(data: npt.NDArray[np.uint8], rows: int) -> Places | None:
    """The offsets of the ``rows`` lengths in ``data``, and the end: ``rows`` + 1 numbers.

    None if they were not found: the content is damaged, or its rows are too uneven for this.
    """
    end = len(data)
    # Four bytes more, so that the end can be asked for a length too.
    average = max(5, end // max(1, rows))
    lanes = max(1, min(4096, int(rows**0.5) * 2))
    starts = _guesses(data, np.linspace(0, end, lanes, endpoint=False, dtype=np.int64), average)
    starts = np.unique(np.concatenate([np.zeros(1, np.int64), starts]))
    stops = np.append(starts[1:], end)
    walked = _walk(data, starts, stops, limit=64 * (rows // lanes + 16))
    if walked is None or len(walked) != rows:
        return None
    found = np.append(walked, end)
    if not np.array_equal(found[:-1] + 4 + _lengths(data, walked), found[1:]):
        return None
    return found


def _lengths(data: npt.NDArray[np.uint8], places: Places) -> Places:
    """The int32 at each of ``places``, all of which are four bytes or more before the end."""
    four = data[places[:, None] + np.arange(4)]
    return four.view(">i4")[:, 0].astype(np.int64)


def _guesses(data: npt.NDArray[np.uint8], places: Places, average: int) -> Places:
    """For each place a row's start after it, as far as one can be told; places may go missing."""
    end = len(data)
    window = 3 * average + 64
    at = (places[1:, None] + np.arange(window)).ravel()
    lane = np.repeat(np.arange(len(places) - 1), window)
    largest = 32 * average
    # The first two bytes of nearly every length are zero: that rules out nearly all places at once.
    at_most = np.minimum(at, end - 1)
    keep = (at < end - 4) & (data[at_most] == 0)
    at, lane = at[keep], lane[keep]
    for _ in range(_HOPS):
        lengths = _lengths(data, at)
        following = at + 4 + lengths
        keep = (lengths > 0) & (lengths <= largest) & (following < end - 4)
        at, lane = following[keep], lane[keep]
    # The first survivor of each lane. What began wrong has mostly met the true rows by now.
    _, first = np.unique(lane, return_index=True)
    return at[first]


def _walk(data: npt.NDArray[np.uint8], starts: Places, stops: Places, limit: int) -> Places | None:
    """The places on the way from each start to its stop, which has to be hit exactly."""
    places = starts
    lanes = np.arange(len(starts))
    visited: list[Places] = []
    owners: list[Places] = []
    last = len(data) - 4
    while len(places):
        limit -= 1
        if limit < 0 or places.max() > last:
            return None
        visited.append(places)
        owners.append(lanes)
        lengths = _lengths(data, places)
        if lengths.min() < 0:
            return None
        places = places + 4 + lengths
        ahead = places < stops
        if not ahead.all():
            if (places > stops).any():
                return None
            places, lanes, stops = places[ahead], lanes[ahead], stops[ahead]
    order = np.argsort(np.concatenate(owners), kind="stable")
    return np.concatenate(visited)[order]
