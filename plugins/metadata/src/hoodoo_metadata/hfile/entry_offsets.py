"""Where the entries of data blocks begin.

That depends on the lengths of all before it in the block. So all blocks are walked together, one
NumPy step from the i-th entries of all of them to the next ones. Few blocks have many steps, so
that they are also entered in the middle, where bytes look like an entry; that they are one is
proved in the end: the walk from the block's beginning, or from the entry before, has to arrive
exactly there."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hoodoo_metadata.hfile.format import SUFFIX, Nonsense

Places = npt.NDArray[np.int64]
# Bytes behind the last block, so that numbers may be read wherever an entry begins.
PAD = 16
_LEAST = 4 + 4 + 2 + 1  # an entry without suffix, whose key and value are empty
_LANES = 1024  # more make steps fewer, and cost more to find than that spares
_STRIDE = 4096  # bytes between two places where a block is entered
_KEY = 256  # lengths of keys are looked for so many bytes before their ends


def view(data: bytes | bytearray, kind: str) -> Any:
    """``data`` as numbers that begin at each of its bytes."""
    size = np.dtype(kind).itemsize
    return np.ndarray((len(data) - size + 1,), kind, data, strides=(1,))


def places_of(data: bytes | bytearray, starts: Places, end: int) -> Places:
    """Where entries begin. ``starts`` are those of the blocks, none of which is empty; they fill
    the first ``end`` bytes of ``data``, which has PAD more. Raises Nonsense if these are no
    entries."""
    found = None
    if 0 < len(starts) < _LANES:
        entered = _entered(data, starts, end)
        if len(entered) > len(starts):
            found = _walk(data, entered, end)
    if found is None:
        found = _walk(data, starts, end)
    if found is None:
        raise Nonsense("an entry is longer than its block")
    return found


def _entered(data: bytes | bytearray, starts: Places, end: int) -> Places:
    """``starts``, and places in between that look like the beginning of an entry: a suffix is
    found, and the lengths that lie before it, which say how far it is to them."""
    stride = max(_STRIDE, end // _LANES)
    tail, size = SUFFIX[1:], len(SUFFIX) + 2
    near = [data.find(tail, at, at + stride) for at in range(stride, end - stride, stride)]
    behind = [at - 1 for at in near if at > 0]  # where a key ends
    # The last zero before that is the upper byte of its length, if no byte of the key is one.
    zeros = np.array([data.rfind(b"\0", max(0, at - _KEY), at) for at in behind], np.int64)
    keys = np.array(behind, np.int64) - zeros - 2
    at = zeros - 8
    keys, at = keys[at >= 0], at[at >= 0]
    at = at[(view(data, ">u2")[at + 8] == keys) & (view(data, ">u4")[at] == keys + size)]
    return np.union1d(starts, at)


def _walk(data: bytes | bytearray, starts: Places, end: int) -> Places | None:
    """All places on the way from each start to the next one; None if a way leads past it."""
    words = view(data, ">u8")
    stops = np.append(starts[1:], end)
    places, lanes = starts, np.arange(len(starts))
    visited: list[Places] = []
    owners: list[Places] = []
    low, half = np.int64(0xFFFFFFFF), np.int64(32)
    while len(places):
        visited.append(places)
        owners.append(lanes)
        # Both lengths, their sum taken modulo 2 ** 32: `cuts_of` looks at them again.
        step = words[places].astype(np.int64)
        step += step >> half
        step &= low
        step += places
        step += 9
        ahead = step < stops
        if ahead.all():
            places = step
            continue
        if (step > stops).any():
            return None
        places, lanes, stops = step[ahead], lanes[ahead], stops[ahead]
    return _in_order(visited, owners)


def _in_order(visited: list[Places], owners: list[Places]) -> Places:
    """The places of all steps; ``owners`` say which lane each is of."""
    if not visited:
        return np.empty(0, np.int64)
    total = sum(map(len, visited))
    steps, lanes = len(visited), len(visited[0])
    if steps * lanes > 4 * total:  # the lanes are of very different lengths
        return np.sort(np.concatenate(visited))
    laid = np.full((lanes, steps), -1, np.int64)
    whole = sum(map(lanes.__eq__, map(len, visited)))  # the first ones
    laid[:, :whole] = np.array(visited[:whole]).T
    for step in range(whole, steps):
        laid[owners[step], step] = visited[step]
    return laid[laid >= 0]


def cuts_of(data: bytes | bytearray, places: Places, ends: Places) -> npt.NDArray[np.int32]:
    """Begin and end of the key, and of the value, of the entries from ``places`` to ``ends``."""
    lengths = view(data, ">u4")
    key, value = lengths[places].astype(np.int64), lengths[places + 4].astype(np.int64)
    content = view(data, ">u2")[places + 8].astype(np.int64)
    if (content + 2 > key).any() or (places + key + value + 9 != ends).any():
        raise Nonsense("the lengths of an entry contradict each other")
    if np.frombuffer(data, np.uint8)[ends - 1].any():
        raise Nonsense("an entry has a version, or does not end where it should")
    cuts = np.empty((len(places), 4), np.int32)
    cuts[:, 0] = places + 10
    cuts[:, 1] = places + content + 10
    cuts[:, 2] = places + key + 8
    cuts[:, 3] = ends - 1
    return cuts
