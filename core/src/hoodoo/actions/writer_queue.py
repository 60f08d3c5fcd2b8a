"""Turns: writers that got into each other's way go one after the other.

Publishing is safe without (timeline/ledger.py); this only saves work. Of N writers that change the
same rows at the same time one can publish; were all of them to try again at once, it would be one
again. So who has lost once takes the table's turn before the next attempt, and at the beginning of
the writes after it, until it has not met anybody for a while."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from attrs import define, field

from hoodoo.log import get_logger
from hoodoo.storage.api import Storage
from hoodoo.storage.lock import Held, Lock
from hoodoo.timeline.ledger import release

TURN = "turn"
# Writes without a conflict, and without waiting, after which a writer does not wait for its turn
# any more.
_CALM = 8
# A turn that can't be had within so many times the work at stake is not waited for.
_PATIENCE = 40
_LEAST_WAIT, _MOST_WAIT = 10.0, 600.0
_log = get_logger(__name__)


@define
class WriterQueue:
    """What one open table remembers of meeting others. ``lock`` None: it waits a random while
    instead."""

    lock: Lock | None = None
    _wary: int = field(default=0, init=False)
    _work: float = field(default=0.0, init=False)
    _held: Held | None = field(default=None, init=False)

    @property
    def is_wary(self) -> bool:
        """Whether the next write takes its turn first: another writer has won not long ago."""
        return self._wary > 0

    def lost(self, work: float) -> None:
        """An attempt of ``work`` seconds came to nothing because of another writer."""
        self._wary, self._work = _CALM, work

    def won(self) -> None:
        """Note a write that met no other writer. After eight in a row the queue is not wary any
        more."""
        self._wary = max(0, self._wary - 1)

    def take(self, storage: Storage) -> None:
        """Wait for the turn, the longer the more work is at stake."""
        if self._held is not None and self._held.is_held():
            return
        if self.lock is None:
            time.sleep(random.uniform(0, min(self._work, _MOST_WAIT)))
            return
        wait = min(max(_PATIENCE * self._work, _LEAST_WAIT), _MOST_WAIT)
        self._held = self.lock.acquire(storage, TURN, 0)
        if self._held is None:  # somebody is writing: the two would meet again without turns
            self._wary = _CALM + 1  # the write at hand is none of the calm ones
            self._held = self.lock.acquire(storage, TURN, wait)
        if self._held is None:
            _log.info("turn_not_had", root=storage.root, waited=wait)

    @contextmanager
    def let_others_first(self, storage: Storage, work: float) -> Iterator[None]:
        """For a service that is about to publish ``work`` seconds of work: a writer whose turn it
        is, because it has lost before, comes first."""
        if self.lock is not None:
            self._work = max(self._work, work)
            self.take(storage)
        try:
            yield
        finally:
            self.give_back()

    def give_back(self) -> None:
        """Release the turn, if this table has it. Safe to call twice."""
        held, self._held = self._held, None
        if held is not None:
            release(held)
