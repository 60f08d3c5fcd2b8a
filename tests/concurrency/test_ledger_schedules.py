"""The ledger alone, with a gate at every operation: who decides has seen all decisions before."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from effort import ALL
from gates import Everything
from hoodoo.errors import StorageUnknownError
from hoodoo.testing.stores import GatedStorage
from hoodoo.timeline import ledger, properties
from hoodoo.timeline.decision import Decision
from hoodoo.timeline.ledger import decide
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline, load
from memory_store import MemoryStorage, Objects
from schedules import Run, Search, Step
from tables import COW9, Kind
from trials import COUNT
from world import World

pytestmark = pytest.mark.sampled(4, among="schedules")

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
            ledger.barrier(Snapshot(store, timeline))
        self.objects = store.objects

    def run(self) -> Run:
        store = MemoryStorage(self.scratch, self.objects)
        self.seen = seen = dict[str, set[str]]()

        def work(name: str) -> Callable[[], object]:
            def gate(op: str, path: str) -> None:
                if Everything().stops(op, path):
                    run.gate(name, op, path)

            gated = GatedStorage(store, gate)
            timeline = load(store, self.config)

            def make(fresh: Timeline) -> Decision:
                seen[name] = {i.requested for i in fresh.instants}
                return Decision(_decided(name), name.encode())

            return lambda: decide(Snapshot(gated, timeline), make)

        run = Run({name: work(name) for name in self.names}, store)
        return run

    def check(self, run: Run, answers: dict[str, object]) -> None:
        for name, answer in answers.items():
            if isinstance(answer, BaseException):
                raise AssertionError(f"{name}: {run.steps}") from answer
            assert run.store.get(_decided(name)) == name.encode()
        instants = {_instant(name): name for name in self.names}
        saw = {n: {instants[i] for i in self.seen[n] if i in instants} for n in self.names}
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
    at, slept = 1, True
    while slept:
        slept = _sleeps(MemoryStorage(tmp_path, made(COW9)), others, at)
        COUNT.schedules += 1
        at += 1
    assert at > 5


def _sleeps(store: MemoryStorage, others: int, at: int) -> bool:
    """One trial; whether there was such a step."""
    timeline = load(store, properties.load(store))
    there = len(timeline.completed())
    steps = 0
    seen: list[int] = []

    def sleep(op: str, path: str) -> None:
        nonlocal steps
        steps += 1
        if steps == at:
            for number in range(others):
                decide(Snapshot(store, timeline), partial(_numbered, number))

    def make(fresh: Timeline) -> Decision:
        seen.append(len(fresh.completed()) - there)
        return _numbered(99, fresh)

    try:
        assert decide(Snapshot(GatedStorage(store, sleep), timeline), make)[1]
    except StorageUnknownError:
        assert others >= ledger.KEPT, "its number is still there to be looked at"
    slept = steps >= at
    names = [e.name for e in store.list(".hoodie/timeline")]
    assert sum(n.startswith("20260330") for n in names) == (others if slept else 0) + 1
    # All or nothing: the others come after it, or it has seen them.
    assert seen[-1] in (0, others), f"step {at}"
    if at <= 3 and slept:
        assert seen[-1] == others, "it had only looked"
    return slept


def _numbered(number: int, fresh: Timeline) -> Decision:
    return Decision(
        f".hoodie/timeline/202603301200000{number:02d}_202603301300000{number:02d}.commit"
    )
