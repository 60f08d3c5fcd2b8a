"""The page index of a column chunk: where its pages are, and what is in each of them.

Its first half is read and written here as bytes: a list of small structures in Thrift's compact
protocol, of which a file has thousands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

from hoodoo_formats.parquet import declared, footer
from hoodoo_formats.parquet.declared import ColumnIndex
from hoodoo_formats.parquet.footer import NoFooter, Struct

Rows = npt.NDArray[np.int64]

# ColumnChunk: where the places of pages are, and their ranges; how long.
_PLACES, _PLACES_BYTES, _RANGES, _RANGES_BYTES = 4, 5, 6, 7
# Compact protocol: a list is the first field; of structures; the three fields of each; an end.
_LIST, _STRUCTS, _FIELDS, _END = 0x19, 0x0C, (0x16, 0x15, 0x16), 0x00
_LONG_LIST = 15


def places(file: pa.NativeFile, chunk: Struct) -> Rows | None:
    """Of each page of a chunk its place in the file, its bytes and its first row; None where the
    file does not say. Raises NoFooter for bytes that are no such list."""
    place, size = footer.value(chunk, _PLACES), footer.value(chunk, _PLACES_BYTES)
    return None if place is None or not size else parsed(bytes(file.read_at(size, place)))


def with_room(file: pa.NativeFile, chunk: Struct, values: pa.Array) -> npt.NDArray[np.bool_] | None:
    """Of each page of a chunk whether its range leaves room for one of ``values``: strings, or
    integers, which ascend. None where the file does not say ranges, or they are unsigned. Raises
    NoFooter for an index that can't be."""
    place, size = footer.value(chunk, _RANGES), footer.value(chunk, _RANGES_BYTES)
    if place is None or not size or pa.types.is_unsigned_integer(values.type):
        return None
    index = declared.read(ColumnIndex, bytes(file.read_at(size, place)))
    empty, least, most = index.empty or [], index.least or [], index.most or []
    if not len(empty) == len(least) == len(most):
        raise NoFooter("its page index has ranges of other pages")
    of_pages = np.array(empty, bool)
    if pa.types.is_integer(values.type):
        kind = f"<i{max(4, values.type.bit_width // 8)}"
        none = bytes(np.dtype(kind).itemsize)  # a page of nulls has no range
        ends = [np.frombuffer(b"".join(e or none for e in some), kind) for some in (least, most)]
        wanted = values.to_numpy(zero_copy_only=False)
    else:
        ends = [_objects(some) for some in (least, most)]
        wanted = _objects(values.cast(pa.binary()).to_pylist())
    if len(ends[0]) != len(of_pages) or len(ends[1]) != len(of_pages):
        raise NoFooter("its page index has ranges of another type")
    first = np.searchsorted(wanted, ends[0], side="left")
    after = np.searchsorted(wanted, ends[1], side="right")
    found: npt.NDArray[np.bool_] = (first < after) & ~of_pages
    return found


def _objects(values: Sequence[bytes]) -> npt.NDArray[np.object_]:
    made = np.empty(len(values), object)
    made[:] = values
    return made


@frozen
class ChunkIndex:
    """``places``: as :func:`places` has them; ``ranges``: the other half of the index, as bytes."""

    places: Rows
    ranges: bytes


def of_chunk(file: pa.NativeFile, chunk: Struct, moved: int) -> ChunkIndex | None:
    """The index of a chunk that lies ``moved`` bytes behind its old place."""
    # What is read whole needs none.
    with suppress(NoFooter, OSError, ValueError, MemoryError, pa.ArrowException):
        found = places(file, chunk)
        if found is None:
            return None
        place, size = footer.value(chunk, _RANGES), footer.value(chunk, _RANGES_BYTES)
        ranges = bytes(file.read_at(size, place)) if place and size else b""
        return ChunkIndex(found + np.array([moved, 0, 0]), ranges)
    return None


def write(sink: pa.NativeFile, indexed: Iterable[tuple[Struct, ChunkIndex]]) -> None:
    """Write the indexes of chunks, and note in what describes each where they are."""
    found = list(indexed)
    for chunk, index in found:
        if index.ranges:
            chunk[_RANGES] = footer.integer(sink.tell())
            chunk[_RANGES_BYTES] = footer.integer32(len(index.ranges))
            sink.write(index.ranges)
    for chunk, index in found:
        content = serialized(index.places)
        chunk[_PLACES] = footer.integer(sink.tell())
        chunk[_PLACES_BYTES] = footer.integer32(len(content))
        sink.write(content)


@lru_cache(maxsize=256)  # of a file that is read again and again, for its columns
def parsed(content: bytes) -> Rows:
    """The places in the bytes of an offset index, read-only. Raises NoFooter."""
    found: list[int] = []
    try:
        if content[0] != _LIST or content[1] & 0x0F != _STRUCTS:
            raise NoFooter("its page index does not begin with places")
        count, at = content[1] >> 4, 2
        if count == _LONG_LIST:
            count, at = _number(content, at)
        for _ in range(count):
            for mark in _FIELDS:
                if content[at] != mark:
                    raise NoFooter("its page index has other fields than known")
                number, at = _number(content, at + 1)
                found.append(number >> 1)  # none is negative
            if content[at] != _END:
                raise NoFooter("its page index has more fields than known")
            at += 1
        places = np.array(found, np.int64).reshape(-1, len(_FIELDS))
        places.flags.writeable = False
        return places
    except (IndexError, OverflowError) as error:
        raise NoFooter("its page index is cut off, or has other numbers") from error


def serialized(found: Rows) -> bytes:
    """The bytes of an offset index of these places."""
    count = len(found)
    content = bytearray([_LIST, min(count, _LONG_LIST) << 4 | _STRUCTS])
    if count >= _LONG_LIST:
        _put(content, count)
    for place in found.tolist():
        for mark, number in zip(_FIELDS, place, strict=True):
            content.append(mark)
            _put(content, number << 1)
        content.append(_END)
    content.append(_END)
    return bytes(content)


def _number(content: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        byte = content[at]
        at += 1
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return found, at
        shift += 7


def _put(content: bytearray, number: int) -> None:
    while number >= 0x80:
        content.append(number & 0x7F | 0x80)
        number >>= 7
    content.append(number)
