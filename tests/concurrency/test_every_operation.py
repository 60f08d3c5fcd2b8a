"""With a step at every operation below ``.hoodie``: one writer comes between any two of the other's.

Nothing is assumed here of what can change places. Also: a writer that is taken for dead and only sleeps
ends with a conflict or is committed, never both undone and visible; and two writers undo the same dead one.
By default it comes before one step in four.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from effort import ALL, MORE, effort
from hoodoo.errors import CommitConflictError
from hoodoo.table.table import Table
from hoodoo.testing.stores import Crash, CrashingStorage
from memory_store import Objects
from tables import COW6, COW9, COW_RECORDS, KINDS, MOR6, MOR9, MOR_RECORDS, Kind, rows
from trials import COUNT, SEED, Act, Scenario, Trial, aged
from world import MAIN, World, opened

pytestmark = pytest.mark.sampled(4, among="schedules")

Made = Callable[[Kind], Objects]
ONCE = {"hoodie.write.num.retries.on.conflict.failures": "0"}


def _upsert(values: dict[int, str], text: str) -> Act:
    return lambda table: table.upsert(rows(values, text, 3))


def _dies(at: int) -> Act:
    """An upsert whose process ends after its ``at``-th change of the store."""

    def act(table: Table) -> None:
        store = CrashingStorage(table.handle.storage, at, "after")
        with pytest.raises(Crash):
            _upsert({1: "a", 8: "b"}, "dead")(opened(store))

    return act


def _long(table: Table) -> None:
    """Much to archive, what was undone among it."""
    table.rollback(table.upsert(rows({2: "a"}, "gone", 2)).instant)
    for text in ("u", "v", "w", "x"):
        table.upsert(rows({1: "a", 2: "a", 3: "b"}, text, 2))
        if table.config.table_type == "MERGE_ON_READ":
            table.compact()
    table.clean(commits_retained=1)


ARCHIVING = {
    "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.cleaner.commits.retained": "1",
}  # fmt: skip
INLINE = {**ARCHIVING, "hoodie.archive.automatic": "true", "hoodie.clean.automatic": "true"}

SCENARIOS = {
    "same-key": Scenario({"A": _upsert({7: "a"}, "A"), "B": _upsert({7: "a"}, "B")}),
    "sleeps": Scenario(
        {"A": _upsert({1: "a"}, "A"), "B": _upsert({2: "a"}, "B")}, ONCE, dead=frozenset("A")
    ),
    "compaction": Scenario(
        {"A": _upsert({1: "a", 2: "a"}, "A"), "B": lambda t: t.compact()},
        excused=(CommitConflictError,),
    ),
    "compaction-and-clean": Scenario(
        {"A": lambda t: t.compact(), "B": lambda t: t.clean(commits_retained=1)}, before=aged
    ),
    "two-archives": Scenario(
        {"A": lambda t: t.archive(), "B": lambda t: t.archive()}, ARCHIVING, before=_long
    ),
    "archive": Scenario(
        {"A": _upsert({1: "a"}, "A"), "B": lambda t: t.archive()}, ARCHIVING, before=_long
    ),
    "inline-services": Scenario(
        {"A": _upsert({1: "a"}, "A"), "B": _upsert({3: "b"}, "B")}, INLINE, before=_long
    ),
    "sleeps-elsewhere": Scenario(
        {"A": _upsert({1: "a"}, "A"), "B": _upsert({3: "b"}, "B")}, dead=frozenset("A")
    ),
    **{
        f"third-died-{at}": Scenario(
            {"A": _upsert({2: "a"}, "A"), "B": _upsert({3: "b"}, "B")},
            before=_dies(at),
            dead=frozenset({MAIN}),
        )
        for at in (2, 5, 6, 9)
    },
}


SHORT = [
    ("same-key", COW9), ("sleeps", COW9), ("sleeps", MOR6), ("sleeps-elsewhere", MOR9),
    ("compaction", MOR6), ("compaction-and-clean", MOR9), ("third-died-5", COW9), ("third-died-9", MOR6),
    ("two-archives", COW9), ("archive", MOR9),
]  # fmt: skip
LONGER = [*SHORT, ("inline-services", COW6)]
EVERY = [(n, k) for n in SCENARIOS for k in KINDS if k.merged or "compaction" not in n]


@pytest.mark.parametrize(
    ("name", "kind"), EVERY if ALL else LONGER if MORE else SHORT[::2], ids=str
)
def test_one_switch(made: Made, still: World, tmp_path: Path, name: str, kind: Kind) -> None:
    trial = Trial(SCENARIOS[name], kind, made(kind), still, tmp_path)
    refused = 0
    for answers in trial.one_switch(every=effort(4, 1)):
        refused += isinstance(answers["A"], CommitConflictError)
        COUNT.schedules += 1
    if name.startswith(("same", "sleeps", "third")):
        assert (refused > 0) == (name == "sleeps"), "a writer that was given up has not noticed"


@pytest.mark.parametrize(
    "name", ["same-key", "sleeps", *(["third-died-2", "third-died-6"] if ALL else ())]
)
def test_many_switches(made: Made, still: World, tmp_path: Path, name: str) -> None:
    trial = Trial(SCENARIOS[name], COW9, made(COW9), still, tmp_path)
    for _answers in trial.switches(400 if ALL else effort(12, 25), random.Random(SEED)):
        COUNT.schedules += 1


@pytest.mark.parametrize("kind", [*KINDS, COW_RECORDS, MOR_RECORDS] if MORE else [COW9], ids=str)
def test_undone_while_it_sleeps(made: Made, still: World, tmp_path: Path, kind: Kind) -> None:
    trial = Trial(SCENARIOS["sleeps"], kind, made(kind), still, tmp_path)
    trial.undone_while_it_sleeps("A", "B")


def test_a_lost_instant_ends_nobody_else(made: Made, still: World, tmp_path: Path) -> None:
    """B has looked when A takes the millisecond that B is about to take. B's end is not A's."""

    def twice(table: Table) -> object:
        _upsert({3: "b"}, "B")(table)
        return _upsert({3: "b"}, "B2")(table)  # undoes what is dead

    still.apart = 0
    scenario = Scenario({"A": _upsert({1: "a"}, "A"), "B": twice}, ONCE)
    trial = Trial(scenario, COW9, made(COW9), still, tmp_path)
    for looked in range(6, 12, 1 if ALL else effort(5, 2)):
        for begun in (12, 14, 18):
            answers = trial.turns([("B", looked), ("A", begun), ("B", 999)])
            assert not any(isinstance(a, BaseException) for a in answers.values()), answers
            COUNT.schedules += 1


THREE = {
    "same-key": Scenario({name: _upsert({7: "a"}, name) for name in "ABC"}),
    "one-group": Scenario(
        {
            "A": _upsert({1: "a"}, "A"),
            "B": _upsert({1: "a", 3: "b"}, "B"),
            "C": lambda t: t.delete([1]),
        }
    ),
    "with-a-sleeper": Scenario(
        {"A": _upsert({1: "a"}, "A"), "B": _upsert({2: "a"}, "B"), "C": _upsert({1: "a"}, "C")},
        dead=frozenset("A"),
    ),
}


@pytest.mark.parametrize("kind", [COW9, MOR9], ids=str)
@pytest.mark.parametrize("name", THREE)
def test_three_writers(made: Made, still: World, tmp_path: Path, name: str, kind: Kind) -> None:
    trial = Trial(THREE[name], kind, made(kind), still, tmp_path)
    for _answers in trial.switches(500 if ALL else effort(6, 12), random.Random(SEED)):
        COUNT.three += 1
