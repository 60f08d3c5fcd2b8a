"""Which blocks can hold a key, told from the index without a loop over keys.

Keys are compared by their first bytes, padded with zeros: that order is coarser than that of the
keys, never another. So the answer is a range of blocks that a key is in if it is anywhere; mostly
one block."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hoodoo_metadata.hfile.layout import Index

_WIDTH = 64
Mask = npt.NDArray[np.bool_]
# The first byte of U+E000 in UTF-8: what comes before is in one order both ways.
_TWO_ORDERS = r"[\xee-\xff]"


def of_two_orders(keys: pa.Array) -> bool:
    """Whether one of ``keys`` (binary) has a character that Java's order has elsewhere."""
    return bool(pc.any(pc.match_substring_regex(keys, _TWO_ORDERS)).as_py())


def blocks_of_keys(index: Index, keys: pa.Array) -> Mask:
    """The blocks that one of ``keys`` (binary) may be in."""
    known, wanted = _heads(index, keys)
    low = np.searchsorted(known, wanted, "left") - 1
    high = np.searchsorted(known, wanted, "right") - 1
    return _between(len(known), low, high)


def spans_of_keys(index: Index, keys: pa.Array) -> tuple[list[int], list[int]]:
    """The first and the last block that each of ``keys`` may be in; the last one comes before the
    first where there is none."""
    known, wanted = _heads(index, keys)
    low = np.searchsorted(known, wanted, "left") - 1
    high = np.searchsorted(known, wanted, "right") - 1
    return np.maximum(low, 0).tolist(), np.minimum(high, len(known) - 1).tolist()


def blocks_of_prefixes(index: Index, prefixes: pa.Array) -> Mask:
    """The blocks that keys which begin with one of ``prefixes`` may be in."""
    known, first = _heads(index, prefixes)
    _, last = _heads(index, prefixes, 255)
    low = np.searchsorted(known, first, "left") - 1
    high = np.searchsorted(known, last, "right") - 1
    return _between(len(known), low, high)


def blocks_between(index: Index, start: bytes | None, stop: bytes | None) -> Mask:
    """The blocks of keys from ``start`` to before ``stop``."""
    keys = pa.array([start or b"", stop or b""], pa.binary())
    known, wanted = _heads(index, keys)
    low = int(np.searchsorted(known, wanted[0], "left")) - 1 if start else 0
    high = (
        int(np.searchsorted(known, wanted[1], "right")) - 1 if stop is not None else len(known) - 1
    )
    return _between(len(known), np.array([low]), np.array([high]))


def _between(size: int, low: Any, high: Any) -> Mask:
    """Which of ``size`` blocks lie in one of the ranges, ends included."""
    low, high = np.maximum(low, 0), np.minimum(high, size - 1)
    some = low <= high
    steps = np.zeros(size + 1, np.int64)
    np.add.at(steps, low[some], 1)
    np.add.at(steps, high[some] + 1, -1)
    return np.asarray(steps[:-1].cumsum() > 0)


def _heads(index: Index, keys: pa.Array, fill: int = 0) -> tuple[Any, Any]:
    """The first bytes of the index's keys and of ``keys``, the latter padded with ``fill``."""
    longest = pc.max(pc.binary_length(index.keys)).as_py() or 0
    width = min(_WIDTH, longest + 1)
    return _head(index.keys, width, 0), _head(keys, width, fill)


def _head(keys: pa.Array, width: int, fill: int) -> Any:
    if not len(keys):
        return np.empty(0, f"S{width}")
    short = pc.binary_slice(keys, 0, width)
    offsets = np.frombuffer(short.buffers()[1], np.int32)[short.offset :][: len(short) + 1]
    data = np.frombuffer(short.buffers()[2] or b"", np.uint8)
    found = np.full((len(short), width), fill, np.uint8)
    lengths = np.diff(offsets)
    data = data[offsets[0] : offsets[-1]]
    if (lengths == lengths[0]).all():
        found[:, : lengths[0]] = data.reshape(len(short), lengths[0])
    else:
        found[np.arange(width) < lengths[:, None]] = data
    return found.view(f"S{width}")[:, 0]
