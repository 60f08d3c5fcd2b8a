"""Stores across a network: what a writer does side by side, and what it remembers of its last look, in every order.

Each writer writes twice over one open table, so that its second write goes by what it remembers; another writer comes
before any operation of it. Operations that are side by side are done one after another, in an order of chance.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hoodoo.storage.together
import hoodoo_cloud.remembering
import hoodoo_rows.write.run
import pytest
from effort import MORE, effort
from hoodoo.errors import CommitConflictError
from hoodoo.storage.api import Storage
from hoodoo.table.table import Table
from hoodoo.testing.stores import Crash, CrashingStorage, Delegating, GatedStorage
from hoodoo_cloud.remembering import remembering
from memory_store import MemoryStorage, Objects
from tables import COW6, COW9, COW_RECORDS, MOR6, MOR9, MOR_RECORDS, Kind, rows
from trials import COUNT, SEED, Act, Scenario, Trial, aged
from world import World, opened, rows_of

pytestmark = pytest.mark.sampled(4, among="schedules")

Made = Callable[[Kind], Objects]


class Far(Delegating):
    at_once = 16


class Shuffled:
    """A pool whose calls are made in the thread that asks, in an order of chance."""

    chance = random.Random(SEED)

    def __init__(self, *_workers: object, **_named: object) -> None:
        self.waiting: list[Callable[[], None]] = []

    def __enter__(self) -> Shuffled:
        return self

    def __exit__(self, *_error: object) -> None:
        self.run()

    def run(self) -> None:
        self.chance.shuffle(self.waiting)
        while self.waiting:
            self.waiting.pop()()

    def submit(self, call: Callable[..., Any], *args: Any) -> Future[Any]:
        pool = self

        class Answer(Future[Any]):
            def result(self, timeout: float | None = None) -> Any:
                pool.run()
                return super().result(timeout)

        found = Answer()

        def work() -> None:
            if not found.set_running_or_notify_cancel():
                return
            try:
                found.set_result(call(*args))
            except BaseException as error:
                found.set_exception(error)

        self.waiting.append(work)
        if self.chance.random() < 0.5:  # or while the thread that asks goes on
            self.run()
        return found

    def map(self, call: Callable[..., Any], each: Any) -> list[Any]:
        found = [self.submit(call, one) for one in each]
        return [one.result() for one in found]


@pytest.fixture
def far(still: World, monkeypatch: pytest.MonkeyPatch) -> World:
    for module in (hoodoo.storage.together, hoodoo_cloud.remembering):
        monkeypatch.setattr(module, "ThreadPoolExecutor", Shuffled)
    monkeypatch.setattr(
        hoodoo_rows.write.run, "datetime", SimpleNamespace(now=lambda zone: still.now(None))
    )
    return still


class FarTrial(Trial):
    def _table(self, storage: Storage) -> Table:
        if isinstance(storage, GatedStorage):
            storage = remembering(Far(storage))
        return opened(storage, self.scenario.options)


def _twice(act: Act) -> Act:
    def both(table: Table) -> object:
        done = None
        with suppress(CommitConflictError):
            done = act(table)
        try:
            return act(table)
        except CommitConflictError:
            if done is None:
                raise
            return done

    return both


def _upsert(values: dict[int, str], text: str) -> Act:
    return _twice(lambda table: table.upsert(rows(values, text, 3)))


def _rebuild(table: Table) -> None:
    table.rebuild_index("record_index")


# A write cleans right after its commit, and goes by what it has just decided.
CLEANING = {"hoodie.clean.automatic": "true", "hoodie.clean.commits.retained": "1"}
SCENARIOS = {
    "same-key": Scenario({"A": _upsert({7: "a"}, "A"), "B": _upsert({7: "a"}, "B")}),
    "one-group": Scenario({"A": _upsert({1: "a"}, "A"), "B": _upsert({2: "a"}, "B")}),
    "sleeps": Scenario(
        {"A": _upsert({1: "a"}, "A"), "B": _upsert({2: "a"}, "B")}, dead=frozenset("A")
    ),
    "clean": Scenario(
        {"A": _upsert({1: "a"}, "A"), "B": lambda t: t.clean(commits_retained=1)}, before=aged
    ),
    "both clean": Scenario(
        {"A": _upsert({1: "a"}, "A"), "B": _upsert({2: "a"}, "B")}, CLEANING, before=aged
    ),
    "rebuild": Scenario({"A": _upsert({1: "a", 9: "b"}, "A"), "B": _rebuild}),
}  # fmt: skip
SHORT = [("sleeps", COW9), ("both clean", COW9), ("rebuild", COW_RECORDS)]
LONGER = [
    (name, kind)
    for name in SCENARIOS
    for kind in (COW9, COW6, MOR9, MOR6, COW_RECORDS, MOR_RECORDS)
    if name != "rebuild" or kind.has_metadata
]


@pytest.mark.parametrize(("name", "kind"), LONGER if MORE else SHORT, ids=str)
def test_another_writer_comes_in_between(
    made: Made, far: World, tmp_path: Path, name: str, kind: Kind
) -> None:
    trial = FarTrial(SCENARIOS[name], kind, made(kind), far, tmp_path)
    for _answers in trial.one_switch(every=effort(40 if kind.has_metadata else 14, 2)):
        COUNT.schedules += 1
    for _answers in trial.switches(effort(1, 40), random.Random(SEED)):
        COUNT.schedules += 1


@pytest.mark.parametrize(
    "kind", [COW6, COW9, MOR6, MOR9, COW_RECORDS, MOR_RECORDS] if MORE else [MOR6], ids=str
)
def test_undone_while_it_sleeps(made: Made, far: World, tmp_path: Path, kind: Kind) -> None:
    trial = FarTrial(SCENARIOS["sleeps"], kind, made(kind), far, tmp_path)
    trial.undone_while_it_sleeps("A", "B")


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("options", [{}, CLEANING], ids=["writes", "writes and cleans"])
@pytest.mark.parametrize(
    "kind", [COW9, MOR6, COW_RECORDS] if MORE else [COW9, COW_RECORDS], ids=str
)
def test_a_crash_of_a_writer_that_remembers(
    made: Made, far: World, tmp_path: Path, kind: Kind, options: dict[str, str], when: Any
) -> None:
    """What it leaves, the next process finishes or takes away; and one that has the table open goes on."""
    trial = FarTrial(Scenario({}), kind, made(kind), far, tmp_path)
    before = {1: "old", 2: "mid", 3: "old"}
    at = 0
    while True:
        at += effort(9, 1)
        far.begin()
        store = MemoryStorage(tmp_path, made(kind))
        other = opened(remembering(Far(store)))
        other.upsert(rows({3: "b"}, "other", 3))
        crashing = CrashingStorage(store, 0, when)
        table = opened(remembering(Far(crashing)), options)
        table.upsert(rows({1: "a"}, "first", 3))
        crashing.count, crashing.at = 0, at
        with suppress(Crash):
            table.upsert(rows({1: "a", 8: "b"}, "second", 4))
        _die()
        found = {row[0]: row[1] for row in rows_of(opened(store))}
        old = {**before, 1: "first", 3: "other"}
        assert found in (old, {**old, 1: "second", 8: "second"})
        other.upsert(rows({2: "a"}, "third", 5))
        assert {row[0]: row[1] for row in rows_of(opened(store))} == {**found, 2: "third"}
        trial._check_next(store, rows_of(opened(store)))
        if not crashing.crashed:
            break


def _die() -> None:
    """The heartbeats of this process belong to nobody."""
    from hoodoo.timeline import heartbeat

    heartbeat._beats()._alive.clear()
