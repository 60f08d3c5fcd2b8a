"""The lock that needs only put-if-absent of its store: numbered files, whose newest holder has it.

`.hoodie/.hoodoo/locks/<name>/<epoch>`, epochs from 1 on in 12 digits. To take the lock is to create
the epoch after one that says it is free, or whose holder is dead: its process has ended, or has not
renewed the file for the time that the holder promised, by the store's clock. Epochs only grow, so a
holder that was taken over sees it. Hudi's StorageBasedLockProvider does the same with one file and
etags, which not every store has (hoodoo-cloud offers it); the two don't see each other."""

from __future__ import annotations

import json
import re
import threading
import time
from contextlib import suppress

from attrs import define, field, frozen
from hoodoo.errors import StorageError
from hoodoo.hookspecs.registration import Settings
from hoodoo.log import get_logger
from hoodoo.storage.api import Entry, Storage
from hoodoo.storage.lock import Held
from hoodoo.timeline.heartbeat import store_time

from hoodoo_standard.lock import FOLDER, lease, owner, renewals
from hoodoo_standard.lock.waiting import poll

# Epochs that are kept; none is needed but the newest and the one before.
KEPT = 8
_EPOCH = re.compile(r"\d{12}")
_log = get_logger(__name__)


@frozen
class ConditionalPutLock:
    """``renew``: seconds between two signs of life; ``validity``: those without one after which the
    lock may be taken over."""

    renew: float = 30.0
    validity: float = 300.0

    @classmethod
    def from_settings(cls, settings: Settings) -> ConditionalPutLock:
        return cls(*lease(settings))

    def acquire(self, storage: Storage, name: str, wait: float) -> Held | None:
        """Raises StorageError; the lock is not had then."""
        return poll(_Attempt(self, storage, f"{FOLDER}/{name}"), wait)


@define
class _Attempt:
    """Asks once for the lock whose files are in ``folder``."""

    lock: ConditionalPutLock
    storage: Storage
    folder: str
    _clock: tuple[float, float] | None = None  # the store's time, and ours then

    def __call__(self) -> _Held | None:
        entries = _epochs(self.storage, self.folder)
        if not entries:
            return self._claim(1, None, None)
        last = entries[-1]
        try:
            data = self.storage.get(last.path)
        except FileNotFoundError:  # taken back by one who was late
            return None
        holder = owner.read(data)
        if holder.get("free") is True:
            return self._claim(_number(last) + 1, last, None)
        if not owner.is_gone(holder) and not self._expired(last, holder):
            return None
        _log.info("lock_taken_over", path=last.path, root=self.storage.root)
        return self._claim(_number(last) + 1, last, data)

    def _expired(self, entry: Entry, holder: dict[str, object]) -> bool:
        promised = holder.get("validity")
        validity = promised if isinstance(promised, (int, float)) else self.lock.validity
        if self._clock is None:
            self._clock = store_time(self.storage, self.folder), time.monotonic()
        then, ours = self._clock
        return then + time.monotonic() - ours - entry.modified > validity

    def _claim(self, epoch: int, last: Entry | None, dead: bytes | None) -> _Held | None:
        token = owner.begin()
        path = f"{self.folder}/{epoch:012d}"
        data = json.dumps(owner.told(token, validity=self.lock.validity)).encode()
        held = _Held(self.storage, self.folder, path, data, token, dead is not None)
        try:
            if owner.put_ours(self.storage, path, data):
                if self._stands(path, last, dead):
                    renewals.start(token, self.lock.renew, held.renew)
                    return held
                self.storage.delete(path)
        except BaseException:
            owner.end(token)
            held.give_up()
            raise
        owner.end(token)
        return None

    def _stands(self, path: str, last: Entry | None, dead: bytes | None) -> bool:
        """Whether ours is the newest and follows upon what we saw. Epochs go from the oldest on:
        who slept since looking may have put one that others had long before."""
        paths = [entry.path for entry in _epochs(self.storage, self.folder)]
        if paths[-1:] != [path] or (last is not None and last.path not in paths):
            return False
        if last is None or dead is None:
            return True
        # It may have renewed meanwhile: then it is the same holder still.
        with suppress(FileNotFoundError):
            return owner.read(self.storage.get(last.path)).get("token") == owner.read(dead).get(
                "token"
            )
        return False


@define
class _Held:
    _storage: Storage
    _folder: str
    _path: str
    _data: bytes
    _token: str
    from_dead: bool
    _ended: bool = field(default=False, init=False)
    # A renewal that comes after the release would take the lock again.
    _writing: threading.Lock = field(factory=threading.Lock, init=False)

    def is_held(self) -> bool:
        return not self._ended and self._is_newest()

    def renew(self) -> None:
        with self._writing:
            if not self._ended and self._is_newest():
                self._storage.put(self._path, self._data)

    def release(self) -> None:
        with self._writing:
            ended, self._ended = self._ended, True
        if ended:
            return
        renewals.stop(self._token)
        try:
            if self._is_newest():
                owner.insist(self._put_free)
        finally:
            owner.end(self._token)
        with suppress(StorageError):
            for old in _epochs(self._storage, self._folder)[:-KEPT]:
                self._storage.delete(old.path)

    def give_up(self) -> None:
        """After an error, when it is not known whether the epoch is there."""
        with suppress(StorageError, FileNotFoundError):
            if self._storage.get(self._path) == self._data:
                self._put_free()

    def _put_free(self) -> None:
        self._storage.put(self._path, json.dumps({"free": True, "token": self._token}).encode())

    def _is_newest(self) -> bool:
        entries = _epochs(self._storage, self._folder)
        return bool(entries) and entries[-1].path == self._path


def _epochs(storage: Storage, folder: str) -> list[Entry]:
    """Sorted: they have 12 digits."""
    return [entry for entry in storage.list(folder) if _EPOCH.fullmatch(entry.name)]


def _number(entry: Entry) -> int:
    return int(entry.name)
