"""Two writers at a table with a metadata table: it says what the files say, whoever came first.

With a step at every operation below ``.hoodie``: one writer comes between two of the other's, at some of its
steps, other ones in each run; and both take turns of random lengths. HOODOO_TRIALS=more tries more of them, all:
every one.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import frozen
from effort import ALL, effort
from hoodoo.errors import CommitConflictError, ConfigError
from hoodoo.table.table import Table
from hoodoo.testing.stores import Crash, CrashingStorage, RecordingStorage
from memory_store import MemoryStorage, Objects
from tables import COW_RECORDS, MOR_RECORDS, Kind, rows
from trials import COUNT, SEED, Act, Scenario, Trial, aged
from world import MAIN, World, opened, rows_of

pytestmark = pytest.mark.sampled(4, among="schedules")

Made = Callable[[Kind], Objects]
EAGER = {"hoodie.metadata.compact.max.delta.commits": "1"}


@frozen
class Undone:
    """``announced``: the instant of the rollback, which says when it was."""

    announced: str


def _upsert(values: dict[int, str], text: str) -> Act:
    return lambda table: table.upsert(rows(values, text, 3))


def _clean(table: Table) -> object:
    return table.clean(commits_retained=1)


def _undo(table: Table) -> Undone:
    """Of the second write of the table, which is the newest one at first."""
    return Undone(table.rollback(table.timeline().writes()[1].requested).rollback)


def _read(table: Table) -> None:
    """Every row once, before or after; and those of one key by the index."""
    found = rows_of(table)
    assert [row[0] for row in found] in ([1, 2, 3], [1, 2, 3, 7]), found
    assert {row[1] for row in found} <= {"old", "mid", "A"}, found


def _dies(suffix: str, when: str) -> Act:
    """An upsert whose process ends ``when`` its first operation on such a path takes place."""

    def act(table: Table) -> None:
        inner = table.handle.storage
        assert isinstance(inner, MemoryStorage)
        recorded = RecordingStorage(MemoryStorage(inner._scratch, inner.objects))
        write = _upsert({1: "a", 8: "b"}, "dead")
        write(opened(recorded))
        at = next(n for n, (_, p) in enumerate(recorded.mutations, 1) if suffix in p)
        with pytest.raises(Crash):
            write(opened(CrashingStorage(inner, at, when)))  # type: ignore[arg-type]

    return act


# What a rollback may meet: the write is not the newest any more.
REFUSED = (CommitConflictError, ConfigError)
SCENARIOS = {
    "insert-same-key": Scenario({"A": _upsert({7: "a"}, "A"), "B": _upsert({7: "b"}, "B")}),
    "update-two-groups": Scenario({"A": _upsert({1: "a"}, "A"), "B": _upsert({3: "b"}, "B")}),
    "delete-update": Scenario({"A": lambda t: t.delete([1]), "B": _upsert({1: "a", 7: "a"}, "B")}),
    "overwrite-upsert": Scenario(
        {
            "A": lambda t: t.insert_overwrite(rows({8: "a"}, "A", 3)),
            "B": _upsert({3: "b", 9: "b"}, "B"),
        }
    ),
    "clean": Scenario({"A": _upsert({1: "a"}, "A"), "B": _clean}, before=aged),
    "compact-metadata": Scenario(
        {"A": _upsert({1: "a", 7: "a"}, "A"), "B": lambda t: t.compact_metadata()}
    ),
    "two-compact-metadata": Scenario(
        {"A": lambda t: t.compact_metadata(), "B": lambda t: t.compact_metadata()}
    ),
    "inline-compactions": Scenario(
        {"A": _upsert({1: "a"}, "A"), "B": _upsert({7: "b"}, "B")}, options=EAGER
    ),
    "rebuild-records": Scenario(
        {"A": _upsert({1: "a", 7: "a"}, "A"), "B": lambda t: t.rebuild_index("record_index")}
    ),
    "rebuild-all": Scenario(
        {"A": _upsert({1: "a", 7: "a"}, "A"), "B": lambda t: t.rebuild_index()},
    ),
    "rebuild-and-clean": Scenario({"A": lambda t: t.rebuild_index(), "B": _clean}, before=aged),
    "two-rebuilds": Scenario(
        {"A": lambda t: t.rebuild_index("record_index"), "B": lambda t: t.rebuild_index()}
    ),
    "rebuild-and-undo": Scenario({"A": lambda t: t.rebuild_index(), "B": _undo}, excused=REFUSED),
    "undo": Scenario({"A": _upsert({1: "a", 7: "a"}, "A"), "B": _undo}, excused=REFUSED),
    "undo-compacted": Scenario(
        {"A": _upsert({1: "a", 7: "a"}, "A"), "B": _undo},
        before=lambda t: t.compact_metadata(),
        excused=REFUSED,
    ),
    "read": Scenario({"A": _upsert({1: "a", 7: "a"}, "A"), "B": _read}),
    "read-rebuild": Scenario({"A": lambda t: t.rebuild_index(), "B": _read}),
    "third-died-begun": Scenario(
        {"A": _upsert({2: "a"}, "A"), "B": _upsert({8: "b"}, "B")},
        before=_dies("/ledger/", "before"),
        dead=frozenset({MAIN}),
    ),
    "third-died-decided": Scenario(
        {"A": _upsert({2: "a"}, "A"), "B": _upsert({8: "b"}, "B")},
        before=_dies("/ledger/", "after"),
        dead=frozenset({MAIN}),
    ),
    "compaction": Scenario(
        {"A": _upsert({1: "a", 2: "a"}, "A"), "B": lambda t: t.compact()},
        before=lambda t: t.upsert(rows({1: "a"}, "z", 2)),
    ),
}


def _cases() -> list[tuple[str, Kind]]:
    """By default each scenario in one kind of table; that kind changes from one to the next."""
    kinds = (COW_RECORDS, MOR_RECORDS)
    if effort(0, 1):
        return [(n, k) for n in SCENARIOS for k in kinds if k.merged or n != "compaction"]
    names = enumerate(SCENARIOS)
    return [(n, MOR_RECORDS if n == "compaction" else kinds[at % 2]) for at, n in names]


@pytest.mark.parametrize(("name", "kind"), _cases(), ids=str)
def test_two_writers(made: Made, still: World, tmp_path: Path, name: str, kind: Kind) -> None:
    trial = Trial(SCENARIOS[name], kind, made(kind), still, tmp_path)
    seed = random.Random(f"{SEED} {name} {kind}")
    every = trial.one_switch() if ALL else trial.some_switches(effort(1, 30), seed)
    for _answers in every:
        COUNT.schedules += 1
    for _answers in trial.switches(effort(1, 20), seed):
        COUNT.schedules += 1
