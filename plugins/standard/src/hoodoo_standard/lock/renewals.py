"""Renewals: one thread of a process calls what keeps its locks alive, every so often."""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable

from attrs import define, field
from hoodoo.log import get_logger

_log = get_logger(__name__)


def start(token: str, interval: float, renew: Callable[[], None]) -> None:
    """Call ``renew`` every ``interval`` seconds until :func:`stop`; what it raises is logged."""
    _renewals(os.getpid()).start(token, interval, renew)


def stop(token: str) -> None:
    """From now on no call begins; one may be under way."""
    _renewals(os.getpid()).stop(token)


@define
class _Kept:
    interval: float
    renew: Callable[[], None]
    due: float


@define
class _Renewals:
    _changed: threading.Condition = field(factory=threading.Condition)
    _kept: dict[str, _Kept] = field(factory=dict)
    _next: float = 0.0
    _thread: threading.Thread | None = None

    def start(self, token: str, interval: float, renew: Callable[[], None]) -> None:
        due = time.monotonic() + interval
        with self._changed:
            self._kept[token] = _Kept(interval, renew, due)
            if self._thread is None:
                self._next = due
                self._thread = threading.Thread(
                    target=self._run, name="hoodoo-lock-renewal", daemon=True
                )
                self._thread.start()
            elif due < self._next:  # most locks are given back long before: no need to wake it
                self._changed.notify()

    def stop(self, token: str) -> None:
        with self._changed:
            self._kept.pop(token, None)

    def _run(self) -> None:
        while True:
            with self._changed:
                now = time.monotonic()
                self._next = min((k.due for k in self._kept.values()), default=now + 3600)
                if self._next > now:
                    self._changed.wait(self._next - now)
                now = time.monotonic()
                due = [kept for kept in self._kept.values() if kept.due <= now]
                for kept in due:
                    kept.due = now + kept.interval
            for kept in due:
                try:
                    kept.renew()
                except Exception as error:  # the next turn may do better
                    _log.warning("lock_renewal_failed", error=str(error))


@functools.lru_cache(maxsize=2)
def _renewals(pid: int) -> _Renewals:
    """A process that was forked has no thread."""
    return _Renewals()
