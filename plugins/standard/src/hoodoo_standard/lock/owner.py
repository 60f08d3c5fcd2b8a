"""Who holds a lock file: a process and a token, as JSON, so that others can tell when nobody
does."""

from __future__ import annotations

import functools
import json
import os
import threading
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field
from hoodoo.errors import StorageError
from hoodoo.storage.api import Storage
from hoodoo.storage.processes import process_lives
from hoodoo.timeline.heartbeat import identity

_ATTEMPTS = 3


def begin() -> str:
    """A token, in use by this process until :func:`end`."""
    token = uuid.uuid4().hex
    _tokens(os.getpid()).add(token)
    return token


def end(token: str) -> None:
    _tokens(os.getpid()).discard(token)


def told(token: str, **more: object) -> dict[str, object]:
    """What a lock file says of its holder, this process."""
    return {**identity(), "token": token, **more}


def read(data: bytes) -> dict[str, Any]:
    """What a lock file says; nothing, where it is another writer's or torn."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def is_gone(holder: Mapping[str, Any]) -> bool:
    """Whether the holder is known to be gone: its process has ended, or has given the lock up. On
    another machine that can't be known."""
    me = identity()
    if holder.get("process") == me["process"]:
        return str(holder.get("token")) not in _tokens(os.getpid())
    return holder.get("host") == me["host"] and not process_lives(holder)


def put_ours(storage: Storage, path: str, data: bytes) -> bool:
    """Whether ``path`` was created by us with ``data``, which no other writer ever puts.

    Asks again after an error: after an unknown answer the store has to say what it did, and a local
    one can fail for a file that is deleted while it looks. Raises StorageError where it goes on;
    the file may be there, and its token is to be given up."""
    for left in reversed(range(_ATTEMPTS)):
        try:
            if storage.put_if_absent(path, data):
                return True
            return storage.get(path) == data
        except FileNotFoundError:
            return False
        except StorageError:
            if not left:
                raise
    raise AssertionError("unreachable")


def insist(call: Callable[[], object]) -> None:
    """A release that fails keeps others waiting, so it is tried again at once."""
    for left in reversed(range(_ATTEMPTS)):
        try:
            call()
            return
        except StorageError:
            if not left:
                raise


@define
class _Tokens:
    _guard: threading.Lock = field(factory=threading.Lock)
    _used: set[str] = field(factory=set)

    def add(self, token: str) -> None:
        with self._guard:
            self._used.add(token)

    def discard(self, token: str) -> None:
        with self._guard:
            self._used.discard(token)

    def __contains__(self, token: str) -> bool:
        with self._guard:
            return token in self._used


@functools.lru_cache(maxsize=2)
def _tokens(pid: int) -> _Tokens:
    """Locks are not inherited by a process that was forked."""
    return _Tokens()
