"""Where the rows of an Avro block begin: each is an int32 length, big-endian, and so many bytes."""

from __future__ import annotations

import struct

import numpy as np

from hoodoo_formats.log.lanes import Bytes, Places, Walk, places_of

# So many rows are walked one by one in less time than lanes are laid out: a bound, not data's size.
_FEW = 1024
_LENGTH = struct.Struct(">i")


def row_starts(data: Bytes, rows: int) -> Places | None:
    """The offsets of the ``rows`` lengths in ``data``, and the end: ``rows`` + 1 numbers, of which
    each is as far from the one before as the length there says.

    None if they were not found: the content is damaged, or its rows are too uneven for lanes.
    """
    return _few(data, rows) if rows <= _FEW else _many(data, rows)


def _few(data: Bytes, rows: int) -> Places | None:
    found = [0]
    view = data.data
    for _ in range(rows):
        at = found[-1]
        if at > len(data) - 4:
            return None
        length = _LENGTH.unpack_from(view, at)[0]
        if length < 0:
            return None
        found.append(at + 4 + length)
    return np.array(found, np.int64) if found[-1] == len(data) else None


def _many(data: Bytes, rows: int) -> Places | None:
    return places_of(data, len(data), rows, _WALK)


def _after(data: Bytes, places: Places) -> Places:
    four = data[places[:, None] + np.arange(4)]
    lengths = four.view(">i4")[:, 0].astype(np.int64)
    return np.where(lengths < 0, -1, places + 4 + lengths)


# The first byte of a length is zero, if it is not one of 16 MB; a row has a byte, mostly.
_WALK = Walk(after=_after, begins=lambda data, at: data[at] == 0, least=5)
