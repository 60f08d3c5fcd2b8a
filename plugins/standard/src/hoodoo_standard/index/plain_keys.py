"""Record keys of the usual form, ``a:1,b:2``, taken apart without a regular expression.

Where no value holds a comma or a colon, the places of these two characters say where each value
lies. Measured on 1.5 M keys of two fields: 0.2 s, and 3.4 s with a regular expression.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

_COMMA, _COLON, _UNDERSCORE = 0x2C, 0x3A, 0x5F
_Numbers = npt.NDArray[Any]


@frozen(eq=False)
class PlainKeys:
    """``rows``: the places of those keys that have the form. ``fields``: each field's name, with
    start and length of its value in ``data`` for each of the rows. ``data``: ASCII."""

    rows: _Numbers
    data: npt.NDArray[np.uint8]
    fields: tuple[tuple[str, tuple[_Numbers, _Numbers]], ...]


def plain_fields(keys: pa.StringArray) -> PlainKeys | None:
    """None if the first key has not the form, or a key is null or not ASCII.

    Left out are keys with other fields than the first one, and those with a value that begins as
    the markers of null and empty do (an underscore).
    """
    if not len(keys) or keys.null_count:
        return None
    buffers = keys.buffers()
    offsets = np.frombuffer(buffers[1], np.int32, len(keys) + 1, keys.offset * 4)
    data = np.frombuffer(buffers[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    if not len(data) or data.max() >= 0x80:
        return None
    starts = (offsets[:-1] - offsets[0]).astype(np.int64)
    ends = (offsets[1:] - offsets[0]).astype(np.int64)
    names = _names(data[starts[0] : ends[0]].tobytes().decode())
    if len(names) < 2:
        return None  # a key without a comma is one value, whatever it holds
    marks = np.flatnonzero((data == _COMMA) | (data == _COLON))
    first = np.searchsorted(marks, starts)
    count = np.searchsorted(marks, ends) - first
    wanted = 2 * len(names) - 1
    rows = np.flatnonzero(count == wanted)
    places = marks[first[rows, None] + np.arange(wanted)]
    begins = np.concatenate((starts[rows, None], places[:, 1::2] + 1), axis=1)
    stops = np.concatenate((places[:, 1::2], ends[rows, None]), axis=1)
    fits = (data[places] == np.array([_COLON, _COMMA] * len(names))[:wanted]).all(axis=1)
    for i, name in enumerate(names):
        colon = places[:, 2 * i]
        fits &= colon - begins[:, i] == len(name)
        ok = np.flatnonzero(fits)
        text = np.frombuffer(name.encode(), np.uint8)
        fits[ok] = (data[begins[ok, i, None] + np.arange(len(name))] == text).all(axis=1)
        # A value may be empty at the very end of the data: look at its colon then.
        at = np.minimum(colon + 1, len(data) - 1)
        fits &= data[at] != _UNDERSCORE
    kept = np.flatnonzero(fits)
    fields = []
    for i, name in enumerate(names):
        value = places[kept, 2 * i] + 1
        fields.append((name, (value, stops[kept, i] - value)))
    return PlainKeys(rows[kept], data, tuple(fields))


def _names(key: str) -> list[str]:
    return [field.partition(":")[0] for field in key.split(",")]
