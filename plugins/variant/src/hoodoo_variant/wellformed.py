"""Whether the rows of a column are variants, without a loop over the rows: the version and the
sizes of the metadata, and the outermost header of the value. What is within is checked by whoever
decodes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from hoodoo_variant.encode import MAX_SIZE

# Bytes behind the header, by the number of the type; what has its length within (bytes, text) has
# those of the length.
_PRIMITIVES = np.array([0, 0, 0, 1, 2, 4, 8, 8, 5, 9, 17, 4, 8, 8, 4, 4, 4, 8, 8, 8, 16])
_SIZED = (15, 16)

Numbers = Any  # numpy.ndarray of int64


class _Bytes:
    """The bytes of an array of binaries, from the beginning of each row on."""

    def __init__(self, array: pa.Array) -> None:
        _, offsets, data = array.buffers()
        ends = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
        self.starts = ends[:-1].astype(np.int64)
        self.lengths = np.diff(ends).astype(np.int64)
        self._data = np.frombuffer(data or b"", np.uint8)

    def number(self, at: Numbers, size: Numbers) -> Numbers:
        """The numbers of ``size`` bytes at ``at``; 0 where the row is too short."""
        found = np.zeros(len(self.starts), np.int64)
        if len(self._data):
            for byte in range(4):
                there = (byte < size) & (at + byte < self.lengths)
                place = np.where(there, self.starts + at + byte, 0)
                found |= np.where(there, self._data[place].astype(np.int64) << 8 * byte, 0)
        return found


def wrong(metadata: pa.Array, value: pa.Array) -> tuple[int, str] | None:
    """The first row, of arrays of binaries without nulls, that is no variant, and why; None: all
    are."""
    for array, found in ((metadata, _metadata), (value, _value)):
        rows = _Bytes(array)
        for bad, why in found(rows):
            if bad.any():
                return int(bad.argmax()), why
    return None


def _metadata(rows: _Bytes) -> list[tuple[Numbers, str]]:
    one = np.ones(len(rows.starts), np.int64)
    header = rows.number(0 * one, one)
    size = (header >> 6) + 1
    count = rows.number(one, size)
    start = 1 + (count + 2) * size
    end = start + rows.number(start - size, size)
    return [
        (rows.lengths == 0, "has no metadata"),
        (header & 15 != 1, "has metadata of another version than 1"),
        ((rows.lengths < start) | (rows.lengths < end), "has metadata that are too short"),
        (rows.lengths > MAX_SIZE, f"has metadata of more than {MAX_SIZE:,} bytes"),
    ]


def _value(rows: _Bytes) -> list[tuple[Numbers, str]]:
    one = np.ones(len(rows.starts), np.int64)
    header = rows.number(0 * one, one)
    kind, info = header & 3, header >> 2
    known = (kind != 0) | (info < len(_PRIMITIVES))
    primitive = 1 + _PRIMITIVES[np.where((kind == 0) & known, info, 0)]
    primitive += np.where(np.isin(info, _SIZED), rows.number(one, 4 * one), 0)
    is_object = kind == 2
    large = np.where(is_object, info >> 4, info >> 2) & 1
    width = np.where(large == 1, 4, 1)
    size = (info & 3) + 1
    count = rows.number(one, width)
    start = 1 + width + np.where(is_object, count * ((info >> 2 & 3) + 1), 0)
    start += (count + 1) * size
    nested = start + rows.number(start - size, size)
    end = np.select([kind == 0, kind == 1], [primitive, 1 + info], nested)
    return [
        (rows.lengths == 0, "has no value"),
        (~known, "has a value of a type that is not known"),
        (rows.lengths < end, "has a value that is too short"),
        (rows.lengths > MAX_SIZE, f"has a value of more than {MAX_SIZE:,} bytes"),
    ]
