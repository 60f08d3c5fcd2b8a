"""Hudi's lock file, so that Spark Hudi and Hoodoo exclude each other: who creates it has the lock.

Source: ``org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider`` of Hudi 1.2: the
file `lock`, JSON with three fields that only people read; created if absent, deleted at the end;
older than `hoodie.write.lock.filesystem.expire` minutes it may be deleted by others. Ours says the
process, too.

Hudi's side has gaps of its own: it deletes the file whoever made it (close after unlock, an expired
lock), and on a local disk it looks before it creates. So a lock is looked at again once it is had,
and before each decision (``is_held``): Hoodoo loses rather than overwrites."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime

from attrs import define, field, frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.log import get_logger
from hoodoo.options.table import STORAGE_URI
from hoodoo.storage.api import Entry, Storage
from hoodoo.storage.lock import Held
from hoodoo.storage.uri import absolute, split
from hoodoo.timeline.heartbeat import store_time
from hoodoo.timeline.ledger import LOCK

from hoodoo_standard import options
from hoodoo_standard.lock import FOLDER, owner
from hoodoo_standard.lock.conditional_put import ConditionalPutLock
from hoodoo_standard.lock.waiting import poll

# Seconds between the two deletes of a Hudi writer that ends, at most: it unlocks, then it closes.
_CLOSING = 0.02
_BREAK_WAIT = 5.0
_log = get_logger(__name__)


@frozen
class FilesystemLock:
    """``path``: the folder of the lock file, absolute; empty: `.hoodie` of the table. ``expire``:
    minutes after which a lock may be broken whoever holds it; 0: never. A holder of this machine
    whose process has ended is broken at once."""

    path: str = ""
    expire: int = 0
    options: Mapping[str, str] = field(
        factory=dict, repr=False, eq=False
    )  # for the storage of ``path``

    @classmethod
    def from_settings(cls, settings: Settings) -> FilesystemLock:
        path = options.LOCK_PATH.given(settings.options) or ""
        if path and not split(path)[0] and not path.startswith("/"):
            raise ConfigError(
                f"option {options.LOCK_PATH.key}",
                f"must be an absolute path or a URI, not {path!r}: Spark would look elsewhere for "
                "it.",
                "Write the whole path, the same for all writers, or leave it out.",
            )
        return cls(path, int(settings.value(options.LOCK_EXPIRE)), settings.options)

    def acquire(self, storage: Storage, name: str, wait: float) -> Held | None:
        """Raises StorageError; the lock is not had then. Hudi knows one lock only, the table's."""
        folder = ".hoodie"
        if self.path and absolute(self.path) != f"{storage.root}/{folder}":
            given = Settings(options={**self.options, STORAGE_URI.key: absolute(self.path)})
            storage, folder = resolve("storage", split(self.path)[0], given).instance, ""
        file = "lock" if name == LOCK else f"lock-{name}"
        path = f"{folder}/{file}" if folder else file
        return poll(_Attempt(self, storage, path, f"break-{file}"), wait)


@define
class _Attempt:
    """Asks once for the lock file ``path``; ``breaking`` is the lock of those who delete
    another's."""

    lock: FilesystemLock
    storage: Storage
    path: str
    breaking: str
    _foreign: bool = False
    _clock: tuple[float, float] | None = None  # the store's time, and ours then

    def __call__(self) -> _Held | None:
        entry, data = self._look()
        if entry is None:
            return self._create(from_dead=False)
        self._foreign = "token" not in owner.read(data)
        if not self._is_stale(entry, data):
            return None
        # One at a time, or the second would delete the lock of who came after the first.
        breaking = ConditionalPutLock().acquire(self.storage, self.breaking, _BREAK_WAIT)
        if breaking is None:
            return None
        try:
            if self._look() != (entry, data) or not breaking.is_held():
                return None
            _log.info("lock_broken", path=self.path, root=self.storage.root)
            self.storage.delete(self.path)
            return self._create(from_dead=True)
        finally:
            breaking.release()

    def _look(self) -> tuple[Entry | None, bytes]:
        entry = self.storage.head(self.path)
        with suppress(FileNotFoundError):
            if entry is not None:
                return entry, self.storage.get(self.path)
        return None, b""

    def _is_stale(self, entry: Entry, data: bytes) -> bool:
        if owner.is_gone(owner.read(data)):
            return True
        if self.lock.expire == 0:
            return False
        if self._clock is None:
            self._clock = store_time(self.storage, FOLDER), time.monotonic()
        then, ours = self._clock
        return then + time.monotonic() - ours - entry.modified > self.lock.expire * 60

    def _create(self, from_dead: bool) -> _Held | None:
        token = owner.begin()
        data = _content(token)
        try:
            if owner.put_ours(self.storage, self.path, data):
                if self._foreign:
                    time.sleep(_CLOSING)
                held = _Held(self, data, token, from_dead)
                if held.is_held():
                    return held
        except BaseException:
            owner.end(token)  # should the file be there, the next one of this machine sees as much
            with suppress(Exception):
                if self.storage.get(self.path) == data:
                    self.storage.delete(self.path)
            raise
        owner.end(token)
        return None


@define
class _Held:
    _attempt: _Attempt
    _data: bytes
    _token: str
    from_dead: bool
    _since: float = field(factory=time.monotonic, init=False)
    _guard: threading.Lock = field(factory=threading.Lock, init=False)
    _ended: bool = field(default=False, init=False)

    def is_held(self) -> bool:
        return not self._ended and self._is_ours()

    def release(self) -> None:
        with self._guard:
            ended, self._ended = self._ended, True
        if ended:
            return
        try:
            owner.insist(self._remove)
        finally:
            owner.end(self._token)

    def _remove(self) -> None:
        storage, expire = self._attempt.storage, self._attempt.lock.expire
        if expire == 0 or time.monotonic() - self._since < expire * 60:
            if self._is_ours():
                storage.delete(self._attempt.path)
            return
        # Anybody may be breaking it right now: not both of us.
        breaking = ConditionalPutLock().acquire(storage, self._attempt.breaking, _BREAK_WAIT)
        if breaking is None:
            return  # as good as gone: it has expired
        try:
            if self._is_ours():
                storage.delete(self._attempt.path)
        finally:
            breaking.release()

    def _is_ours(self) -> bool:
        try:
            return self._attempt.storage.get(self._attempt.path) == self._data
        except FileNotFoundError:
            return False


def _content(token: str) -> bytes:
    """Hudi's three fields, which it logs when it has to wait; then ours."""
    now = datetime.now()
    told = {
        "lockCreateTime": f"{now:%Y-%m-%d %H:%M:%S}.{now.microsecond // 1000:03d}",
        "lockThreadName": threading.current_thread().name,
        "lockStacksInfo": ["hoodoo"],
        **owner.told(token),
    }
    return json.dumps(told, indent=2).encode()
