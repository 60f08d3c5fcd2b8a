"""A process that ends at any storage operation of a write into log files, or of a compaction."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from crash_leaks import leaks
from crash_runs import crashes_at_each_step, crashes_of
from crash_trials import (
    COUNT,
    SEED,
    VERSIONS,
    WHEN,
    Operation,
    Prepared,
    copied,
    crash,
    mutations,
    opened,
    ours,
    plus_next,
    prepared,
    state,
)
from effort import ALL, effort
from merge_on_read import (
    INDEXES,
    SERVICES,
    WRITES,
    check_compacts,
    check_write,
    first,
    log_paths,
    logs,
    rows,
    waits,
)

pytestmark = pytest.mark.sampled(6, among="crashes")

Tables = Callable[..., Path]
# What differs with the simple index: upserts rewrite base files that get inserts.
TRIED = [*((name, "bucket") for name in WRITES), ("upsert", "simple"), ("inline", "simple")]
# Recoveries take the same steps whatever they recover from: a few of each.
SAMPLED = effort(1, 8)
# Before, after and in the middle of each operation; else one of them, another one in each run.


def _every_crash(case: Prepared, tmp_path: Path, compacts: bool = True) -> None:
    chance = random.Random(f"{SEED} {case.steps} {case.new}")
    for target, where in crashes_of(case, tmp_path, chance, None):
        found = state(target)
        assert found in (case.old, case.new), where
        check_write(target, found, where)
        if compacts or chance.random() < 0.3:
            check_compacts(target, plus_next(found), where)
            assert leaks(target) == [], where
        COUNT.trials += 1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("name", "index"), TRIED)
def test_crash_in_a_write(
    merged: Tables, tmp_path: Path, local_temporaries: Path, name: str, index: str, version: int
) -> None:
    case = prepared(merged(version, index), tmp_path, WRITES[name])
    _every_crash(case, tmp_path, compacts=name == "inline")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("index", INDEXES)
def test_crash_in_the_first_write(
    merged: Tables, tmp_path: Path, local_temporaries: Path, index: str, version: int
) -> None:
    """With the bucket index it begins file groups with log files."""
    case = prepared(merged(version, index, 0), tmp_path, first)
    assert bool(log_paths(tmp_path / "whole")) == (index == "bucket")
    _every_crash(case, tmp_path, compacts=False)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("name", SERVICES)
def test_crash_in_a_service(
    merged: Tables, tmp_path: Path, local_temporaries: Path, name: str, index: str, version: int
) -> None:
    """No row changes at any time, and the next compaction finishes what was begun."""
    base = copied(merged(version, index), tmp_path / "base")
    if name == "run":
        assert opened(base).schedule_compaction()
    if name == "log_compact":
        opened(base).upsert(rows({2: "a", 3: "b"}, "mid", 2))
    case = prepared(base, tmp_path, SERVICES[name], changes_rows=False)
    assert bool(logs(tmp_path / "whole")) == (name in ("schedule", "log_compact"))
    _every_crash(case, tmp_path)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["upsert", "delete", "inline"])
def test_crash_during_recovery(
    merged: Tables, tmp_path: Path, local_temporaries: Path, name: str, version: int
) -> None:
    """Stop at operation j of the recovery from a crash at k; the write after that finishes it."""
    case = prepared(merged(version, "bucket"), tmp_path, WRITES[name])
    _recoveries(case, tmp_path, lambda t: t.rollback())


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("index", INDEXES)
def test_crash_while_a_compaction_is_finished(
    merged: Tables, tmp_path: Path, local_temporaries: Path, index: str, version: int
) -> None:
    case = prepared(merged(version, index), tmp_path, SERVICES["compact"], changes_rows=False)
    _recoveries(case, tmp_path, SERVICES["compact"])


def _recoveries(case: Prepared, tmp_path: Path, recover: Operation) -> None:
    chance = random.Random(f"{SEED} {case.steps} {case.new}")
    most = None if ALL else SAMPLED
    for target, where in crashes_at_each_step(case, tmp_path, chance, most, recover):
        found = ours(target)
        assert found in (case.old, case.new), where
        check_write(target, found, where)
        check_compacts(target, plus_next(found), where)
        assert leaks(target) == [], where
        COUNT.trials += 1


@pytest.mark.parametrize("version", VERSIONS)
def test_crashes_in_a_row(merged: Tables, tmp_path: Path, version: int) -> None:
    """Writers and compactions die one after the other, each wherever it is; no row is lost, none is
    there twice, and the ones after that work."""
    chance = random.Random(f"{SEED} row {version}")
    target = copied(merged(version, "bucket"), tmp_path / "trial")
    names = ["upsert", "compact", "upsert", "schedule", "upsert", "run", "delete", "compact"]
    for name in names:
        operation = {**WRITES, **SERVICES}[name]
        if name in SERVICES and version == 6:
            opened(target).rollback()  # it plans nothing under a write, dead or alive
        if name == "run" and not waits(target):
            continue
        steps = len(mutations(target, tmp_path / "recovered", operation))
        allowed = (ours(target), ours(tmp_path / "recovered"))
        if not steps:
            continue  # nothing to compact
        crash(target, operation, chance.randrange(steps) + 1, chance.choice(WHEN))
        assert ours(target) in allowed, f"{name}, seed {SEED}"
        COUNT.trials += 1
    found = ours(target)
    check_write(target, found, f"seed {SEED}")
    check_compacts(target, plus_next(found), f"seed {SEED}")
    assert leaks(target) == []
