"""Steps and stores that fail on purpose; importable by the workers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from attrs import field, frozen
from hoodoo.errors import StorageUnknownError
from hoodoo.hookspecs.engine import Task
from hoodoo_standard.storage.local import LocalStorage

Batches = Iterator[pa.RecordBatch]


def mark(folder: str, name: str) -> int:
    """Leave one more mark called ``name``; how many there were before."""
    before = sum(found.startswith(name + "-") for found in os.listdir(folder))
    os.close(tempfile.mkstemp(prefix=name + "-", dir=folder)[0])
    return before


def marks(folder: Path) -> dict[str, int]:
    """name -> number of marks."""
    found: dict[str, int] = {}
    for path in folder.iterdir():
        name = path.name.rsplit("-", 1)[0]
        found[name] = found.get(name, 0) + 1
    return found


@frozen
class FailsAtFirst:
    """Raises ``kind`` after handing on all its rows, ``times`` times for each partition."""

    out_schema: pa.Schema
    folder: str
    times: int
    kind: type[Exception] = OSError
    name: str = "task"

    def __call__(self, batches: Batches, task: Task) -> Batches:
        before = mark(self.folder, f"{self.name}{task.number}")
        yield from batches
        if before < self.times:
            raise self.kind("disk", "is slow.", "Wait.")


@frozen
class UnsureStorage(LocalStorage):
    """A store whose first answer about each staged file is that it doesn't know; the file is there."""

    folder: str = field(default="", kw_only=True)

    def put_file_if_absent(self, path: str, local: str) -> bool:
        made = super().put_file_if_absent(path, local)
        number = path.rsplit("-", 1)[1]
        if mark(self.folder, number) == 0:
            raise StorageUnknownError(path, "timed out.", "")
        assert not made
        return made
