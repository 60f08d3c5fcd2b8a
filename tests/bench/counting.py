"""A store that counts the bytes that are read from it, by kind of file."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
from hoodoo.storage.api import Storage
from hoodoo.testing.stores import Delegating

DATA, INDEX, OTHER = "data files", "index files", "timeline and properties"


def kind_of(path: str) -> str:
    if not path.startswith(".hoodie"):
        return DATA
    within = path.removeprefix(".hoodie/metadata/")
    return OTHER if within == path or within.startswith(".hoodie") else INDEX


class CountingStorage(Delegating):
    """``read``: bytes by kind of file; ``requests``: how many times some were asked for."""

    def __init__(self, inner: Storage) -> None:
        super().__init__(inner)
        self.read: Counter[str] = Counter()
        self.requests: Counter[str] = Counter()

    def get(self, path: str) -> bytes:
        data = super().get(path)
        self.told(path, len(data))
        return data

    def open(self, path: str) -> pa.NativeFile:
        return pa.PythonFile(_Counted(super().open(path), self, path), mode="r")

    def told(self, path: str, size: int) -> None:
        with self._lock:
            self.read[kind_of(path)] += size
            self.requests[kind_of(path)] += 1


class _Counted:
    """A file as Python has them; Arrow holds a lock while it seeks and reads."""

    def __init__(self, file: Any, store: CountingStorage, path: str) -> None:
        self._file, self._store, self._path = file, store, path
        self.closed = False

    def read(self, size: int | None = None) -> bytes:
        data: bytes = self._file.read(size)
        self._store.told(self._path, len(data))
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return True

    def flush(self) -> None: ...

    def close(self) -> None:
        self.closed = True
        self._file.close()
