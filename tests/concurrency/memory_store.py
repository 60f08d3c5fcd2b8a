"""A store in memory, in the manner of an object store: whole objects, no directories of their own.

For trials by the thousand: a table is a dictionary, so a fresh copy costs nothing.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from hoodoo.storage.api import Entry

Objects = dict[str, tuple[bytes, float]]  # bytes, and when they were put


_TIMELINE = re.compile(r"\.hoodie/(timeline/)?\d{17}[._]")


class MemoryStorage:
    """Objects of one process. Cannot be pickled. ``scratch_at``: a local directory that exists.

    Nobody may overwrite a file of the timeline: an AssertionError.
    """

    def __init__(self, scratch_at: Path, objects: Mapping[str, tuple[bytes, float]] = {}) -> None:
        self.objects: Objects = dict(objects)
        self._scratch = scratch_at
        self._lock = threading.Lock()
        self._clock = max((when for _, when in self.objects.values()), default=1.8e9)

    @property
    def root(self) -> str:
        return "memory://table"

    def put(self, path: str, data: bytes) -> None:
        with self._lock:
            assert path not in self.objects or not _TIMELINE.match(path), f"{path} is overwritten"
            self._put(path, data)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        with self._lock:
            if path in self.objects:
                return False
            self._put(path, data)
            return True

    def put_file_if_absent(self, path: str, local: str) -> bool:
        with open(local, "rb") as file:
            data = file.read()
        created = self.put_if_absent(path, data)
        if created:
            os.unlink(local)
        return created

    def get(self, path: str) -> bytes:
        with self._lock:
            if path not in self.objects:
                raise FileNotFoundError(f"{self.root}/{path}")
            return self.objects[path][0]

    def open(self, path: str) -> pa.NativeFile:
        return pa.BufferReader(self.get(path))

    def head(self, path: str) -> Entry | None:
        with self._lock:
            found = self.objects.get(path)
        return None if found is None else Entry(path, len(found[0]), found[1])

    def list(self, prefix: str = "", recursive: bool = False) -> list[Entry]:
        with self._lock:
            found = sorted(self._below(prefix), key=_path)
        if recursive:
            return found
        top = len(_folder(prefix))
        entries: dict[str, Entry] = {}
        for entry in found:
            name, deeper, _ = entry.path[top:].partition("/")
            child = entry.path[:top] + name
            entries[child] = Entry(child, is_dir=True) if deeper else entry
        return sorted(entries.values(), key=_path)

    def delete(self, path: str) -> bool:
        with self._lock:
            return self.objects.pop(path, None) is not None

    def delete_prefix(self, prefix: str) -> int:
        with self._lock:
            gone = self._below(prefix)
            for entry in gone:
                del self.objects[entry.path]
            return len(gone)

    def scratch(self) -> str:
        return str(self._scratch)

    def _put(self, path: str, data: bytes) -> None:
        self._clock += 1
        self.objects[path] = (data, self._clock)

    def _below(self, prefix: str) -> list[Entry]:
        folder = _folder(prefix)
        return [
            Entry(path, len(data), when)
            for path, (data, when) in self.objects.items()
            if path.startswith(folder)
        ]


def _path(entry: Entry) -> str:
    return entry.path  # of one store no two are equal: entries need not be compared whole


def _folder(prefix: str) -> str:
    return prefix.strip("/") + "/" if prefix.strip("/") else ""
