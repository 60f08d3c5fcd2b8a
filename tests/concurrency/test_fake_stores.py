"""Object stores that answer 412, 409 or not at all, and clocks that are wrong: nothing is overwritten, and
no commit that landed is reported as failed without the word unknown."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from effort import ALL, effort
from fake_store import WRONG, FakeObjectStore, Wrong
from hoodoo.errors import CommitUnknownError, HoodooError
from hoodoo.hookspecs.registration import Settings
from hoodoo.storage.api import Storage
from hoodoo.table import settings as hoodoo_tables
from hoodoo.table.table import Table
from memory_store import MemoryStorage, Objects
from tables import COW6, COW9, MOR9, Kind, rows
from trials import COUNT, SEED, Scenario, Trial, leaks
from world import NOON, World, opened, rows_of

pytestmark = pytest.mark.sampled(4, among="schedules")

Made = Callable[[Kind], Objects]
LOCKS = ("", "conditional_put", "filesystem")
NEXT = (99, "next", "b")


def _table(storage: Storage, lock: str) -> Table:
    options = {"hoodie.write.lock.provider": lock} if lock else {}
    table = opened(storage, options)
    return Table(
        hoodoo_tables.guarded(storage, Settings(table.config, options)), table.config,
        table.handle.options, table.handle.default_engine,
    )  # fmt: skip


def _upsert(table: Table) -> object:
    return table.upsert(rows({1: "a", 7: "b"}, "new", 3))


def _trial(
    objects: Objects, scratch: Path, lock: str, at: int, wrong: Wrong, times: int
) -> FakeObjectStore:
    inner = MemoryStorage(scratch, objects)
    old = rows_of(opened(inner))
    new = tuple(sorted({row[0]: row for row in (*old, (1, "new", "a"), (7, "new", "b"))}.values()))
    fake = FakeObjectStore(inner, at, wrong, times)
    where = ""
    try:
        _upsert(_table(fake, lock))
        possible = [new]
    except CommitUnknownError as error:
        assert "unknown" in str(error)
        possible = [old, new]
    except HoodooError as error:
        possible = [old]
        where = f"{error}; "
    where += f"{wrong} at {fake.went}"
    # Another process: what was decided is carried out, what was not is undone.
    table = _table(inner, lock)
    table.upsert(rows({99: "b"}, "next", 9))
    found = rows_of(table)
    assert found in [tuple(sorted((*p, NEXT))) for p in possible], where
    table.clean(commits_retained=1)
    assert rows_of(table) == found
    assert leaks(inner) == [], where
    return fake


@pytest.mark.parametrize("kind", [COW9, *([COW6, MOR9] if ALL else [])], ids=str)
@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize("wrong", WRONG)
def test_every_operation_of_a_write(
    made: Made, still: World, tmp_path: Path, wrong: Wrong, lock: str, kind: Kind
) -> None:
    """Of the commit, of the heartbeat, of the lock: once, and (by default of one in four) three times."""
    objects = made(kind)
    for times, every in ((1, 1), (3, effort(4, 1))):
        at = 1
        while True:
            still.begin()
            fake = _trial(objects, tmp_path, lock, at, wrong, times)
            if fake.count < at:
                break
            at = min(at + every, max(fake.count, at + 1))
        assert at > 10


CLOCKS: dict[str, Callable[[], Callable[[str], datetime]]] = {
    "stand-still": lambda: lambda name: NOON,
    "go-back": lambda: _back(),
    "one-an-hour-ahead": lambda: lambda name: NOON + timedelta(hours=name == "A"),
    "jump": lambda: _jumping(),
}


def _back() -> Callable[[str], datetime]:
    ticks = itertools.count()
    return lambda name: NOON - timedelta(seconds=next(ticks))


def _jumping() -> Callable[[str], datetime]:
    """Now an hour ahead, now back."""
    ticks = itertools.count()
    return lambda name: NOON + timedelta(hours=next(ticks) % 2)


@pytest.mark.parametrize("kind", [COW9, COW6], ids=str)
@pytest.mark.parametrize("clock", CLOCKS)
def test_two_writers_whose_clocks_are_wrong(
    made: Made, still: World, tmp_path: Path, clock: str, kind: Kind
) -> None:
    """A store of these trials lets nobody overwrite a file of the timeline; the order is kept."""
    acts = {
        "A": lambda t: t.upsert(rows({1: "a", 7: "b"}, "A", 3)),
        "B": lambda t: t.upsert(rows({1: "a", 7: "b"}, "B", 3)),
    }
    trial = Trial(Scenario(acts), kind, made(kind), still, tmp_path)
    chance = random.Random(SEED)
    for _ in range(100 if ALL else effort(4, 10)):
        still.clock = CLOCKS[clock]()
        for _answers in trial.switches(1, chance):
            timeline = trial.timeline
            done = sorted(i.completion_order for i in timeline.writes())
            assert len(set(done)) == len(done) == 4  # two before, and these
            assert all(i.completed is None or i.requested < i.completed for i in timeline.writes())
            COUNT.schedules += 1
