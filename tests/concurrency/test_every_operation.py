"""With a step at every operation below ``.hoodie``: one writer comes between any two of the other's.

Nothing is assumed here of what can change places. Also: a writer that is taken for dead and only sleeps
ends with a conflict or is committed, never both undone and visible; and two writers undo the same dead one.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hoodoo.table import Table
from hoodoo.testing.stores import Crash, CrashingStorage
from memory_store import Objects
from tables import COW9, COW6, MOR6, MOR9, Kind, rows
from trials import ALL, COUNT, Act, Scenario, Trial
from world import MAIN, World, opened

Made = Callable[[Kind], Objects]
SEED = int(os.environ.get("HOODOO_CRASH_SEED") or random.randrange(1 << 32))
ONCE = {"hoodie.write.num.retries.on.conflict.failures": "0"}


def _upsert(values: dict[int, str], text: str) -> Act:
    return lambda table: table.upsert(rows(values, text, 3))


def _dies(at: int) -> Act:
    """An upsert whose process ends after its ``at``-th change of the store."""

    def act(table: Table) -> None:
        store = CrashingStorage(table._storage, at, "after")
        with pytest.raises(Crash):
            _upsert({1: "a", 8: "b"}, "dead")(opened(store))

    return act


SCENARIOS = {
    "same-key": Scenario({"A": _upsert({7: "a"}, "A"), "B": _upsert({7: "a"}, "B")}),
    "sleeps": Scenario(
        {"A": _upsert({1: "a"}, "A"), "B": _upsert({2: "a"}, "B")}, ONCE, dead=frozenset("A")
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


@pytest.mark.parametrize("kind", [COW9, MOR6, *([COW6, MOR9] if ALL else [])], ids=str)
@pytest.mark.parametrize("name", SCENARIOS)
def test_one_switch(made: Made, still: World, tmp_path: Path, name: str, kind: Kind) -> None:
    trial = Trial(SCENARIOS[name], kind, made(kind), still, tmp_path)
    import time; t0=time.time(); n=0
    for _run, _answers in trial.one_switch():
        COUNT.schedules += 1; n+=1
    import sys; print(name, kind, n, time.time()-t0, file=sys.stderr)
