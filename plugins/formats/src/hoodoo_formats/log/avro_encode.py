"""Avro bytes of Arrow columns, all rows of a column at a time.

Every part of a datum (a union's branch, a length, a value) is made as an Arrow array of bytes, and
Arrow's own element-wise join, which is compiled, puts the parts of a row together.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.model.schema.avro import decimal_bytes

_LIMITS = np.array([1 << (7 * i) for i in range(1, 10)], np.uint64)

Part = Any  # an array of bytes, or a constant for all rows


def join(parts: Sequence[Part], rows: int) -> pa.Array:
    """The parts of each row in one; a null part is an error."""
    if not any(isinstance(part, pa.Array) for part in parts):
        parts = [pa.array([b""] * rows, pa.binary()), *parts]
    return pc.binary_join_element_wise(*parts, empty())


def content(array: pa.Array) -> pa.Buffer:
    """The bytes of all elements, one after the other."""
    offsets = np.frombuffer(array.buffers()[1], np.int32)[
        array.offset : array.offset + len(array) + 1
    ]
    data = array.buffers()[2]
    if data is None or not len(array):
        return pa.py_buffer(b"")
    return data.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))


def zero(kind: pa.DataType) -> pa.Scalar:
    """A value of a flat plain type, to stand where a null is not written."""
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return pa.scalar(b"", pa.binary()).cast(kind)
    if pa.types.is_decimal(kind):
        return pa.scalar(Decimal(0), kind)
    if pa.types.is_fixed_size_binary(kind):
        return pa.scalar(bytes(kind.byte_width), kind)
    return pa.scalar(0, pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)


def value_parts(column: pa.Array) -> list[Part]:
    """The values of a flat column without nulls, in plain types."""
    kind, rows = column.type, len(column)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        sizes = pc.binary_length(column).to_numpy(zero_copy_only=False)
        return [zigzag(sizes.astype(np.int64)), column.cast(pa.binary())]
    if pa.types.is_boolean(kind):
        ones = column.cast(pa.uint8()).to_numpy(zero_copy_only=False)
        return [fixed(ones.reshape(-1, 1))]
    if pa.types.is_decimal(kind):
        return [decimal_part(column, decimal_bytes(kind.precision))]
    if pa.types.is_fixed_size_binary(kind):
        return [column.cast(pa.binary())]
    if pa.types.is_floating(kind):
        values = column.to_numpy(zero_copy_only=False)
        little = values.astype(values.dtype.newbyteorder("<"))
        return [fixed(little.view(np.uint8).reshape(rows, values.itemsize))]
    whole = column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    return [zigzag(whole.to_numpy(zero_copy_only=False).astype(np.int64))]


def decimal_part(column: pa.Array, size: int) -> pa.Array:
    """The unscaled values of decimals as two's complement numbers of ``size`` bytes."""
    raw = np.frombuffer(column.buffers()[1], np.uint8)
    raw = raw[16 * column.offset : 16 * (column.offset + len(column))].reshape(-1, 16)
    if size > 16:  # 38 digits fit in 16 bytes, so that this is for a foreign schema only
        sign = np.repeat(np.where(raw[:, 15:] > 127, 255, 0).astype(np.uint8), size - 16, axis=1)
        return fixed(np.hstack([sign, raw[:, ::-1]]))
    return fixed(raw[:, :size][:, ::-1])


def fixed(matrix: npt.NDArray[np.uint8]) -> pa.Array:
    """One row of ``matrix`` an element."""
    rows, width = matrix.shape
    offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(width)
    data = pa.py_buffer(np.ascontiguousarray(matrix))
    return pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(offsets), data], 0)


def zigzag(values: npt.NDArray[np.int64]) -> pa.Array:
    """Avro's variable-length numbers."""
    coded = ((values << 1) ^ (values >> 63)).view(np.uint64)
    sizes = np.searchsorted(_LIMITS, coded, side="right") + 1
    width = int(sizes.max(initial=1))
    shifts = np.arange(width, dtype=np.uint64) * np.uint64(7)
    matrix = (coded[:, None] >> shifts).astype(np.uint8) | np.uint8(0x80)
    rows = np.arange(len(values))
    matrix[rows, sizes - 1] &= 0x7F
    if width == 1:
        return fixed(matrix)
    data = matrix[np.arange(width) < sizes[:, None]]
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(values), buffers, 0)


def empty() -> pa.Scalar:
    # Not a constant of the module: the first scalar imports pandas where there is one.
    return pa.scalar(b"", pa.binary())
