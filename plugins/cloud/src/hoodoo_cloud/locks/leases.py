"""Locks that are had for a time, and renewed: what Hudi's two locks of the cloud have in common.

A :class:`Record` is what lies in the shared place; each of its states has a version, by which it is
replaced. A holder renews it; who sees it expired, or given back, takes it."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable
from typing import Protocol

from attrs import define, field, frozen
from hoodoo.errors import StorageError
from hoodoo.log import get_logger

# Seconds between two questions: the first come soon, as decisions are short.
_FIRST, _LONGEST, _GROWTH = 0.01, 0.3, 1.5
_ATTEMPTS = 3  # of what must not stay undone
_log = get_logger(__name__)


@frozen
class Seen:
    """``free``: given back, or there is none. ``expired``: by what it says itself. ``life``:
    seconds after which it has expired if it stays as it is, whatever it says. ``version`` of a
    record that is there."""

    free: bool
    version: object = None
    expired: bool = False
    life: float = math.inf


class Record(Protocol):
    """The errors of all its methods are StorageErrors: then it is not known what was done. ``obj``
    names it."""

    @property
    def obj(self) -> str: ...

    def look(self) -> Seen: ...

    def take(self, seen: Seen) -> object | None:
        """The version of ours, which is there in the place of ``seen``; None: it was another one by
        then."""

    def renew(self, version: object) -> object | None:
        """The next version; None: ``version`` is there no more."""

    def give_back(self, version: object) -> None:
        """Harmless if it is there no more."""


# Record -> the version that was seen last, and since when by our clock.
_seen: dict[str, tuple[object, float]] = {}


def acquire(record: Record, wait: float, lease: float, renewal: float) -> Lease | None:
    """The lock; None where it was not had within ``wait`` seconds, or a little more where a holder
    that has been silent all the time is about to expire. ``lease``: seconds that ours lasts;
    ``renewal``: between two signs of life."""
    end, pause = time.monotonic() + wait, _FIRST
    while True:
        seen = record.look()
        now = time.monotonic()
        version, since = _seen.get(record.obj, (None, 0.0))
        if seen.version is None or seen.version != version:
            _seen[record.obj] = seen.version, (since := now)
        dead = not seen.free and (seen.expired or now - since >= seen.life)
        if seen.free or dead:
            found = record.take(seen)
            if found is not None:
                return Lease(record, found, dead, lease, renewal, now + lease)
        rest = end - time.monotonic()
        if rest <= 0:
            rest = since + seen.life - now
            if seen.free or dead or rest > wait / 4 or now > end + wait / 4:
                return None
        time.sleep(max(0.0, min(rest, pause * random.uniform(0.5, 1.5))))
        pause = min(pause * _GROWTH, _LONGEST)


@define(eq=False)
class Lease:
    """Implements :class:`~hoodoo.storage.lock.Held`."""

    _record: Record
    _version: object
    from_dead: bool
    _lease: float
    _renewal: float
    _until: float  # by our clock, from before the request on
    _ended: bool = field(default=False, init=False)
    _writing: threading.Lock = field(factory=threading.Lock, init=False)
    _stop: threading.Event = field(factory=threading.Event, init=False)

    def __attrs_post_init__(self) -> None:
        threading.Thread(target=self._renewed, name="hoodoo-lease", daemon=True).start()

    def is_held(self) -> bool:
        with self._writing:
            if self._ended or time.monotonic() >= self._until:
                return False
            seen = self._record.look()
            return not seen.free and seen.version == self._version

    def release(self) -> None:
        self._stop.set()
        with self._writing:
            ended, self._ended = self._ended, True
            if not ended:
                _insist(lambda: self._record.give_back(self._version))

    def _renewed(self) -> None:
        while not self._stop.wait(self._renewal):
            with self._writing:
                if self._ended:
                    return
                try:
                    began = time.monotonic()
                    found = self._record.renew(self._version)
                except Exception as error:  # the next turn may do better
                    _log.warning("lock_renewal_failed", error=str(error))
                    continue
                if found is None:
                    self._ended = True
                    return
                self._version, self._until = found, began + self._lease


def _insist(call: Callable[[], None]) -> None:
    for left in reversed(range(_ATTEMPTS)):
        try:
            call()
            return
        except StorageError:
            if not left:
                raise
