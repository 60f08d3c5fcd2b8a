"""The archived timeline of versions 8 and 9: which files it consists of, and how that changes.

``history/`` holds Parquet files, ``<min>_<max>_<level>.parquet``, and manifests: ``manifest_N``
names the files that count, the greatest N is the present (Hudi's ``LSMTimeline``). ``_version_``
says N once more; readers of other projects begin there, so it is brought up to date after each
manifest.

A manifest is only ever put if absent, so that of two archivers one sees the other. A number that a
crash has left behind counts: what a manifest names is durable before it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from attrs import frozen
from hoodoo.errors import CommitConflictError, CorruptTableError, StorageUnknownError
from hoodoo.model.config import TableConfig
from hoodoo.storage.api import Entry, Storage
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.layouts import LAYOUTS

VERSION_FILE = "_version_"
_MANIFEST = re.compile(r"manifest_(\d+)")
_DATA = re.compile(r"(\d+)_(\d+)_(\d+)\.parquet")
_ATTEMPTS = 20


@frozen
class HistoryFile:
    """A data file; ``size`` in bytes. Its instants were requested from ``first`` to ``last``."""

    name: str
    size: int
    first: str
    last: str
    level: int

    @classmethod
    def parse(cls, name: str, size: int) -> HistoryFile | None:
        match = _DATA.fullmatch(name)
        return cls(name, size, match[1], match[2], int(match[3])) if match else None


Files = tuple[HistoryFile, ...]


@frozen
class Snapshot:
    """The ``files`` that count, as the newest whole manifest names them; ``number`` is the greatest
    one in use, 0 if there is none. ``entries`` is the listing that this was seen in."""

    number: int
    files: Files
    entries: tuple[Entry, ...] = ()


# The directory of the archived timeline, relative to the table root.
folder = LAYOUTS[2].archive_folder


def snapshot(storage: Storage, config: TableConfig) -> Snapshot:
    """What the archived timeline consists of now: a listing and a small file.

    Raises :class:`~hoodoo.errors.CorruptTableError` if there are manifests and none of them is
    whole."""
    where = folder(config)
    for _ in range(_ATTEMPTS):
        entries = tuple(storage.list(where))
        numbers = manifest_numbers(entries)
        if not numbers:
            return Snapshot(0, (), entries)
        for number in numbers:
            found = read_manifest(storage, config, number)
            if found is not None:
                return Snapshot(numbers[0], found, entries)
        # Those of the listing may have been cleaned away meanwhile.
        if all(storage.head(f"{where}/manifest_{n}") for n in numbers):
            break
    raise CorruptTableError(
        f"{storage.root}/{where}",
        "no manifest of the archived timeline can be read.",
        "Restore the newest manifest_N from a copy.",
    )


def manifest_numbers(entries: tuple[Entry, ...]) -> list[int]:
    """The numbers of the manifests in a listing, greatest first."""
    found = (_MANIFEST.fullmatch(e.name) for e in entries if not e.is_dir)
    return sorted((int(match[1]) for match in found if match), reverse=True)


def read_manifest(storage: Storage, config: TableConfig, number: int) -> Files | None:
    """The files that a manifest names; None if it is gone, or another tool's crash has torn it."""
    try:
        record: Any = json.loads(storage.get(f"{folder(config)}/manifest_{number}"))
        entries = record.get("files") or ()
        files = [HistoryFile.parse(str(e["fileName"]), int(e["fileLen"])) for e in entries]
    except (FileNotFoundError, AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return None
    return tuple(f for f in files if f is not None)


def publish(storage: Storage, config: TableConfig, change: Callable[[Files], Files]) -> Snapshot:
    """Make ``change`` (files that count -> files that shall) the present; the files are durable.

    ``change`` is called again where another archiver was faster. Raises
    :class:`~hoodoo.errors.CommitConflictError` after many such.
    """
    where = folder(config)
    for _ in range(_ATTEMPTS):
        seen = snapshot(storage, config)
        files = change(seen.files)
        if files == seen.files:
            point(storage, config)
            return seen
        try:
            done = storage.put_if_absent(f"{where}/manifest_{seen.number + 1}", _render(files))
        except StorageUnknownError:
            continue  # if it has landed, the next look sees it
        if done:
            point(storage, config)
            return Snapshot(seen.number + 1, files, seen.entries)
    raise CommitConflictError(
        f"{storage.root}/{where}",
        f"another archiver was faster {_ATTEMPTS} times.",
        "Nothing is lost: the next write archives again.",
    )


def point(storage: Storage, config: TableConfig) -> None:
    """Have ``_version_`` name the greatest manifest.

    Looked at again after each change, for two archivers may get here in any order. Where it is
    missing for a moment, readers list the manifests.
    """
    path = f"{folder(config)}/{VERSION_FILE}"
    for _ in range(_ATTEMPTS):
        numbers = manifest_numbers(tuple(storage.list(folder(config))))
        wanted = str(numbers[0]).encode() if numbers else b""
        try:
            if not numbers or storage.get(path) == wanted:
                return
        except FileNotFoundError:
            pass
        else:
            storage.delete(path)
        try:
            storage.put_if_absent(path, wanted)
        except StorageUnknownError:
            continue


def in_order(files: Files) -> Files:
    """Sorted by the first instant, as the levels are merged."""
    return tuple(sorted(files, key=lambda f: (order_key(f.first), order_key(f.last), f.name)))


def _render(files: Files) -> bytes:
    """As Hudi's Jackson prints it."""
    rows = ", ".join(
        f'{{\n    "fileName" : "{f.name}",\n    "fileLen" : {f.size}\n  }}' for f in files
    )
    return f'{{\n  "files" : [ {rows} ]\n}}'.encode()
