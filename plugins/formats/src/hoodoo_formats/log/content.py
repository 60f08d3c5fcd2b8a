"""The content of one block, as the format of its rows gets it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import CorruptTableError

# Up to so many bytes are read at once, whatever is wanted of them.
_WHOLE = 1 << 20


class Undecodable(ValueError):
    """The content of a block contradicts its format; the message says how, in half a sentence."""


@frozen
class BlockContent:
    """``size`` bytes from ``start`` on of an open log file."""

    file: pa.NativeFile
    start: int
    size: int

    def whole(self) -> pa.Buffer:
        """All bytes. Raises Undecodable where there are fewer."""
        self.file.seek(self.start)
        data = self.file.read_buffer(self.size)
        if data.size < self.size:
            raise Undecodable("the file has become shorter")
        return data

    def opened(self, sparsely: bool = False) -> pa.NativeFile:
        """The bytes as a file of their own; ``sparsely``: a large one is read by what is asked of
        it."""
        if not sparsely or self.size <= _WHOLE:
            return pa.BufferReader(self.whole())
        return pa.PythonFile(_Range(self.file, self.start, self.size), mode="r")


@contextmanager
def decoding(obj: str) -> Iterator[None]:
    """What goes wrong inside is the fault of the bytes of ``obj``: CorruptTableError."""
    try:
        yield
    except (Undecodable, pa.ArrowException, OSError, UnicodeDecodeError) as error:
        known = isinstance(error, Undecodable)
        what = str(error) if known else f"{type(error).__name__}: {error}"
        raise CorruptTableError(
            obj,
            f"its content can't be decoded ({what}).",
            "Restore the file from a copy, or roll back the commit that wrote it.",
        ) from error


class _Range:
    """A stretch of a file as a file that Arrow reads from."""

    closed = False

    def __init__(self, file: pa.NativeFile, start: int, size: int) -> None:
        self._file, self._start, self._size, self._place = file, start, size, 0

    def seek(self, offset: int, whence: int = 0) -> int:
        self._place = offset + (0, self._place, self._size)[whence]
        return self._place

    def tell(self) -> int:
        return self._place

    def read(self, count: int = -1) -> bytes:
        left = max(0, self._size - self._place)
        count = left if count < 0 else min(count, left)
        self._file.seek(self._start + self._place)
        data: bytes = self._file.read(count)
        self._place += len(data)
        return data

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def flush(self) -> None: ...

    def close(self) -> None:
        self.closed = True
