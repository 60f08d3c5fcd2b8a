"""A process that ends at any storage operation while an index is built, built again, dropped, or
becomes the table's own: reads are right at once, by filters of the indexed columns too, the next
write needs no manual step, and the same call ends the work or says what is there."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import hoodoo
import pytest
from crash_leaks import leaks
from crash_runs import crashes, readable_state
from crash_trials import (
    COUNT,
    SCHEMA,
    SEED,
    Operation,
    State,
    age_temporaries,
    copied,
    mutations,
    opened,
    rows,
    state,
)
from effort import effort
from hoodoo.errors import ConfigError
from hoodoo.table.table import Table

pytestmark = pytest.mark.sampled(6, among="crashes")

TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
SAMPLED = effort(1, 12)
KEYS = {1: "a", 2: "a", 3: "b", 4: "b", 5: "b"}
LOUD, BY_V = "loud", "by_v"


def of_texts(table: Table) -> object:
    return table.create_index(BY_V, ["v"])


def of_upper(table: Table) -> object:
    return table.create_index(LOUD, expression="upper(v)")


# What comes before, and what a process dies in.
ACTIONS: dict[str, tuple[tuple[Operation, ...], Operation]] = {
    "secondary": ((), of_texts),
    "expression": ((), of_upper),
    "ranges": ((), lambda t: t.create_index("column_stats", kind="column_stats")),
    "secondary again": ((of_texts,), lambda t: t.rebuild_index(BY_V)),
    "expression again": ((of_upper,), lambda t: t.rebuild_index(LOUD)),
    "drop secondary": ((of_texts,), lambda t: t.drop_index(BY_V)),
    "drop expression": ((of_upper,), lambda t: t.drop_index(LOUD)),
    "to a record index": ((), lambda t: t.switch_index("record_index")),
    "to a global index": ((), lambda t: t.switch_index("global_simple")),
    "from a record index": (
        (lambda t: t.switch_index("record_index"), of_texts, of_upper),
        lambda t: t.switch_index("global_simple"),
    ),
}  # fmt: skip
OLD = ("ranges", "to a record index", "to a global index")
CASES = [(name, kind, 9) for name in ACTIONS for kind in TYPES]
CASES += [(name, kind, 6) for name in OLD for kind in TYPES]


def base(path: Path, name: str, kind: str, version: int) -> Path:
    hoodoo.create(
        str(path), SCHEMA, name="t", record_key="id", partition_by="region", ordering="ts",
        table_type=kind, table_version=version, index="simple",
        options={
            "hoodie.metadata.enable": "true",
            "hoodie.metadata.global.record.level.index.min.filegroup.count": "2",
            "hoodie.metadata.record.level.index.min.filegroup.count": "1",
        },
    )  # fmt: skip
    opened(path).upsert(rows(KEYS, "old", 1))
    opened(path).upsert(rows({2: "a", 3: "b"}, "mid", 2))
    for act in ACTIONS[name][0]:
        act(opened(path))
    return path


def filtered(path: Path, rows_: State, where: str) -> None:
    """Filters of the indexed columns find what is there."""
    for text in ("old", "mid", "new", "none"):
        found = opened(path).read(where=f"v = '{text}'").to_arrow().column("id").to_pylist()
        assert sorted(found) == [key for key, v, _ in rows_ if v == text], f"{where}: {text}"


def goes_on(path: Path, rows_: State, where: str) -> State:
    """The next write changes a row, adds one, and finds both where they are."""
    age_temporaries(path)
    commit = opened(path).upsert(rows({2: "a", 9: "b"}, "new", 7))
    assert (commit.updated, commit.inserted) == (1, 1), where
    kept = [row for row in rows_ if row[0] not in (2, 9)]
    expected = tuple(sorted([*kept, (2, "new", "a"), (9, "new", "b")]))
    assert state(path) == expected, where
    filtered(path, expected, where)
    assert not opened(path).verify().findings, where
    return expected


def repeated(path: Path, name: str, where: str) -> None:
    """The call of a user who sees that the process has died."""
    try:
        ACTIONS[name][1](opened(path))
    except ConfigError as error:
        done = ("is not there", "has no partition") if "drop" in name else ("is there already",)
        assert any(text in str(error) for text in done), f"{where}: {error}"


@pytest.mark.parametrize(("name", "kind", "version"), CASES)
def test_crash(tmp_path: Path, local_temporaries: Path, name: str, kind: str, version: int) -> None:
    made = base(tmp_path / "base", name, kind, version)
    before = state(made)
    act: Callable[[Table], object] = ACTIONS[name][1]
    steps = mutations(made, tmp_path / "whole", act)
    chance = random.Random(f"{SEED} {name} {kind} {version}")
    for target, where in crashes(made, act, steps, tmp_path / "trial", chance, SAMPLED):
        assert readable_state(target) == before, where
        filtered(target, before, where)
        again = copied(target, tmp_path / "again")
        after = goes_on(target, before, where)
        repeated(target, name, where)
        assert state(target) == after, where
        # The other order: first the same call, then a write.
        age_temporaries(again)
        repeated(again, name, where)
        filtered(again, before, where)
        goes_on(again, before, where)
        assert leaks(again) == [], where
        COUNT.trials += 1
