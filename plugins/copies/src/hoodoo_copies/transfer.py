"""Transfer: one file from a store to another one, read back and compared."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from attrs import frozen
from hoodoo.errors import CommitConflictError, StorageError
from hoodoo.storage.api import Entry, Storage
from hoodoo.storage.temporaries import scratch_file

_CHUNK = 8 << 20


@frozen
class Copied:
    """A file of a copy: its size, and the SHA-256 of its bytes. ``stamp``: what tells whether the
    file of the source has changed since."""

    path: str
    size: int
    sha256: str
    stamp: str


def stamp_of(entry: Entry) -> str:
    return f"{entry.size} {entry.tag or entry.modified}"


def digest(storage: Storage, path: str) -> str:
    """The SHA-256 of a file. Raises FileNotFoundError."""
    found = hashlib.sha256()
    for chunk in _chunks(storage, path):
        found.update(chunk)
    return found.hexdigest()


def transfer(source: Storage, target: Storage, entry: Entry, there: Entry | None) -> Copied:
    """Copy ``entry``, in place of the target's entry ``there``. Raises FileNotFoundError if the
    source lacks it, and StorageError if what is read back differs."""
    found, size = hashlib.sha256(), 0
    with scratch_file(target) as local:
        with open(local, "wb") as file:
            for chunk in _chunks(source, entry.path):
                found.update(chunk)
                size += len(chunk)
                file.write(chunk)
        if there is not None:
            if digest(target, entry.path) == found.hexdigest():
                return Copied(entry.path, size, found.hexdigest(), stamp_of(entry))
            target.delete(entry.path)
        if not target.put_file_if_absent(entry.path, local):
            raise CommitConflictError(
                f"{target.root}/{entry.path}",
                "another process has put it meanwhile.",
                "Let one process at a time write a backup, and repeat the call.",
            )
    if digest(target, entry.path) != found.hexdigest():
        raise StorageError(
            f"{target.root}/{entry.path}",
            "has other bytes than were written.",
            "Look at the store, delete the file, and repeat the call.",
        )
    return Copied(entry.path, size, found.hexdigest(), stamp_of(entry))


def _chunks(storage: Storage, path: str) -> Iterator[bytes]:
    with storage.open(path) as file:
        while chunk := file.read(_CHUNK):
            yield chunk
