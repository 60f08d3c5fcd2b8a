"""All schedules of two writers: no update is lost, no key is there twice, nothing is left behind.

Which operations are steps, and why the others need no order of their own: ``gates.py``.
By default some scenarios, each in one kind of table, and of those with very many schedules the first ones;
HOODOO_TRIALS=more: all in both kinds, and all: in every kind, in finer steps.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from effort import ALL, MORE
from hoodoo.errors import CommitConflictError
from hoodoo.table.table import Table
from hoodoo.timeline.batches import Batch
from memory_store import Objects
from tables import COW6, COW9, MOR6, MOR9, Kind, rows
from trials import Act, Scenario, Trial, aged, run_planned
from world import World

pytestmark = pytest.mark.sampled(4, among="schedules")

Made = Callable[[Kind], Objects]
BATCH = Batch("s", 1)


def _upsert(values: dict[int, str], text: str) -> Act:
    return lambda table: table.upsert(rows(values, text, 3))


def _widens(table: Table) -> object:
    return table.upsert(
        rows({1: "a"}, "A", 3).append_column("more", pa.array(["x"])), add_columns=True
    )


def _batch(table: Table) -> object:
    return table.upsert(rows({1: "a", 7: "b"}, "AB", 3), batch=BATCH)


def _aged_logs(table: Table) -> None:
    aged(table)
    table.upsert(rows({1: "a"}, "z", 2))


def _clean(table: Table) -> object:
    return table.clean(commits_retained=1)


SCENARIOS = {
    "insert-same-key": Scenario({"A": _upsert({7: "a"}, "A"), "B": _upsert({7: "a"}, "B")}),
    "insert-into-two-partitions": Scenario(
        {"A": _upsert({7: "a"}, "A"), "B": _upsert({7: "b"}, "B")}
    ),
    "update-same-row": Scenario({"A": _upsert({1: "a"}, "A"), "B": _upsert({1: "a"}, "B")}),
    "update-one-group": Scenario({"A": _upsert({1: "a"}, "A"), "B": _upsert({2: "a"}, "B")}),
    "update-two-groups": Scenario({"A": _upsert({1: "a"}, "A"), "B": _upsert({3: "b"}, "B")}),
    "delete-update": Scenario({"A": lambda t: t.delete([1]), "B": _upsert({1: "a"}, "B")}),
    "overwrite-upsert": Scenario(
        {
            "A": lambda t: t.insert_overwrite(rows({8: "a"}, "A", 3)),
            "B": _upsert({1: "a", 9: "b"}, "B"),
        }
    ),
    "clean": Scenario({"A": _upsert({1: "a"}, "A"), "B": _clean}, before=aged),
    "two-cleans": Scenario({"A": _clean, "B": _clean}, before=aged),
    "schema": Scenario({"A": _widens, "B": _upsert({3: "b"}, "B")}),
    "batch": Scenario({"A": _batch, "B": _batch}),
    # In version 6 nobody can tell whose log files of a slice are: one that a write takes back while they
    # are read ends the run, and the compaction is still pending.
    "compaction": Scenario(
        {"A": _upsert({1: "a", 2: "a"}, "A"), "B": lambda t: t.compact()},
        heed_requests=True,
        excused=(CommitConflictError,),
    ),
    "planned-compaction": Scenario(
        {"A": _upsert({1: "a", 2: "a"}, "A"), "B": run_planned},
        before=lambda t: t.schedule_compaction(),
    ),
    "compaction-and-clean": Scenario({"A": lambda t: t.compact(), "B": _clean}, before=_aged_logs),
}
SERVICES = ("compaction", "planned-compaction")
LONG = ("compaction-and-clean", MOR9)  # many hundreds
# A few scenarios have many hundreds, of which the default run tries the first.
MOST = None if MORE else 150
GLOBAL = Kind(index="global_simple")
# Where version 6 goes its own way, and where the index does.
OWN_WAYS = [
    ("insert-same-key", COW6), ("insert-same-key", MOR6), ("clean", MOR6), ("overwrite-upsert", COW6),
    ("insert-same-key", Kind(index="bucket")), ("insert-same-key", Kind(True, index="bucket")),
    ("insert-into-two-partitions", GLOBAL), *((name, MOR6) for name in SERVICES),
]  # fmt: skip


def _cases() -> list[tuple[str, Kind]]:
    """By default every scenario, in one kind of table; that kind changes from one to the next."""
    # Without a global index the rows of two partitions are two of one key.
    names = [n for n in SCENARIOS if n not in ("insert-into-two-partitions", LONG[0])]
    both, others = (COW9, MOR9), (COW6, MOR6)
    if not MORE:
        cases = [(n, MOR9 if n in SERVICES else both[at % 2]) for at, n in enumerate(names)]
        return cases + OWN_WAYS[::2]
    kinds = (*both, *others) if ALL else both
    cases = [(n, k) for n in names for k in kinds if n not in SERVICES or k.merged]
    cases += [LONG] if ALL else []
    return cases + [case for case in OWN_WAYS if case not in cases]


@pytest.mark.parametrize(("name", "kind"), _cases(), ids=str)
def test_two_writers(made: Made, still: World, tmp_path: Path, name: str, kind: Kind) -> None:
    trial = Trial(SCENARIOS[name], kind, made(kind), still, tmp_path)
    search = trial.every_schedule(MOST)
    assert search.complete or search.runs == MOST
    assert search.runs > 1, "the writers never meet"


def test_both_take_the_same_instant(made: Made, still: World, tmp_path: Path) -> None:
    """Their clocks are equal: of one millisecond there is one request."""
    still.apart = 0
    trial = Trial(SCENARIOS["insert-same-key"], COW9, made(COW9), still, tmp_path)
    search = trial.every_schedule(MOST)
    assert search.complete or search.runs == MOST


@pytest.mark.trial
def test_heartbeats_come_and_go(made: Made, still: World, tmp_path: Path) -> None:
    """With finer steps: nobody takes a writer for dead that has just ended."""
    trial = Trial(SCENARIOS["update-one-group"], COW9, made(COW9), still, tmp_path)
    assert trial.every_schedule(fine=True).complete
