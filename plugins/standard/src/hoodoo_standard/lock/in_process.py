"""The lock among the threads of one process, for tables that no other process writes.

Source: ``org.apache.hudi.client.transaction.lock.InProcessLockProvider``.
"""

from __future__ import annotations

import functools
import os
import threading

from attrs import define, field, frozen
from hoodoo.hookspecs.registration import Settings
from hoodoo.storage.api import Storage
from hoodoo.storage.lock import Held


@frozen
class InProcessLock:
    """One lock for each root of a store and name. A thread that ends without giving it back keeps
    it."""

    @classmethod
    def from_settings(cls, settings: Settings) -> InProcessLock:
        return cls()

    def acquire(self, storage: Storage, name: str, wait: float) -> Held | None:
        lock = _locks(os.getpid()).of(storage.root, name)
        if not lock.acquire(timeout=min(max(wait, 0.0), threading.TIMEOUT_MAX)):
            return None
        return _Held(lock)


@define
class _Held:
    _lock: threading.Lock
    _released: bool = field(default=False, init=False)
    _guard: threading.Lock = field(factory=threading.Lock, init=False)

    @property
    def from_dead(self) -> bool:
        return False

    def is_held(self) -> bool:
        return not self._released

    def release(self) -> None:
        with self._guard:
            released, self._released = self._released, True
        if not released:
            self._lock.release()


class _Locks:
    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._made: dict[tuple[str, str], threading.Lock] = {}

    def of(self, root: str, name: str) -> threading.Lock:
        with self._guard:
            return self._made.setdefault((root, name), threading.Lock())


@functools.lru_cache(maxsize=2)
def _locks(pid: int) -> _Locks:
    """A process that was forked has locks of its own: a copy of a held one would never be free."""
    return _Locks()
