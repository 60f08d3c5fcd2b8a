"""The ledger alone, with a gate at every operation: who decides has seen all decisions before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from gates import Everything
from hoodoo.errors import StorageUnknownError
from hoodoo.timeline import ledger
from hoodoo.timeline.ledger import Decision, decide
from hoodoo.timeline.timeline import Timeline, load
from hoodoo.testing.stores import GatedStorage
from hoodoo.timeline import properties
from memory_store import MemoryStorage, Objects
from schedules import Run, Search, Step
from tables import COW9, Kind
from trials import ALL, COUNT
from world import World

Made = Callable[[Kind], Objects]


def _conflict(one: Step, other: Step) -> bool:
    return _changes(one, other) or _changes(other, one)


def _changes(one: Step, other: Step) -> bool:
    if not one.mutates:
        return False
    if other.op == "list":
        return one.path.rpartition("/")[0] == other.path
    return one.path == other.path


class _Ledger:
    """Writers that decide upon a table whose ledger has ``before`` numbers."""

    def __init__(self, objects: Objects, scratch: Path, names: str, before: int) -> None:
        self.scratch, self.names = scratch, names
        self.objects = {k: v for k, v in objects.items() if not k.startswith(ledger.FOLDER)}
        store = MemoryStorage(scratch, self.objects)
        self.config = properties.load(store)
        timeline = load(store, self.config)
        for _ in range(before):
            ledger.barrier(store, timeline)
        self.objects = store.objects

    def run(self) -> Run:
        store = MemoryStorage(self.scratch, self.objects)
        seen: dict[str, set[str]] = {}

        def work(name: str) -> Callable[[], object]:
            def gate(op: str, path: str) -> None:
                if Everything().stops(op, path):
                    run.gate(name, op, path)

            gated = GatedStorage(store, gate)
            timeline = load(store, self.config)

            def make(fresh: Timeline) -> Decision:
                seen[name] = {i.requested for i in fresh.instants}
                return Decision(_decided(name), name.encode())

            return lambda: decide(gated, timeline, make)

        run = Run({name: work(name) for name in self.names})
        run.store, run.seen = store, seen
        return run

    def check(self, run: Run, answers: dict[str, object]) -> None:
        for name, answer in answers.items():
            if isinstance(answer, BaseException):
                raise AssertionError(f"{name}: {run.steps}") from answer
            assert run.store.get(_decided(name)) == name.encode()
        instants = {_instant(name): name for name in self.names}
        saw = {n: {instants[i] for i in run.seen[n] if i in instants} for n in self.names}
        # One order of all: each has seen exactly those before it.
        assert sorted(len(s) for s in saw.values()) == list(range(len(self.names))), run.steps
        numbers = [e.name for e in run.store.list(ledger.FOLDER)]
        newest = max(int(n[:12]) for n in numbers)
        assert f"{newest:012d}.done" in numbers
        assert len(numbers) <= 2 * (ledger.KEPT + 1)


def _instant(name: str) -> str:
    return f"2026033012000000{'ABC'.index(name)}"


def _decided(name: str) -> str:
    return f".hoodie/timeline/{_instant(name)}_2026033013000000{'ABC'.index(name)}.commit"


# A new ledger, and one that is being tidied.
@pytest.mark.parametrize("before", [0, ledger.KEPT])
def test_two_decide(made: Made, still: World, tmp_path: Path, before: int) -> None:
    trial = _Ledger(made(COW9), tmp_path, "AB", before)
    search = Search(_conflict)
    for run, answers in search.schedules(trial.run):
        trial.check(run, answers)
        still.begin()
        if search.runs == 600 and not ALL:
            break
    assert search.complete or not ALL
    COUNT.schedules += search.runs


@pytest.mark.parametrize("others", range(1, 2 * ledger.KEPT + 2))
def test_one_sleeps_while_others_decide(
    made: Made, still: World, tmp_path: Path, others: int
) -> None:
    """At every step, until its number has come and gone: it has seen all that was decided before."""
    objects = made(COW9)
    at, slept = 0, True
    while slept:
        store = MemoryStorage(tmp_path, objects)
        timeline = load(store, properties.load(store))
        at, slept = at + 1, False
        steps, seen = 0, [0]

        def sleep(op: str, path: str) -> None:
            nonlocal steps, slept
            steps += 1
            if steps == at:
                slept = True
                for number in range(others):
                    decide(store, timeline, lambda fresh, number=number: _numbered(number))

        def make(fresh: Timeline) -> Decision:
            seen[0] = len(fresh.completed())
            return _numbered(99)

        there = len(timeline.completed())
        try:
            assert decide(GatedStorage(store, sleep), timeline, make)[1]
        except StorageUnknownError:
            assert others >= ledger.KEPT, "its number is still there to be looked at"
        names = sorted(e.name for e in store.list(".hoodie/timeline"))
        assert sum(n.startswith("20260330") for n in names) == (others if slept else 0) + 1
        # All or nothing: the others come after, or it has seen them.
        assert seen[0] - there in (0, others), f"step {at}"
        if at <= 3:
            assert seen[0] - there == (others if slept else 0), "it had only looked"
        COUNT.schedules += 1


def _numbered(number: int) -> Decision:
    return Decision(f".hoodie/timeline/202603301200000{number:02d}_202603301300000{number:02d}.commit")
