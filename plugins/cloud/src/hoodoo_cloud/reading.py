"""An object as a file: ranges of it, always of the version that was opened."""

from __future__ import annotations

import io
from collections.abc import Callable

import pyarrow as pa

_WHOLE = 1 << 20  # bytes: an object up to here is read at once
_AHEAD = 256 << 10  # bytes that a small read brings, at least
_MOST_AHEAD = 8 << 20  # where reads go on from each other

# (first byte, end) -> the bytes
Ranges = Callable[[int, int], memoryview]


class ObjectFile(io.RawIOBase):
    """What Arrow reads from; one thread at a time."""

    def __init__(self, size: int, ranges: Ranges) -> None:
        self._size, self._ranges = size, ranges
        self._place = 0
        self._start, self._held = 0, memoryview(b"")
        self._ahead = _AHEAD

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise OSError("a place before the object's first byte")
        self._place = base + offset
        return self._place

    def read(self, size: int | None = -1) -> bytes:
        return bytes(self._next(size))

    def read_buffer(self, size: int | None = -1) -> pa.Buffer:
        """:meth:`read`, without a copy: Arrow prefers it."""
        return pa.py_buffer(self._next(size))

    def _next(self, size: int | None) -> memoryview:
        left = max(0, self._size - self._place)
        wanted = left if size is None or size < 0 else min(size, left)
        if not wanted:
            return memoryview(b"")
        begin = self._place - self._start
        if not (begin >= 0 and begin + wanted <= len(self._held)):
            self._hold(wanted)
            begin = self._place - self._start
        self._place += wanted
        return self._held[begin : begin + wanted]

    def _hold(self, wanted: int) -> None:
        if self._size <= _WHOLE:
            start, end = 0, self._size
        else:
            goes_on = self._held and self._place == self._start + len(self._held)
            self._ahead = min(2 * self._ahead, _MOST_AHEAD) if goes_on else _AHEAD
            start = self._place
            end = min(self._size, start + max(wanted, self._ahead))
        found = self._ranges(start, end)
        if len(found) != end - start:
            raise OSError(f"{len(found)} bytes came for {end - start} from byte {start}")
        self._start, self._held = start, found


def opened(size: int, ranges: Ranges) -> pa.NativeFile:
    return pa.PythonFile(ObjectFile(size, ranges), mode="r")
