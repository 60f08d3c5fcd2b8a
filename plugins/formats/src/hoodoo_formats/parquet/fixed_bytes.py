"""Decimals as the bytes that a file has: whether rows have the same ones is seen without making
numbers of them, which takes twice as long."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from attrs import define, field

from hoodoo_formats.parquet import footer
from hoodoo_formats.parquet.chunks import Layout
from hoodoo_formats.parquet.footer import Struct
from hoodoo_formats.parquet.reader import ParquetReader
from hoodoo_formats.parquet.some_rows import BROKEN

# SchemaElement: the physical type, its length, and what makes a decimal of it.
_TYPE, _LENGTH, _CONVERTED, _SCALE, _PRECISION, _LOGICAL = 1, 2, 6, 7, 8, 10
_FIXED, _DECIMAL = 7, 5
_ROWS = 131_072


@define
class FixedBytes:
    """The columns of decimals of the file ``base``, which has ``layout``."""

    layout: Layout
    base: ParquetReader
    lengths: Mapping[str, int] = field(init=False)
    _file: pq.ParquetFile | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        found = {
            name: footer.value(elements[0], _LENGTH)
            for name, elements in self.layout.elements.items()
            if len(elements) == 1 and _is_decimal(elements[0])
        }
        self.lengths = {name: size for name, size in found.items() if 0 < size <= 16}

    def are_there(self, part: int, name: str, at: npt.NDArray[np.int64], new: pa.Array) -> bool:
        """Whether a row group has the values ``new`` (decimal128) in the places ``at``, which
        ascend. False for a file that can't be read: whoever reads it otherwise says so."""
        wanted, start = as_stored(new, self.lengths[name]), 0
        with suppress(*BROKEN):
            for batch in self._opened().iter_batches(
                batch_size=_ROWS, row_groups=[part], columns=[name], use_threads=False
            ):
                low, high = np.searchsorted(at, [start, start + batch.num_rows])
                old = batch.column(0).take(pa.array(at[low:high] - start))
                start += batch.num_rows
                if not old.equals(wanted.slice(low, high - low)):
                    return False
        return start == self.layout.groups[part].rows

    def _opened(self) -> pq.ParquetFile:
        if self._file is None:
            tree = self.layout.without_texts()
            elements = [
                _plain(one) if _is_decimal(one) else one
                for one in footer.value(tree, footer.SCHEMA)
            ]
            tree[footer.SCHEMA] = footer.structs(elements)
            small = pa.BufferReader(footer.MAGIC + footer.serialized(tree))
            self._file = self.base.open_file(metadata=pq.read_metadata(small))
        return self._file


def as_stored(values: pa.Array, length: int) -> pa.FixedSizeBinaryArray:
    """decimal128 values as a file has them: ``length`` bytes of each, the highest first."""
    end = values.offset + len(values)
    data = np.frombuffer(values.buffers()[1], np.uint8, end * 16).reshape(-1, 16)
    some = data[values.offset :, length - 1 :: -1]
    valid = None if not values.null_count else values.is_valid().buffers()[1]
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(length), len(values), [valid, pa.py_buffer(np.ascontiguousarray(some))]
    )


def _is_decimal(element: Struct) -> bool:
    fixed = footer.value(element, _TYPE) == _FIXED and not footer.value(element, footer.CHILDREN, 0)
    return fixed and footer.value(element, _CONVERTED) == _DECIMAL


def _plain(element: Struct) -> Struct:
    return {n: v for n, v in element.items() if n not in (_CONVERTED, _SCALE, _PRECISION, _LOGICAL)}
