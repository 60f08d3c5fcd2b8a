"""Avro datums of a flat schema -> Arrow, all rows of a column at a time, with NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

from hoodoo_formats.log.content import Undecodable
from hoodoo_formats.log.lanes import Bytes, Places

_HIGH = np.uint64(0x8080808080808080)
_F1, _T1 = np.uint64(0x007F007F007F007F), np.uint64(0x3F803F803F803F80)
_F2, _T2 = np.uint64(0x00003FFF00003FFF), np.uint64(0x0FFFC0000FFFC000)
_F4, _T4 = np.uint64(0x000000000FFFFFFF), np.uint64(0x00FFFFFFF0000000)
# Bytes of a number by the place of its last byte's high bit: 256 ** k modulo 19 differ for k < 8.
_SIZES = np.zeros(19, np.int64)
_SIZES[[256**k % 19 for k in range(8)]] = np.arange(1, 9)


@frozen
class FlatField:
    """How a column is encoded. ``kind`` is Avro's type; ``branch`` the union's branch of the
    values, ``null`` that of nulls, None where there is no union, or no null in it; ``size`` of a
    fixed in bytes; ``symbols`` of an enum."""

    name: str
    kind: str
    branch: int | None = None
    null: int | None = None
    size: int = 0
    symbols: tuple[str, ...] = ()


_FLAT = ("boolean", "int", "long", "float", "double", "string", "bytes")


def flat_fields(avro: Mapping[str, Any]) -> tuple[FlatField, ...] | None:
    """The fields of a record, or None if one of them is nested or a name refers to another."""
    made, fixed = [], dict[str, Any]()
    for field in avro["fields"]:
        kind, branch, null = field["type"], None, None
        if isinstance(kind, list):
            branch = next((i for i, member in enumerate(kind) if member != "null"), -1)
            null = kind.index("null") if "null" in kind else None
            kind = kind[branch]
        size, symbols = 0, ()
        kind = fixed.get(kind, kind) if isinstance(kind, str) else kind
        while isinstance(kind, dict):
            if kind["type"] == "fixed" and kind.get("namespace") == "":  # its name may come again
                fixed[kind["name"]] = kind
            if kind["type"] in ("fixed", "enum"):
                size, symbols = kind.get("size", 0), tuple(kind.get("symbols", ()))
            kind = kind["type"]
        if kind not in _FLAT and kind not in ("fixed", "enum"):
            return None
        made.append(FlatField(field["name"], kind, branch, null, size, symbols))
    return tuple(made)


class Rows:
    """The rows of a batch, all at the same column: ``at`` is where it begins in each."""

    def __init__(self, data: Bytes, at: Places, ends: Places) -> None:
        self.data, self.at, self.ends = data, at, ends
        # Eight bytes at every offset.
        self.words = np.ndarray(len(data) - 7, "<u8", data, 0, (1,))
        self.count = len(at)
        self.evens = pa.array(np.arange(0, 2 * self.count, 2, dtype=np.int32))

    def finish(self) -> None:
        if not np.array_equal(self.at, self.ends):
            raise Undecodable("a row is not as long as it says")

    def _forward(self, by: Any) -> None:
        self.at = self.at + by
        if (self.at > self.ends).any():
            raise Undecodable("a value runs past the end of its row")

    def column(self, field: FlatField, kind: pa.DataType | None) -> pa.Array | None:
        """The column at hand, and on to the next; without ``kind`` it is passed over."""
        valid: npt.NDArray[np.bool_] | None = None
        if field.branch is not None:
            branch = self.data[self.at]
            self._forward(1)
            valid = branch == 2 * field.branch
            if valid.all():
                valid = None
            elif field.null is None or not (valid | (branch == 2 * field.null)).all():
                raise Undecodable(f"column {field.name} has a value of no known type")
        return self.value(field, valid, kind)

    def value(
        self, field: FlatField, valid: npt.NDArray[np.bool_] | None, kind: pa.DataType | None
    ) -> pa.Array | None:
        code = field.kind
        if code in ("string", "bytes", "fixed"):
            sizes = np.full(self.count, field.size) if code == "fixed" else self._number(valid)
            if valid is not None:
                sizes = np.where(valid, sizes, 0)
            if sizes.min(initial=0) < 0 or sizes.max(initial=0) > len(self.data):
                raise Undecodable(f"column {field.name} has a value of impossible length")
            start = self.at
            self._forward(sizes)
            if kind is None:
                return None
            if pa.types.is_decimal(kind):
                return self._decimals(start, sizes, valid, kind)
            return self._texts(start, valid, kind)
        if code in ("int", "long", "enum"):
            numbers = self._number(valid)
            return None if kind is None else _whole(numbers, valid, kind, field)
        width = {"boolean": 1, "float": 4, "double": 8}[code]
        start = self.at
        self._forward(width if valid is None else width * valid)
        if kind is None:
            return None
        if code == "boolean":
            return _booleans(self.data[start], valid)
        if code == "double":
            return _primitive(self.words[start], valid, kind)
        return _primitive(self.words[start].astype(np.uint32), valid, kind)

    def _number(self, valid: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.int64]:
        """Avro's variable-length number in each row; of rows that are not valid, anything."""
        low = self.data[self.at]
        if valid is not None:
            low = np.where(valid, low, 0)
        if low.max(initial=0) < 0x80:
            self._forward(1 if valid is None else valid)
            small = low.astype(np.int64)
            return (small >> 1) ^ -(small & 1)
        word = self.words[self.at]
        last = ~word & _HIGH  # where a byte is the number's last, its high bit
        last &= -last.view(np.int64).view(np.uint64)
        size = _SIZES[(last >> np.uint64(7)) % np.uint64(19)]
        bits = word & (last - np.uint64(1)) & ~_HIGH
        # Seven bits of each byte, moved together.
        bits = (bits & _F1) | ((bits >> np.uint64(1)) & _T1)
        bits = (bits & _F2) | ((bits >> np.uint64(2)) & _T2)
        bits = (bits & _F4) | ((bits >> np.uint64(4)) & _T4)
        long = last == 0
        if valid is not None:
            long &= valid
            size = np.where(valid, size, 0)
        if long.any():
            bits, size = self._long_numbers(np.flatnonzero(long), bits, size)
        self._forward(size)
        return ((bits >> np.uint64(1)) ^ -(bits & np.uint64(1))).view(np.int64)

    def _long_numbers(
        self, where: Places, bits: npt.NDArray[np.uint64], size: Places
    ) -> tuple[npt.NDArray[np.uint64], Places]:
        """Those of nine and ten bytes, in the rows ``where``."""
        matrix = self.data[self.at[where][:, None] + np.arange(10)]
        last = matrix < 0x80
        if not last.any(axis=1).all():
            raise Undecodable("a number has more than ten bytes")
        sizes = last.argmax(axis=1) + 1
        sevens = (matrix & 0x7F).astype(np.uint64) * (np.arange(10) < sizes[:, None])
        shifts = np.arange(0, 70, 7, dtype=np.uint64)
        bits[where] = np.bitwise_or.reduce(sevens << shifts, axis=1)
        size[where] = sizes
        return bits, size

    def _texts(
        self, start: Places, valid: npt.NDArray[np.bool_] | None, kind: pa.DataType
    ) -> pa.Array:
        """Bytes from ``start`` to where the rows are now. They and what lies between two of them
        are the elements of one array of the whole data; Arrow copies every other one out of it."""
        offsets = np.empty(2 * self.count, np.int32)
        offsets[0::2], offsets[1::2] = start, self.at
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self.data)]
        between = pa.Array.from_buffers(pa.binary(), 2 * self.count - 1, buffers, 0)
        made = between.take(self.evens)
        if pa.types.is_string(kind):
            try:
                made = made.cast(kind)
            except pa.ArrowInvalid as error:
                raise Undecodable("a text is not UTF-8") from error
        if valid is None:
            return made
        return pa.Array.from_buffers(made.type, self.count, [_bitmap(valid), *made.buffers()[1:]])

    def _decimals(
        self, start: Places, sizes: Places, valid: npt.NDArray[np.bool_] | None, kind: pa.DataType
    ) -> pa.Array:
        """Big-endian numbers of up to 16 bytes; Arrow has them little-endian, in 16 bytes."""
        longest = int(sizes.max(initial=0))
        if longest > 16:
            raise Undecodable("a decimal has more than 16 bytes")
        if ((sizes == 0) if valid is None else (sizes == 0) & valid).any():
            raise Undecodable("a decimal has no bytes")
        if longest <= 8:
            # The number at the upper end of a word, moved down with its sign.
            made = np.empty((self.count, 2), "<i8")
            words = self.words[start].byteswap().view(np.int64)
            made[:, 0] = words >> np.where(sizes > 0, 64 - 8 * sizes, 0)
            made[:, 1] = made[:, 0] >> 63
        else:
            made = self._wide_decimals(start, sizes)
        data = pa.py_buffer(made)
        array = pa.Array.from_buffers(kind, self.count, [_bitmap(valid), data])
        try:
            array.validate(full=True)
        except pa.ArrowInvalid as error:
            raise Undecodable(f"a decimal does not fit {kind}") from error
        return array

    def _wide_decimals(self, start: Places, sizes: Places) -> npt.NDArray[Any]:
        sign = np.where((sizes > 0) & (self.data[start] > 127), 255, 0).astype(np.uint8)
        made = np.empty((self.count, 16), np.uint8)
        for place in range(16):
            digit = self.data[np.maximum(start + sizes - 1 - place, 0)]
            made[:, place] = np.where(place < sizes, digit, sign)
        return made


def _bitmap(valid: npt.NDArray[np.bool_] | None) -> pa.Buffer | None:
    return None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))


def _primitive(
    values: npt.NDArray[Any], valid: npt.NDArray[np.bool_] | None, kind: pa.DataType
) -> pa.Array:
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(kind, len(values), [_bitmap(valid), data])


def _booleans(values: Bytes, valid: npt.NDArray[np.bool_] | None) -> pa.Array:
    if valid is not None:
        values = np.where(valid, values, 0).astype(np.uint8)
    if values.max(initial=0) > 1:
        raise Undecodable("a boolean is neither 0 nor 1")
    bits = pa.py_buffer(np.packbits(values, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(values), [_bitmap(valid), bits])


def _whole(
    numbers: npt.NDArray[np.int64],
    valid: npt.NDArray[np.bool_] | None,
    kind: pa.DataType,
    field: FlatField,
) -> pa.Array:
    if field.kind == "long":
        return _primitive(numbers, valid, kind)
    if valid is not None:
        numbers = np.where(valid, numbers, 0)
    low, high = (0, len(field.symbols)) if field.kind == "enum" else (-(2**31), 2**31)
    if numbers.min(initial=0) < low or numbers.max(initial=0) >= high:
        raise Undecodable(f"column {field.name} has a number out of its range")
    if field.kind == "int":
        return _primitive(numbers.astype(np.int32), valid, kind)
    codes = pa.array(numbers, mask=None if valid is None else ~valid)
    return pa.array(field.symbols, pa.string()).take(codes)
