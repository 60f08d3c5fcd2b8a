"""A store that fails under a service: a clean error, a true report, and no manual step after it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from crash_runs import HOW, READING, fails, reads
from crash_trials import COUNT, SEED, VERSIONS, Prepared, copied, plus_next, prepared
from effort import ALL
from hoodoo.errors import CommitUnknownError
from hoodoo.testing.stores import MUTATING
from table_life import (
    CHANGING,
    KINDS,
    TABLES,
    Life,
    between,
    check_cleans,
    check_goes_on,
    done,
    operation,
    readable,
    seen,
)

pytestmark = pytest.mark.sampled(6, among="crashes")

Lives = Callable[..., Life]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("name", TABLES)
def test_error_at_mutating_operations(
    lives: Lives, tmp_path: Path, local_temporaries: Path, name: str, how: str, version: int
) -> None:
    """All of them, or one of each table: another one in each run."""
    once, after = HOW[how]
    chance = random.Random(f"{SEED} {name} {how} {version}")
    for kind in KINDS if ALL else (chance.choice(KINDS),):
        life, case, must = _prepared(lives, name, kind, version, tmp_path)
        steps = range(1, case.steps + 1)
        for at in steps if ALL else (chance.choice(steps),):
            where = f"{kind}, operation {at}: {case.mutations[at - 1]}, seed {SEED}"
            _trial(life, case, name, tmp_path / "trial", must, at, where,
                   once=once, after=after, ops=MUTATING)  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", TABLES)
def test_error_at_reading_operations(
    lives: Lives, tmp_path: Path, local_temporaries: Path, name: str, version: int
) -> None:
    """A failing read is never taken for "there is nothing"."""
    chance = random.Random(f"{SEED} {name} {version}")
    for kind in KINDS if ALL else (chance.choice(KINDS),):
        life, case, must = _prepared(lives, name, kind, version, tmp_path)
        found = reads(case, tmp_path)
        steps = range(1, len(found) + 1)
        for at in steps if ALL else (chance.choice(steps),):
            where = f"{kind}, read {at}: {found[at - 1]}, seed {SEED}"
            _trial(life, case, name, tmp_path / "trial", must, at, where, ops=READING)


def _prepared(
    lives: Lives, name: str, kind: str, version: int, tmp_path: Path
) -> tuple[Life, Prepared, frozenset[str]]:
    life = lives(version, kind, TABLES[name])
    case = prepared(life.path, tmp_path, operation(life, name), changes_rows=name in CHANGING)
    # Behind a clean that is not done, a point may be refused for what an archived write replaced.
    must = frozenset[str]() if name == "inline" else readable(life, tmp_path / "whole")
    return life, case, must


def _trial(
    life: Life,
    case: Prepared,
    name: str,
    target: Path,
    must: frozenset[str],
    at: int,
    where: str,
    **how: object,
) -> None:
    error = fails(copied(life.path, target), case.operation, at, where, **how)
    found = seen(target)
    assert found in between(life, case.old, case.new), where
    assert readable(life, target) >= must, where
    if error is None:
        assert done(life, target, name), f"{where}: success reported, and it is not done"
        assert found == case.new, f"{where}: success reported, and {found}"
    elif found == case.new and name == "inline":
        assert isinstance(error, CommitUnknownError), f"{where}: landed, but reported {error!r}"
    went = check_goes_on(target, {case.old, case.new}, where)
    assert went == case.new or found == case.old, f"{where}: it went back"
    assert readable(life, target) >= must, where
    check_cleans(target, plus_next(went), where)
    COUNT.trials += 1
