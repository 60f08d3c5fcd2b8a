"""The search finds every outcome that trying all orders finds, and few schedules twice."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from itertools import permutations
from pathlib import Path

import pytest
from memory_store import MemoryStorage
from schedules import Abandoned, Run, Search, Step

pytestmark = pytest.mark.sampled(4, among="schedules")

Programs = Mapping[str, list[tuple[str, str]]]
Outcome = tuple[object, object]


def _conflict(one: Step, other: Step) -> bool:
    return one.path == other.path and (one.mutates or other.mutates)


class _Machine:
    """Writers that note what they read, and write down what they have noted."""

    def __init__(self, programs: Programs) -> None:
        self.programs = programs
        self.values: dict[str, object] = {}
        self.notes: dict[str, list[object]] = {name: [] for name in programs}

    def step(self, name: str, number: int) -> None:
        op, path = self.programs[name][number]
        if op == "get":
            self.notes[name].append(self.values.get(path))
        else:
            self.values[path] = (name, number, tuple(self.notes[name]))

    def outcome(self) -> Outcome:
        notes = tuple((name, tuple(found)) for name, found in self.notes.items())
        return tuple(sorted(self.values.items())), notes


def _all_orders(programs: Programs) -> set[Outcome]:
    names = [name for name, steps in programs.items() for _ in steps]
    found = set()
    for order in set(permutations(names)):
        machine = _Machine(programs)
        for at, name in enumerate(order):
            machine.step(name, order[:at].count(name))
        found.add(machine.outcome())
    return found


def _by_search(programs: Programs, scratch: Path) -> list[Outcome]:
    machines: list[_Machine] = []

    def make() -> Run:
        machine = _Machine(programs)
        machines.append(machine)

        def work(name: str) -> Callable[[], object]:
            def steps() -> None:
                for number, (op, path) in enumerate(programs[name]):
                    run.gate(name, op, path)
                    machine.step(name, number)

            return steps

        run = Run({name: work(name) for name in programs}, MemoryStorage(scratch))
        return run

    found = [machines[-1].outcome() for _run in Search(_conflict).schedules(make)]
    return found


@pytest.mark.parametrize("seed", range(24))
def test_all_outcomes(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    names = "ABC"[: 2 + seed % 2]
    programs = {
        name: [(chance.choice(["get", "put"]), chance.choice("xyz")) for _ in range(3)]
        for name in names
    }
    expected, found = _all_orders(programs), _by_search(programs, tmp_path)
    assert set(found) == expected
    assert len(found) <= 3 * len(expected)


def test_a_writer_that_fails_is_an_answer(tmp_path: Path) -> None:
    def fails() -> object:
        run.gate("A", "put", "x")
        raise ValueError("on purpose")

    run = Run({"A": fails, "B": lambda: run.gate("B", "get", "x")}, MemoryStorage(tmp_path))
    answers = run(lambda waiting: min(waiting))
    assert answers is not None
    assert isinstance(answers["A"], ValueError)
    assert [str(step) for _, step in run.steps] == ["put x", "get x"]


def test_a_run_that_is_given_up_ends_its_writers(tmp_path: Path) -> None:
    ends: list[str] = []

    def work() -> None:
        try:
            run.gate("A", "put", "x")
        except Abandoned:
            ends.append("A")
            raise

    run = Run({"A": work}, MemoryStorage(tmp_path))
    assert run(lambda waiting: None) is None
    assert ends == ["A"]
