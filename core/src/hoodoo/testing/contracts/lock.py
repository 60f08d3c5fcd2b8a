"""The contract of :class:`hoodoo.storage.lock.Lock` as tests.

Usage::

    class TestMine(LockContract):
        @pytest.fixture
        def lock(self):
            return MyLock(...)

A lock for the threads of one process sets ``processes = False``. A lock that stays with a holder
that no longer renews it sets ``expires = False``. The suite makes holders look old by the times of
files in a local store: override ``age`` for a lock that stores its expiry elsewhere.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import ClassVar

import pytest

from hoodoo.errors import StorageError
from hoodoo.storage.api import Storage
from hoodoo.storage.lock import Held, Lock
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.testing.stores import MUTATING, FailingStorage

LONG = 60.0  # seconds: no test waits so long unless it fails
_ROUNDS = 20  # acquisitions of each thread or process: enough that they meet


class LockContract:
    """Inherit from this class, and override the fixture ``lock``."""

    processes: ClassVar[bool] = True
    expires: ClassVar[bool] = True

    @pytest.fixture
    def lock(self) -> Lock:
        raise NotImplementedError("override the fixture `lock`")

    @pytest.fixture
    def storage(self, tmp_path: Path) -> Storage:
        return DirectoryStorage(str(tmp_path / "table"))

    def other(self, tmp_path: Path) -> Storage:
        """The store of another table."""
        return DirectoryStorage(str(tmp_path / "other"))

    def age(self, storage: Storage) -> None:
        """Make every holder look as if it had not renewed its lock for ten days."""
        assert isinstance(storage, DirectoryStorage)
        old = time.time() - 10 * 86400
        for entry in storage.list(recursive=True):
            os.utime(os.path.join(storage.base, entry.path), (old, old))

    def has(self, lock: Lock, storage: Storage, name: str = "table", wait: float = LONG) -> Held:
        held = lock.acquire(storage, name, wait)
        assert held is not None, "it could not be had"
        return held

    # --- one holder ---------------------------------------------------------------------------
    def test_obeys_the_protocol(self, lock: Lock, storage: Storage) -> None:
        assert isinstance(lock, Lock)
        held = self.has(lock, storage)
        assert isinstance(held, Held)
        held.release()

    def test_is_held_until_it_is_released(self, lock: Lock, storage: Storage) -> None:
        held = self.has(lock, storage, wait=0)
        assert held.is_held()
        assert not held.from_dead
        held.release()
        assert not held.is_held()

    def test_comes_back_after_a_release(self, lock: Lock, storage: Storage) -> None:
        for _ in range(30):
            held = self.has(lock, storage, wait=0)
            assert held.is_held()
            assert not held.from_dead, "it was given back"
            held.release()

    def test_leaves_little_behind(self, lock: Lock, storage: Storage) -> None:
        for _ in range(30):
            self.has(lock, storage).release()
        assert len(storage.list(recursive=True)) <= 20

    def test_none_after_the_wait(self, lock: Lock, storage: Storage) -> None:
        held = self.has(lock, storage)
        assert lock.acquire(storage, "table", 0) is None, "a lock is not re-entrant"
        began = time.monotonic()
        assert lock.acquire(storage, "table", 0.1) is None
        assert 0.1 <= time.monotonic() - began < LONG / 2
        assert held.is_held()
        held.release()

    def test_names_and_tables_are_apart(self, lock: Lock, tmp_path: Path, storage: Storage) -> None:
        other = self.other(tmp_path)
        all_held = [self.has(lock, storage, "table", 0), self.has(lock, storage, "turn", 0)]
        if not getattr(lock, "path", ""):  # a lock with a path is the same for all tables
            all_held.append(self.has(lock, other, "table", 0))
        assert all(held.is_held() for held in all_held)
        for held in all_held:
            held.release()

    def test_a_second_release_is_harmless(self, lock: Lock, storage: Storage) -> None:
        held = self.has(lock, storage)
        held.release()
        after = self.has(lock, storage)
        held.release()
        assert after.is_held()
        assert lock.acquire(storage, "table", 0) is None
        after.release()

    def test_a_pickled_lock_is_the_same(self, lock: Lock, storage: Storage) -> None:
        again = pickle.loads(pickle.dumps(lock))
        held = self.has(lock, storage)
        assert again.acquire(storage, "table", 0) is None
        held.release()
        self.has(again, storage).release()

    # --- threads ------------------------------------------------------------------------------
    def test_who_waits_gets_it(self, lock: Lock, storage: Storage) -> None:
        held = self.has(lock, storage)
        found: list[Held | None] = []
        waiting = threading.Thread(
            target=lambda: found.append(lock.acquire(storage, "table", LONG))
        )
        waiting.start()
        held.release()
        waiting.join()
        assert found[0] is not None and found[0].is_held()
        found[0].release()

    def test_threads_exclude_each_other(self, lock: Lock, storage: Storage) -> None:
        inside: list[int] = []
        wrong: list[object] = []

        def run(number: int) -> None:
            try:
                for _ in range(_ROUNDS):
                    held = self.has(lock, storage)
                    inside.append(number)
                    if inside != [number]:
                        wrong.append(list(inside))
                    inside.remove(number)
                    held.release()
            except Exception as error:
                wrong.append(error)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []

    # --- processes ----------------------------------------------------------------------------
    def test_processes_exclude_each_other(self, lock: Lock, storage: Storage) -> None:
        if not self.processes:
            pytest.skip("made for the threads of one process")
        storage.put("count", b"0")
        context = multiprocessing.get_context("spawn")
        others = [context.Process(target=count_up, args=(lock, storage, _ROUNDS)) for _ in range(3)]
        for other in others:
            other.start()
        for other in others:
            other.join()
        assert [other.exitcode for other in others] == [0, 0, 0]
        assert storage.get("count") == b"%d" % (3 * _ROUNDS)

    def test_is_taken_over_from_a_process_that_was_killed(
        self, lock: Lock, storage: Storage
    ) -> None:
        if not self.processes:
            pytest.skip("made for the threads of one process")
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        other = context.Process(target=take_and_stay, args=(lock, storage, there))
        other.start()
        try:
            assert here.recv() is True
            assert lock.acquire(storage, "table", 0) is None
            assert other.pid is not None
            os.kill(other.pid, signal.SIGKILL)
        finally:
            other.kill()
            other.join()
        held = self.has(lock, storage)
        assert held.from_dead
        assert held.is_held()
        held.release()
        after = self.has(lock, storage, wait=0)
        assert not after.from_dead
        after.release()

    def test_a_holder_that_slept_has_lost_it(self, lock: Lock, storage: Storage) -> None:
        if not self.expires:
            pytest.skip("is never taken over from a holder that lives")
        slept = self.has(lock, storage)
        self.age(storage)
        held = self.has(lock, storage)
        assert held.from_dead
        assert held.is_held() and not slept.is_held()
        slept.release()
        assert held.is_held(), "who had lost it gave back another's"
        assert lock.acquire(storage, "table", 0) is None
        held.release()

    def test_one_takes_over_what_many_find_dead(self, lock: Lock, storage: Storage) -> None:
        if not self.expires:
            pytest.skip("is never taken over from a holder that lives")
        self.has(lock, storage)
        self.age(storage)
        start = threading.Barrier(6)
        found: list[Held | None] = []

        def run() -> None:
            start.wait()
            found.append(lock.acquire(storage, "table", 0.2))

        threads = [threading.Thread(target=run) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        holders = [held for held in found if held is not None]
        assert len(holders) == 1 and holders[0].is_held()
        holders[0].release()

    # --- a store that fails -------------------------------------------------------------------
    @pytest.mark.parametrize("after", [False, True], ids=["failed", "answer lost"])
    @pytest.mark.parametrize("once", [True, False], ids=["once", "for good"])
    def test_a_store_that_fails(
        self, lock: Lock, storage: Storage, once: bool, after: bool
    ) -> None:
        """After a failed operation there are never two holders, and the next one gets the lock."""
        for at in range(1, 40):
            failing = FailingStorage(storage, at, once=once, after=after)
            name = f"lock{at}"
            try:
                held = lock.acquire(failing, name, 0)
            except StorageError:
                held = None
            if held is not None:
                assert lock.acquire(storage, name, 0) is None
                try:
                    held.release()
                except StorageError:
                    assert failing.count >= at
            self.has(lock, storage, name).release()
            if failing.count < at:
                return
        raise AssertionError("a lock takes fewer operations")

    def test_an_answer_that_is_lost_once_costs_nothing(self, lock: Lock, storage: Storage) -> None:
        """The store has done the operation; a second request shows that."""
        failing = FailingStorage(storage, 1, after=True, ops=MUTATING)
        held = self.has(lock, failing, wait=0)
        assert held.is_held()
        held.release()


def count_up(lock: Lock, storage: Storage, rounds: int) -> None:
    """In another process: add 1 to a number under the lock. Two at once would add 1 together."""
    for _ in range(rounds):
        held = lock.acquire(storage, "table", LONG)
        assert held is not None
        storage.put("count", b"%d" % (int(storage.get("count")) + 1))
        assert held.is_held()
        held.release()


def take_and_stay(lock: Lock, storage: Storage, result: Connection) -> None:
    """In another process: take the lock, send whether that worked, and hold it."""
    result.send(lock.acquire(storage, "table", LONG) is not None)
    threading.Event().wait()
