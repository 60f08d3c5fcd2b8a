"""A stretch of a stored file that is read like a file, and what is said of one that is damaged.

RFC-08's inline file system: an HFile inside a log file is read where it lies.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen
from hoodoo.errors import CorruptTableError, StorageError
from hoodoo.storage.api import Storage

FIX = (
    "Restore the file from a copy; if it is one of a metadata table, `hoodoo verify` compares that "
    "with "
    "the files, and `hoodoo rebuild-index` rebuilds it."
)


@frozen
class FileWindow:
    """``size`` bytes that ``fetch`` answers ranges of: ``fetch(start, stop)``, both from the
    window's beginning. ``name`` is for the messages. Nothing is read or copied until it is asked
    for."""

    fetch: Callable[[int, int], bytes]
    size: int
    name: str

    @classmethod
    def of(
        cls, storage: Storage, path: str, offset: int = 0, size: int | None = None
    ) -> FileWindow:
        """``size`` bytes at ``offset`` of the file ``path``; without ``size``, to its end.

        Raises FileNotFoundError if there is no such file. Several threads may read at once.
        """
        file = storage.open(path)
        name = path if not offset else f"{path}, block content at offset {offset}"
        found = max(0, int(file.size()) - offset)

        def fetch(start: int, stop: int) -> bytes:
            try:
                data: bytes = file.read_at(stop - start, offset + start)
            except OSError as error:
                raise StorageError(
                    f"file {path}",
                    f"bytes {offset + start} to {offset + stop} could not be read ({error}).",
                    "Try again; if it persists, look at the store.",
                ) from error
            return data

        return cls(fetch, found if size is None else min(size, found), name)

    @classmethod
    def on(cls, data: bytes, name: str = "HFile in memory") -> FileWindow:
        """Bytes that are there already."""
        return cls(lambda start, stop: data[start:stop], len(data), name)

    def read(self, start: int, stop: int) -> bytes:
        """Exactly the bytes from ``start`` to ``stop``. Raises CorruptTableError if some are
        missing."""
        if not 0 <= start <= stop <= self.size:
            raise self.corrupt(start, f"it is said to reach to byte {stop} of {self.size}")
        data = self.fetch(start, stop)
        if len(data) != stop - start:
            raise self.corrupt(start, "the file has become shorter")
        return data

    def corrupt(self, offset: int, what: str) -> CorruptTableError:
        """The error that ``what`` is wrong with the block at ``offset``."""
        return CorruptTableError(f"HFile {self.name}, block at offset {offset}", f"{what}.", FIX)
