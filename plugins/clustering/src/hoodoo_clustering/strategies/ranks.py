"""Ranks: values of any type as whole numbers in the same order, for curves through several columns.

By a sample (Hudi's SAMPLE): a value's rank says which share of the rows is below it, so that each
column uses all of its bits however its values are spread. Or from the value's own bits (Hudi's
DIRECT)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen
from hoodoo.errors import ConfigError

Words = npt.NDArray[np.uint64]
# Values that a rank is looked up among; more would not be in the processor's caches.
_EDGES = 1 << 14
# Whole numbers that are no further apart are looked up in a table: about a tenth of the time of a
# search.
_SPAN = 1 << 20
# Bytes of text that are looked at, after what all of a sample begin with; and at most.
_TEXT, _LONGEST = 16, 96
_TEXTS = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
)
_TOP = np.uint64(1 << 63)
_MOST_IN_TABLE = np.iinfo(np.uint16).max


@frozen(eq=False)
class Ranks:
    """Of one column. ``edges``: values of the sample, ascending; ``ranks``: theirs, and that of
    what is above all. ``width``: bytes of text that count."""

    edges: npt.NDArray[Any]
    ranks: Words
    width: int = 0
    _table: npt.NDArray[np.uint16] | None = field(init=False, repr=False)

    @_table.default
    def _ranks_of_all(self) -> npt.NDArray[np.uint16] | None:
        """The rank of each whole number from the first edge to one above the last; None where there
        are too many."""
        ends = _table_ends(self.edges)
        if ends is None or self.ranks.max() > _MOST_IN_TABLE:
            return None
        every = np.arange(ends[1] - ends[0] + 1).astype(self.edges.dtype) + self.edges[0]
        return self.ranks[np.searchsorted(self.edges, every)].astype(np.uint16)

    @classmethod
    def of(cls, sample: pa.ChunkedArray, bits: int, name: str) -> Ranks:
        """Ranks below 2 to the power of ``bits``. ConfigError for a column without an order."""
        column = _plain(sample, name)
        width = _width(column) if _is_text(column.type) else 0
        values = _numbers(column.drop_null(), width)
        edges, counts = np.unique(values, return_counts=True)
        below = np.concatenate([[0], np.cumsum(counts)]) + column.null_count
        if len(edges) > _EDGES:
            places = np.linspace(0, len(edges) - 1, _EDGES).astype(np.int64)
            edges, below = edges[places], below[np.append(places, len(edges))]
        most = (1 << bits) - 1
        return cls(edges, (1 + below * (most - 1) // max(1, len(column))).astype(np.uint64), width)

    def __call__(self, column: pa.ChunkedArray | pa.Array, name: str) -> Words:
        """The rank of each value; of null 0."""
        if pa.types.is_dictionary(column.type):
            return _through(column, lambda values: self(values, name))
        plain = _plain(column, name)
        values = _numbers(_filled(plain), self.width)
        return _without_nulls(self._looked_up(values), plain)

    def _looked_up(self, values: npt.NDArray[Any]) -> Words:
        ends = _table_ends(self.edges)
        if self._table is None or ends is None or values.dtype != self.edges.dtype:
            return self.ranks[np.searchsorted(self.edges, values)]
        places = values.clip(*map(values.dtype.type, ends))
        places -= self.edges[0]
        return self._table[places].astype(np.uint64)


def _table_ends(edges: npt.NDArray[Any]) -> tuple[int, int] | None:
    """From which to which number the ranks are in a table; None where there is none."""
    # Differences of 32 bits and more are exact: none is above _SPAN.
    if edges.dtype.kind not in "iu" or edges.dtype.itemsize < 4 or not len(edges):
        return None
    low = int(edges[0])
    high = min(int(edges[-1]) + 1, int(np.iinfo(edges.dtype).max))
    return (low, high) if high - low < _SPAN else None


def direct(column: pa.ChunkedArray | pa.Array, name: str) -> Words:
    """64 bits in the order of the values: of numbers all that there are, of text the first eight
    bytes; of null none. ConfigError for a column without an order."""
    if pa.types.is_dictionary(column.type):
        return _through(column, lambda values: direct(values, name))
    plain = _plain(column, name)
    if _is_text(plain.type):
        texts = _numbers(_filled(plain), 8)
        return _without_nulls(texts.view(">u8").astype(np.uint64), plain)
    values = _numbers(_filled(plain), 0)
    return _without_nulls(_bits(values), plain)


def _bits(values: npt.NDArray[Any]) -> Words:
    """Small types fill the upper bits, so that a column's type says how much it counts, not its
    place."""
    if values.dtype.kind == "f":
        words = (values.astype(np.float64) + 0.0).view(np.uint64)  # -0.0 is 0.0
        return np.where(words & _TOP, ~words, words | _TOP)
    spare = np.uint64(64 - 8 * values.dtype.itemsize)
    if values.dtype.kind == "u":
        return values.astype(np.uint64) << spare
    return (values.astype(np.int64).view(np.uint64) << spare) ^ _TOP


def _through(column: pa.ChunkedArray | pa.Array, ranked: Any) -> Words:
    """By way of the dictionaries: their values are fewer."""
    found = []
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        words = np.append(ranked(chunk.dictionary), np.uint64(0))
        last = pa.scalar(len(words) - 1, chunk.indices.type)
        found.append(words[pc.fill_null(chunk.indices, last).to_numpy(zero_copy_only=False)])
    return np.concatenate(found) if found else np.zeros(0, np.uint64)


def _plain(column: pa.ChunkedArray | pa.Array, name: str) -> pa.Array:
    """One array, of a type that :func:`_numbers` knows."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_nested(kind):
        raise ConfigError(
            f"clustering by column {name}",
            f"values of type {kind} have no order.",
            "Name columns of numbers, text, bytes, times or booleans.",
        )
    if pa.types.is_null(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    elif any(test(kind) for test in _TEXTS):
        column = column.cast(pa.binary())
    if isinstance(column, pa.Array):
        return column
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind))


def _filled(column: pa.Array) -> pa.Array:
    if not column.null_count:
        return column
    if _is_text(column.type):
        return pc.fill_null(column, b"")
    return pc.fill_null(column, pa.scalar(0, _stored(column.type)).cast(column.type))


def _stored(kind: pa.DataType) -> pa.DataType:
    return pa.int32() if kind.bit_width == 32 and pa.types.is_temporal(kind) else pa.int64()


def _without_nulls(words: Words, column: pa.Array) -> Words:
    if not column.null_count:
        return words
    return np.where(column.is_valid().to_numpy(zero_copy_only=False), words, np.uint64(0))


def _numbers(column: pa.Array, width: int) -> npt.NDArray[Any]:
    """Values as NumPy compares them: NaN above all, text as ``width`` bytes. No nulls."""
    kind = column.type
    if _is_text(kind):
        return _texts(column, width)
    if pa.types.is_temporal(kind):
        column = column.view(_stored(kind))
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), np.inf, values)
    return values


def _texts(column: pa.Array, width: int) -> npt.NDArray[Any]:
    cut = pc.binary_slice(column, 0, width).view(pa.string())
    # Bytes, whatever they mean: padding looks at their number alone.
    padded = pc.ascii_rpad(cut, width, padding="\0")
    data = padded.buffers()[2]
    if data is None or not len(padded):
        return np.zeros(0, f"S{width}")
    return np.frombuffer(data, f"S{width}", len(padded), padded.offset * width)


def _width(column: pa.Array) -> int:
    """What all texts begin with says nothing; some bytes after it count."""
    ends = pc.min_max(column)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if low is None:
        return 8
    same = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), len(low))
    return min(same + _TEXT, _LONGEST)
