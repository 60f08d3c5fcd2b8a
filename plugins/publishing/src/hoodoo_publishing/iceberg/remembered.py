"""What a process remembers of manifests: their names are never used again, so it reads each
once."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sized
from functools import partial
from typing import TypeVar

from hoodoo.model.filegroup import BaseFile
from hoodoo.storage.api import Storage
from hoodoo.storage.together import together
from hoodoo.timeline.names import parse_path

from hoodoo_publishing.iceberg import manifests
from hoodoo_publishing.iceberg.manifests import DELETED, Manifest
from hoodoo_publishing.iceberg.partitions import Row

# Their entries, which are large, and their files.
_KNOWN, _KNOWN_FILES = 10_000, 400_000
_Key = tuple[str, str]
_Noted = TypeVar("_Noted", bound=Sized)
_known: dict[_Key, tuple[Row, ...]] = {}
_known_files: dict[_Key, Mapping[str, BaseFile]] = {}
_lock = threading.Lock()


def remembered(storage: Storage, root: str, path: str, row: Row, entries: list[Row]) -> Manifest:
    """The manifest that has been put at ``path``."""
    key, files = (storage.root, path), _base_files(root, entries)
    _note(_known, _KNOWN, key, tuple(entries))
    _note(_known_files, _KNOWN_FILES, key, files)
    return Manifest(row, files, partial(_entries, storage, path))


def opened(storage: Storage, root: str, rows: list[Row]) -> tuple[Manifest, ...]:
    """The manifests of a list."""
    paths = [below(root, row["manifest_path"]) for row in rows]
    loads = (partial(_entries, storage, path) for path in paths)
    return tuple(map(Manifest, rows, files_of(storage, root, paths), loads))


def below(root: str, uri: str) -> str:
    return uri.removeprefix(f"{root}/")


def _entries(storage: Storage, path: str) -> tuple[Row, ...]:
    """The entries of a manifest."""
    with _lock:
        found = _known.get((storage.root, path))
    if found is None:
        found = tuple(manifests.read(storage.get(path)))
        _note(_known, _KNOWN, (storage.root, path), found)
    return found


def files_of(storage: Storage, root: str, paths: list[str]) -> list[Mapping[str, BaseFile]]:
    """The base files of manifests. Their names are never used again: this process reads each once,
    and the entries of those that a commit changes once more, as it remembers fewer of these."""
    with _lock:
        known = {path: _known_files.get((storage.root, path)) for path in paths}
    lacking = [path for path, files in known.items() if files is None]
    each = together(storage, *(partial(_entries, storage, path) for path in lacking))
    for path, entries in zip(lacking, each, strict=True):
        known[path] = files = _base_files(root, entries)
        _note(_known_files, _KNOWN_FILES, (storage.root, path), files)
    return [known[path] or {} for path in paths]


def _base_files(root: str, entries: Iterable[Row]) -> dict[str, BaseFile]:
    """Those of ``entries`` that are in the snapshot, by path."""
    found = {}
    for entry in entries:
        if entry["status"] != DELETED:
            path = below(root, entry["data_file"]["file_path"])
            file = parse_path(path, entry["data_file"]["file_size_in_bytes"])
            if isinstance(file, BaseFile):
                found[path] = file
    return found


def _note(known: dict[_Key, _Noted], most: int, key: _Key, found: _Noted) -> None:
    """Remember ``found``: ``most`` entries together."""
    with _lock:
        known[key] = found
        while len(known) > 1 and sum(map(len, known.values())) > most:
            del known[next(iter(known))]
