"""A file where Lance finds it: Lance opens paths of this machine, and a store may be anywhere.

Of a file elsewhere a local one of the same length is made, without content at first: it gets the
end of the file, which says what is where, and then the pages of the columns that are read.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
from hoodoo.storage.api import Storage, has_plain_files
from hoodoo.storage.temporaries import new_name
from hoodoo.storage.uri import local_path

# The end of a Lance file: where descriptions of columns, their table and the table of other buffers
# begin, how many of the latter and of columns there are, the version, and the name.
_END = struct.Struct("<QQQIIHH4s")
_BUFFER = struct.Struct("<QQ")
_ENDS_WITH = b"LANC"
_SMALL = 1 << 20  # bytes; such a file is brought in one piece
_PIECE = 8 << 20


class NearFile:
    """``file`` is the open file ``path`` of ``storage``; it is closed with this."""

    def __init__(self, storage: Storage, path: str, file: pa.NativeFile) -> None:
        self._file, self.size = file, int(file.size())
        self._copy: str | None = None
        self._columns: Sequence[Any] = ()
        self._there: set[tuple[int, int]] = set()
        self._path = ""
        if has_plain_files(storage):
            self._path = f"{local_path(storage.root)}/{path}"
        # Lance takes no path that has such characters.
        if not self._path.isprintable() or not self._path:
            self._copy = os.path.join(storage.scratch(), f"{new_name()}.lance")

    def local(self) -> str:
        """The path for Lance; at first its end alone may be there."""
        if self._copy is None:
            return self._path
        if not self._there:
            try:
                with open(self._copy, "wb") as sink:
                    sink.truncate(self.size)
                self._fill(self._ends())
            except BaseException:
                self.close()
                raise
        return self._copy

    def opened(self, metadata: Any) -> None:
        """What Lance says of it."""
        self._columns = metadata.columns

    def bring(self, schema: pa.Schema, names: Iterable[str]) -> None:
        """The pages of these columns."""
        if self._copy is None or (0, self.size) in self._there:
            return
        counts = [_columns_of(field.type) for field in schema]
        if sum(counts) != len(self._columns):  # another program counts otherwise
            self._fill([(0, self.size)])
            return
        wanted = frozenset(names)
        first = 0
        for field, count in zip(schema, counts, strict=True):
            if field.name in wanted:
                for column in self._columns[first : first + count]:
                    self._fill((b.position, b.size) for b in _buffers(column))
            first += count

    def _ends(self) -> Iterator[tuple[int, int]]:
        """All but the pages of columns."""
        if self.size <= max(_SMALL, _END.size):
            yield 0, self.size
            return
        *starts, others, _, _, _, name = _END.unpack(self._at(self.size - _END.size, _END.size))
        if name != _ENDS_WITH or max(starts) > self.size - _END.size:
            raise ValueError("it does not end as one")
        yield min(starts), self.size - min(starts)
        for number in range(others):
            at = self._at(starts[-1] + number * _BUFFER.size, _BUFFER.size)
            yield _BUFFER.unpack(at)

    def _at(self, position: int, size: int) -> bytes:
        found: bytes = self._file.read_at(size, position)
        if len(found) < size:
            raise OSError("it ends too early")
        return found

    def _fill(self, parts: Iterable[tuple[int, int]]) -> None:
        assert self._copy is not None
        with open(self._copy, "r+b") as sink:
            for position, size in parts:
                if (position, size) in self._there:
                    continue
                sink.seek(position)
                for start in range(position, position + size, _PIECE):
                    sink.write(self._at(start, min(_PIECE, position + size - start)))
                self._there.add((position, size))

    def close(self) -> None:
        self._file.close()
        if self._copy is not None:
            with suppress(OSError):
                os.unlink(self._copy)


def _columns_of(kind: pa.DataType) -> int:
    """Columns of the file that a column is: each struct and list is one, a list of fixed size of
    numbers is none."""
    if pa.types.is_fixed_size_list(kind):
        return 1
    return 1 + sum(_columns_of(kind.field(i).type) for i in range(kind.num_fields))


def _buffers(column: Any) -> Iterator[Any]:
    yield from column.column_buffers
    for page in column.pages:
        yield from page.buffers
