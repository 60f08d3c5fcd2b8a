"""Deletes -> Arrow, a column at a time, as :mod:`hoodoo_formats.log.avro_decode` does it for rows.

Deletes have no lengths in front, so that a lane's step is to read a delete through. Left to the
generic reader are several ordering values (arrays), keys of 8 KB and more, and contents in which
deletes are not found. Measured on 100,000 deletes: 0.05 s, where the generic reader takes 0.49 s.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hoodoo_formats.log.avro_decode import FlatField, Rows
from hoodoo_formats.log.lanes import Bytes, Places, Walk, places_of

# Fewer are read by the generic reader sooner than lanes are laid out.
FEWEST = 1024
_PAD = 64
_TEXT = FlatField("text", "string", 1, 0)
# By the wrapper's place in the union: bytes of its value, or that they vary.
_NUMBER, _SIZED, _UNKNOWN = -1, -2, -3
_WIDTHS = np.full(256, _UNKNOWN, np.int64)
_WIDTHS[[0, 2, 8, 10]] = (0, 1, 4, 8)  # null, boolean, float, double
_WIDTHS[[4, 6, 16, 20, 22]] = _NUMBER  # int, long, date, time, timestamp
_WIDTHS[[12, 14, 18]] = _SIZED  # bytes, string, decimal
_KINDS = {
    1: "boolean",
    2: "int",
    3: "long",
    4: "float",
    5: "double",
    6: "bytes",
    7: "string",
    8: "int",
    9: "bytes",
    10: "long",
    11: "long",
}


def delete_columns(
    body: Bytes, count: int, start: int, kinds: Sequence[pa.DataType]
) -> tuple[pa.Array, pa.Array, dict[int, pa.Array]] | None:
    """Keys, paths and, by wrapper, values of the ``count`` deletes that begin at ``start`` of
    ``body`` and end before its last byte; ``kinds`` are the wrappers' types, from the first on.

    None if this is one for the generic reader. Raises Undecodable.
    """
    end = len(body) - 1 - start
    if count < FEWEST or end < 5 * count or body[-1]:
        return None
    data = np.zeros(end + _PAD, np.uint8)
    data[:end] = body[start:-1]
    places = places_of(data, end, count, _WALK)
    if places is None:
        return None
    rows = Rows(data, places[:-1], places[1:])
    keys = rows.column(_TEXT, pa.string())
    paths = rows.column(_TEXT, pa.string())
    wrappers = data[rows.at]
    values: dict[int, pa.Array] = {}
    for wrapper in np.unique(wrappers):
        own = wrappers == wrapper
        some = Rows(data, rows.at[own] + 1, rows.ends[own])
        if wrapper:
            index = int(wrapper) // 2
            kind = kinds[index - 1]
            found = some.value(FlatField("ordering value", _KINDS[index]), None, kind)
            if found is not None and not own.all():
                found = found.take(_places_in(own))
            values[index] = found
        some.finish()
    return keys, paths, values


def _places_in(own: npt.NDArray[np.bool_]) -> pa.Array:
    """For each row its place among ``own`` ones, or null."""
    return pa.array(np.cumsum(own) - 1, mask=~own)


def _after(data: Bytes, places: Places) -> Places:
    last = len(data) - 16
    at, good = _past_text(data, places, last)
    at, more = _past_text(data, at, last)
    width = _WIDTHS[data[at]]
    at = at + 1
    good &= more & (width != _UNKNOWN)
    varies = width < 0
    if varies.any():
        size, length, fits = _number(data, at)
        width_kind = width
        width = np.where(width == _NUMBER, size, np.where(varies, size + length, width))
        good &= fits | (width_kind != _SIZED)
    return np.where(good, np.minimum(at + width, last), -1)


def _past_text(data: Bytes, at: Places, last: int) -> tuple[Places, npt.NDArray[np.bool_]]:
    """The places after a text, or null; and whether one was there."""
    branch = data[at]
    size, length, fits = _number(data, at + 1)
    some = branch == 2
    after = at + 1 + np.where(some, size + length, 0)
    good = (some & fits) | (branch == 0)
    return np.minimum(after, last), good


def _number(data: Bytes, at: Places) -> tuple[Places, Places, npt.NDArray[np.bool_]]:
    """Bytes of the number at each place; its value, if it has two bytes at most; and whether it is
    a length that is so short."""
    first = data[at].astype(np.int64)
    more = first >= 128
    if not more.any():
        return np.ones(len(at), np.int64), first >> 1, (first & 1) == 0
    eight = data[at[:, None] + np.arange(10)] < 128
    size = eight.argmax(axis=1) + 1
    value = np.where(more, (first & 127) | (data[at + 1].astype(np.int64) << 7), first)
    return size, np.where(size <= 2, value >> 1, 0), ((value & 1) == 0) & (size <= 2)


_WALK = Walk(after=_after, begins=lambda data, at: data[at] == 2, least=5)
