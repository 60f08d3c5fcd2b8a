"""Lock: exclusion beyond what put-if-absent gives, and a store whose decisions are made under one."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import pyarrow as pa
from attrs import frozen

from hoodoo.storage.api import Entry, Storage, has_plain_files, is_shared
from hoodoo.storage.together import at_once


@runtime_checkable
class Held(Protocol):
    """A lock that was acquired. ``from_dead``: it was taken over from a holder that seemed dead."""

    @property
    def from_dead(self) -> bool: ...

    def is_held(self) -> bool:
        """Whether it still is: another may have taken it over."""

    def release(self) -> None:
        """Give it back; harmless if it is not held any more. Raises StorageError."""


@runtime_checkable
class Lock(Protocol):
    """What a lock plugin answers. Contract suite: ``hoodoo.testing.contracts.lock``. Picklable."""

    def acquire(self, storage: Storage, name: str, wait: float) -> Held | None:
        """Take the lock ``name`` of the table in ``storage``; None after ``wait`` seconds without it.

        At most one holder at a time, over all processes that the lock is made for; not re-entrant.
        """


@frozen
class GuardedStorage:
    """``inner``, for a table whose decisions are made under ``lock``, after ``wait`` seconds at most."""

    inner: Storage
    lock: Lock
    wait: float

    @property
    def root(self) -> str:
        return self.inner.root

    @property
    def shared(self) -> bool:
        return is_shared(self.inner)

    @property
    def plain_files(self) -> bool:
        return has_plain_files(self.inner)

    @property
    def at_once(self) -> int:
        return at_once(self.inner)

    def put(self, path: str, data: bytes) -> None:
        self.inner.put(path, data)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        return self.inner.put_if_absent(path, data)

    def put_file_if_absent(self, path: str, local: str) -> bool:
        return self.inner.put_file_if_absent(path, local)

    def get(self, path: str) -> bytes:
        return self.inner.get(path)

    def open(self, path: str) -> pa.NativeFile:
        return self.inner.open(path)

    def head(self, path: str) -> Entry | None:
        return self.inner.head(path)

    def list(self, prefix: str = "", recursive: bool = False) -> list[Entry]:
        return self.inner.list(prefix, recursive)

    def delete(self, path: str) -> bool:
        return self.inner.delete(path)

    def delete_prefix(self, prefix: str) -> int:
        return self.inner.delete_prefix(prefix)

    def scratch(self) -> str:
        return self.inner.scratch()

    def __getattr__(self, name: str) -> Any:
        """What else the store may have."""
        if name.startswith("_") or name == "inner":  # copies look at an object without a state
            raise AttributeError(name)
        return getattr(self.inner, name)
