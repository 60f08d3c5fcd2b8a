"""A process that ends at any storage operation of a write leaves the old or the new table."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from crash_leaks import leaks
from crash_runs import crashes_at_each_step, crashes_of
from crash_trials import (
    COUNT,
    OPERATIONS,
    SEED,
    VERSIONS,
    WHEN,
    Prepared,
    check_next_write,
    copied,
    crash,
    opened,
    ours,
    prepared,
    rows,
    state,
)
from effort import ALL, effort
from hoodoo.table.table import Table

pytestmark = pytest.mark.sampled(6, among="crashes")

Tables = Callable[..., Path]
# Recoveries of the other operations take the same steps: a few of each, other ones in each run.
SAMPLED_RECOVERIES = effort(1, 12)
# Before, after and in the middle of each operation of all writes, not only of an upsert.


def _first(table: Table) -> object:
    return table.insert(rows({1: "a", 2: "b"}, "new", 1))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_crash_at_every_operation(
    tables: Tables, tmp_path: Path, local_temporaries: Path, name: str, version: int
) -> None:
    case = prepared(tables(version), tmp_path, OPERATIONS[name])
    _every_crash(case, tmp_path, WHEN if ALL or name == "upsert" else ())


@pytest.mark.parametrize("version", VERSIONS)
def test_crash_in_the_first_write_of_a_table(
    tables: Tables, tmp_path: Path, local_temporaries: Path, version: int
) -> None:
    """No commit is older than the crashed one: nothing but the pending instant hides its files."""
    _every_crash(prepared(tables(version, commits=0), tmp_path, _first), tmp_path, WHEN)


def _every_crash(case: Prepared, tmp_path: Path, moments: Sequence[Any]) -> None:
    """At each operation, at each of ``moments`` (none: at one of them, another one in each run)."""
    chance = random.Random(f"{SEED} {case.steps} {case.new}")
    for target, where in crashes_of(case, tmp_path, chance, None, moments):
        found = state(target)
        assert found in (case.old, case.new), where
        check_next_write(target, found, where)
        COUNT.trials += 1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_crash_during_recovery(
    tables: Tables, tmp_path: Path, local_temporaries: Path, name: str, version: int
) -> None:
    """Stop at operation j of the recovery from a crash at k; the write after that finishes it."""
    case = prepared(tables(version), tmp_path, OPERATIONS[name])
    chance = random.Random(f"{SEED} {name} {version}")
    most = None if name == "upsert" else SAMPLED_RECOVERIES
    for target, where in crashes_at_each_step(case, tmp_path, chance, most, lambda t: t.rollback()):
        found = ours(target)
        assert found in (case.old, case.new), where
        check_next_write(target, found, where)
        COUNT.trials += 1


@pytest.mark.parametrize("version", VERSIONS)
def test_crashes_in_a_row(tables: Tables, tmp_path: Path, version: int) -> None:
    """Ten writers die one after the other, each wherever it is; the eleventh works."""
    chance = random.Random(f"{SEED} row {version}")
    target = copied(tables(version), tmp_path / "trial")
    seen = state(target)
    for _ in range(10):
        at, when = chance.randrange(1, 12), chance.choice(WHEN)
        crash(target, OPERATIONS["upsert"], at, when)
        COUNT.trials += 1
    found = state(target)
    assert found in (seen, _after_upsert(tables(version), tmp_path)), f"seed {SEED}"
    check_next_write(target, found, f"seed {SEED}")


def _after_upsert(base: Path, tmp_path: Path) -> object:
    return prepared(base, tmp_path, OPERATIONS["upsert"]).new


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_is_left_without_a_crash(tables: Tables, tmp_path: Path, version: int) -> None:
    """The measure of the tests above: a table where all went well has no leak."""
    for name, operation in OPERATIONS.items():
        target = copied(tables(version), tmp_path / name)
        operation(opened(target))
        assert leaks(target) == [], name
