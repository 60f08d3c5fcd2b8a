"""Lock: exclusion beyond what put-if-absent gives, and a store whose decisions are made under
one."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from attrs import frozen

from hoodoo.storage.api import Storage


@runtime_checkable
class Held(Protocol):
    """A lock that was acquired. ``from_dead``: it was taken over from a holder that seemed dead."""

    @property
    def from_dead(self) -> bool:
        """Whether the lock was taken over from a holder that seemed dead, whose work may be
        unfinished."""

    def is_held(self) -> bool:
        """Whether it still is: another may have taken it over."""

    def release(self) -> None:
        """Give it back; harmless if it is not held any more. Raises StorageError."""


@runtime_checkable
class Lock(Protocol):
    """What a lock plugin answers. Contract suite: ``hoodoo.testing.contracts.lock``. Picklable."""

    def acquire(self, storage: Storage, name: str, wait: float) -> Held | None:
        """Take the lock ``name`` of the table in ``storage``; None after ``wait`` seconds without
        it.

        At most one holder at a time, over all processes that the lock is made for; not re-entrant.
        """


@frozen
class GuardedStorage:
    """``inner``, for a table whose decisions are made under ``lock``, after ``wait`` seconds at
    most. A :class:`~hoodoo.storage.api.Storage` by what ``inner`` answers."""

    inner: Storage
    lock: Lock
    wait: float

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "inner":  # copies look at an object without a state
            raise AttributeError(name)
        return getattr(self.inner, name)
