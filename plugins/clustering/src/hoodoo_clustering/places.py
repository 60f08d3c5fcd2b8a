"""Places: in which order rows come, by their keys."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Places = npt.NDArray[np.int64]
# Text of which so many of a few rows are distinct is compared as it is.
_LOOK, _MOSTLY = 16_384, 0.5
_WORD = 64


def places(keys: Sequence[pa.ChunkedArray | pa.Array]) -> Places:
    """The rows' numbers in ascending order of ``keys``, the first being the most significant: nulls
    first, NaN last, equal rows as they came.

    Where few bits tell the values apart, they and the row's number are put into one word, and words
    are sorted: a third of the time that comparing column by column takes.
    """
    arrays = [_ranked(_one(key)) for key in keys]
    rows = len(arrays[0]) if arrays else 0
    arrays = [array for array in arrays if array.null_count < rows]  # what is null says nothing
    if not arrays:
        return np.arange(rows)
    return _packed(arrays) if _fits(arrays) else _compared(arrays)


def _one(key: pa.ChunkedArray | pa.Array) -> pa.Array:
    found = key.combine_chunks() if isinstance(key, pa.ChunkedArray) else key
    # Releases of pyarrow differ in what combining one chunk, or none, gives.
    if isinstance(found, pa.ChunkedArray):
        found = pa.concat_arrays(found.chunks) if found.num_chunks else pa.array([], found.type)
    return found


def _ranked(key: pa.Array) -> pa.Array:
    """Text that repeats becomes numbers in the order of the texts; the rest stays."""
    kind = key.type
    if not pa.types.is_dictionary(kind):
        if not (pa.types.is_string(kind) or pa.types.is_binary(kind)) or len(key) < _LOOK:
            return key
        look = key.slice(len(key) // 2 - _LOOK // 2, _LOOK)
        if pc.count_distinct(look).as_py() > _MOSTLY * _LOOK:
            return key
        key = key.dictionary_encode()
    values = key.dictionary
    ranks = pc.rank(values, sort_keys="ascending", tiebreaker="dense").cast(pa.int64())
    if values.null_count:
        ranks = pc.if_else(pc.is_valid(values), ranks, pa.scalar(None, pa.int64()))
    return ranks.take(key.indices)


def _bits(key: pa.Array) -> tuple[int, int] | None:
    """The least value, and the bits that the others need above it, with one for null below; None
    for what is not a whole number."""
    kind = key.type
    if not (pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        return None
    ends = pc.min_max(key)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    return int(low), (int(high) - int(low) + 1).bit_length()


def _whole(key: pa.Array) -> pa.Array:
    """Dates, times and timestamps as the numbers that they are."""
    kind = key.type
    if pa.types.is_temporal(kind) and kind.bit_width in (32, 64):
        return key.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    return key


def _fits(arrays: Sequence[pa.Array]) -> bool:
    widths = [_bits(_whole(array)) for array in arrays]
    known = [width[1] for width in widths if width is not None]
    return len(known) == len(arrays) and sum(known) + len(arrays[0]).bit_length() <= _WORD


def _packed(arrays: Sequence[pa.Array]) -> Places:
    count = len(arrays[0])
    words = np.zeros(count, np.uint64)
    for array in map(_whole, arrays):
        found = _bits(array)
        assert found is not None
        low, bits = found
        if bits:
            words <<= np.uint64(bits)
            words |= _above(array, low)
    below = np.uint64(count.bit_length())
    words <<= below
    words |= np.arange(count, dtype=np.uint64)
    words.sort()
    words &= (np.uint64(1) << below) - np.uint64(1)
    return words.astype(np.int64)


def _above(key: pa.Array, low: int) -> npt.NDArray[np.uint64]:
    """How far each value is above one below ``low``; null is 0."""
    valid = None
    if key.null_count:
        valid = key.is_valid().to_numpy(zero_copy_only=False)
        key = pc.fill_null(key, pc.min(key))
    values = key.to_numpy(zero_copy_only=False)
    # Wraps around as two's complement does: the difference is right whatever the sign.
    words = values.astype(np.int64).view(np.uint64) if values.dtype != np.uint64 else values
    words = words - np.array(low - 1 & (1 << _WORD) - 1, np.uint64)
    return words if valid is None else np.where(valid, words, np.uint64(0))


def _compared(arrays: Sequence[pa.Array]) -> Places:
    columns: list[pa.Array] = []
    for array in arrays:
        if array.null_count:  # "nulls first" is asked for differently by releases of pyarrow
            columns.append(array.is_valid())
        columns.append(array)
    names = [str(i) for i in range(len(columns))]
    rows = pa.record_batch(columns, names=names)
    found = pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in names])
    return found.to_numpy().astype(np.int64)
