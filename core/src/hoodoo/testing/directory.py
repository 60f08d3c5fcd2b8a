"""A store for tests: files below one directory, nothing durable. Contract suites use it, so that
they run with hoodoo-core alone; the store of users' files is of hoodoo-standard."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress

import pyarrow as pa
from attrs import field, frozen

from hoodoo.errors import StorageError
from hoodoo.storage import temporaries, uri
from hoodoo.storage.api import Entry


@frozen
class DirectoryStorage:
    """Implements :class:`~hoodoo.storage.api.Storage` below ``base``, a path or a ``file://``
    URI."""

    base: str = field(converter=uri.local_path)

    @property
    def root(self) -> str:
        return "file://" + self.base

    @property
    def plain_files(self) -> bool:
        return True

    def put(self, path: str, data: bytes) -> None:
        self._place(self._temporary(data), path, os.replace)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        self._file(path)
        made = self._temporary(data)
        try:
            return self._link(made, path)
        finally:
            os.unlink(made)

    def put_file_if_absent(self, path: str, local: str) -> bool:
        made = self._temporary(b"")
        shutil.copyfile(local, made)
        try:
            created = self._link(made, path)
        finally:
            os.unlink(made)
        if created:
            os.unlink(local)
        return created

    def get(self, path: str) -> bytes:
        with self.open(path) as file:
            data: bytes = file.read()
            return data

    def open(self, path: str) -> pa.NativeFile:
        if self.head(path) is None:
            raise FileNotFoundError(f"{self.root}/{path}")
        return pa.OSFile(self._file(path), "rb")

    def head(self, path: str) -> Entry | None:
        found = self._file(path)
        with suppress(FileNotFoundError, NotADirectoryError):
            if not os.path.isdir(found):
                stat = os.stat(found)
                return Entry(path, stat.st_size, stat.st_mtime)
        return None

    def list(self, prefix: str = "", recursive: bool = False) -> list[Entry]:
        found: list[Entry] = []
        waiting = [prefix.removesuffix("/")]
        if prefix:
            self._file(waiting[0])
        while waiting:
            above = waiting.pop()
            with suppress(FileNotFoundError, NotADirectoryError):
                for item in os.scandir(self._file(above) if above else self.base):
                    path = f"{above}/{item.name}" if above else item.name
                    if temporaries.is_ours(path):
                        continue
                    if item.is_dir() and recursive:
                        waiting.append(path)
                        continue
                    with suppress(FileNotFoundError):
                        stat = item.stat()
                        size = 0 if item.is_dir() else stat.st_size
                        found.append(Entry(path, size, stat.st_mtime, is_dir=item.is_dir()))
        return sorted(found, key=lambda entry: entry.path)

    def delete(self, path: str) -> bool:
        found = self._file(path)
        if os.path.isdir(found):
            return False
        try:
            os.unlink(found)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def delete_prefix(self, prefix: str) -> int:
        top = self._file(prefix.removesuffix("/")) if prefix else self.base
        if prefix and os.path.islink(top):  # it goes, and not what it leads to
            os.unlink(top)
            return 1
        count = sum(self.delete(entry.path) for entry in self.list(prefix, recursive=True))
        for folder, _, _ in os.walk(top, topdown=False):
            with suppress(OSError):  # a file has come meanwhile, or temporaries stay in it
                os.rmdir(folder)
        return count

    def scratch(self) -> str:
        return temporaries.scratch(self.base)

    def sweep(self, older_than: float = temporaries.DAY) -> int:
        return temporaries.sweep(self.base, older_than)

    # --- steps ------------------------------------------------------------------------------------
    def _file(self, path: str) -> str:
        parts = path.split("/")
        if any(part in ("", ".", "..") for part in parts) or "\0" in path:
            raise StorageError(
                f"path {path!r}", "is not relative to the root in plain parts.", "Use a/b/c."
            )
        return os.path.join(self.base, *parts)

    def _temporary(self, data: bytes) -> str:
        path = os.path.join(self.scratch(), temporaries.new_name())
        with open(path, "xb") as file:
            file.write(data)
        return path

    def _link(self, made: str, path: str) -> bool:
        try:
            self._place(made, path, os.link)
        except FileExistsError:
            return False
        return True

    def _place(self, made: str, path: str, move: Callable[[str, str], object]) -> None:
        target = self._file(path)
        for attempt in range(10):
            try:
                os.makedirs(os.path.dirname(target), exist_ok=True)
                move(made, target)
            except FileNotFoundError:  # a directory went, as another process deletes its prefix
                if attempt == 9:
                    raise
            else:
                return
