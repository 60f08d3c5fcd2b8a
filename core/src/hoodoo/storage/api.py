"""The storage seam: the only door to files.

Paths are relative to the store's root (the table's base path), with ``/``, without a leading one.
No protocol above this seam renames, so that an object store fits behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

import pyarrow as pa
from attrs import frozen

from hoodoo.errors import CorruptTableError

# What an error says of a file that a later instant may have taken away.
NOT_THERE = "the timeline names this file, but it does not exist."
OF_LOST_FILES = (
    "Restore the file from a copy, or restore the table to an instant before that "
    "commit (table.restore); table.verify() lists all such files."
)
Reader = TypeVar("Reader")


def open_named(storage: Storage, path: str, obj: str) -> pa.NativeFile:
    """``path`` for reading. Raises CorruptTableError about ``obj`` if it is missing."""
    try:
        return storage.open(path)
    except FileNotFoundError as error:
        raise CorruptTableError(
            obj,
            NOT_THERE,
            "If a clean deleted it during the read, read again. Otherwise restore the file from a "
            "copy, or restore the table to an instant before it (table.restore); table.verify() "
            "lists all lost files.",
        ) from error


def of_size(reader: Reader, path: str, size: int) -> Reader:
    """``reader``, of the base file ``path``. CorruptTableError if it has not the ``size`` (bytes;
    0: not known) that the table notes. Readers that have ``size()`` tell it: no store is asked
    again."""
    has: int = reader.size() if size and hasattr(reader, "size") else size
    if has != size:
        raise another_file(path, has, size, "the table's metadata")
    return reader


def another_file(path: str, has: int, size: int, who: str) -> CorruptTableError:
    """The error about a base file that is not as long as ``who`` says."""
    rule = f"this file has {has} bytes, and {who} says {size}: another file is in its place."
    return CorruptTableError(path, rule, OF_LOST_FILES)


@frozen(order=True)
class Entry:
    """One listed object. ``modified`` is seconds since the epoch; directories have size 0. ``tag``:
    the store's own name of these bytes, as an ETag is; another one after a put that changes them.
    Empty where a store has none."""

    path: str
    size: int = 0
    modified: float = 0.0
    is_dir: bool = False
    tag: str = ""

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rsplit("/", 1)[-1]


@runtime_checkable
class Storage(Protocol):
    """What a storage plugin answers. Contract suite: ``hoodoo.testing.contracts.storage``.

    Every method raises :class:`~hoodoo.errors.StorageError` when the operation did not take place
    and :class:`~hoodoo.errors.StorageUnknownError` when that is not known. When a mutating method
    returns, its effect is durable. Instances can be pickled to executors.
    """

    @property
    def root(self) -> str:
        """Absolute URI of the root, e.g. ``file:///data/trips``."""

    def put(self, path: str, data: bytes) -> None:
        """Create or replace ``path``. Not atomic everywhere: a crash may leave a torn object."""

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create ``path`` atomically, whole or not at all. False (nothing changed) if it exists."""

    def put_file_if_absent(self, path: str, local: str) -> bool:
        """Like :meth:`put_if_absent` with the bytes of the local file ``local``.

        The local file is consumed: it may be linked or moved, and the caller only ever deletes it.
        """

    def get(self, path: str) -> bytes:
        """The bytes of ``path``; raises :class:`FileNotFoundError` if there is none."""

    def open(self, path: str) -> pa.NativeFile:
        """A random-access reader; raises :class:`FileNotFoundError` if there is none."""

    def head(self, path: str) -> Entry | None:
        """The entry of one object, or None."""

    def list(self, prefix: str = "", recursive: bool = False) -> list[Entry]:
        """Entries below the directory ``prefix``, sorted by path; empty if it does not exist.

        Not recursive: direct children, directories included. Recursive: objects only, at any depth.
        """

    def delete(self, path: str) -> bool:
        """Delete one object; False if there was none."""

    def delete_prefix(self, prefix: str) -> int:
        """Delete the directory ``prefix`` and all objects in it; returns their number."""

    def scratch(self) -> str:
        """A local directory for files under construction that :meth:`put_file_if_absent` takes.

        Chosen so that handing the file over costs no copy where the store is local. Rows that an
        engine spills lie there, too: a store that encrypts encrypts it, or answers a place in
        memory. What a process that was killed left there is the store's to remove.
        """


def is_shared(storage: Storage) -> bool:
    """Whether other processes see what one puts into ``storage``: yes, unless it has an attribute
    ``shared`` that is False, as one has that lies in the memory of its process. An engine with
    processes of its own refuses such a store."""
    return getattr(storage, "shared", True) is not False


def has_plain_files(storage: Storage) -> bool:
    """Whether any program finds the very bytes of an object at the URI ``root``/``path``: the store
    has an attribute ``plain_files`` that is True. Then Spark may read Parquet itself. The scheme
    does not say it: a store that encrypts, or caches, may have a root below ``file:``."""
    return getattr(storage, "plain_files", False) is True


def get_if_there(storage: Storage, path: str) -> bytes | None:
    """The bytes of ``path``; None if there is none."""
    try:
        return storage.get(path)
    except FileNotFoundError:
        return None


def names_in(storage: Storage, folder: str) -> list[str]:
    """The names of the objects directly in a directory, in any order: by ``names``, if the store
    has that, which looks at no object, or a listing."""
    return names_and_tags(storage, folder)[0]


def names_and_tags(storage: Storage, folder: str) -> tuple[list[str], dict[str, str]]:
    """The same, and the tags of those that have one by name, if they were listed. A store that
    remembers looks (``recall``) answers listings from these."""
    quick: Callable[[str], list[str]] | None = getattr(storage, "names", None)
    if quick is not None and getattr(storage, "recall", None) is None:
        return quick(folder), {}
    found = [entry for entry in storage.list(folder) if not entry.is_dir]
    return [entry.name for entry in found], {entry.name: entry.tag for entry in found if entry.tag}
