"""A process that ends at any storage operation of a service: the old or the new table, and no manual
step. The services: clean, archive, rollback of a completed write, savepoint, restore, and those that
follow a write by themselves.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from crash_runs import crashes_again, crashes_of
from crash_trials import (
    COUNT,
    SEED,
    VERSIONS,
    Operation,
    Prepared,
    plus_next,
    prepared,
)
from effort import effort
from hoodoo.errors import ConfigError
from hoodoo.table.table import Table
from table_life import (
    CHANGING,
    KINDS,
    TABLES,
    Life,
    between,
    check_cleans,
    check_goes_on,
    operation,
    readable,
    seen,
)

pytestmark = pytest.mark.sampled(6, among="crashes")

Lives = Callable[..., Life]
# So many operations of a service in one run, other ones in each; or all, before, after and torn.
SAMPLED = effort(1, 5)
RECOVERIES = effort(1, 3)


def _prepared(life: Life, name: str, tmp_path: Path) -> Prepared:
    case = prepared(life.path, tmp_path, operation(life, name), changes_rows=name in CHANGING)
    assert len(readable(life, life.path)) > 1, "too few points: the trial would prove nothing"
    return case


def _check(life: Life, case: Prepared, target: Path, must: frozenset[str], where: str) -> None:
    """Now, after the next write, and after a clean. ``must``: the points that have to be readable."""
    found = seen(target)
    assert found in between(life, case.old, case.new), f"{where}: {found}"
    assert readable(life, target) >= must, where
    went = check_goes_on(target, {case.old, case.new}, where)
    assert went == case.new or found == case.old, f"{where}: it went back"
    assert readable(life, target) >= must, where
    check_cleans(target, plus_next(went), where)
    COUNT.trials += 1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TABLES)
def test_crash_in_a_service(
    lives: Lives, tmp_path: Path, local_temporaries: Path, name: str, kind: str, version: int
) -> None:
    life = lives(version, kind, TABLES[name])
    case = _prepared(life, name, tmp_path)
    must = readable(life, tmp_path / "whole")
    chance = random.Random(f"{SEED} {name} {kind} {version}")
    for target, where in crashes_of(case, tmp_path, chance, SAMPLED):
        _check(life, case, target, must, where)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TABLES)
def test_crash_while_a_service_is_finished(
    lives: Lives, tmp_path: Path, local_temporaries: Path, name: str, kind: str, version: int
) -> None:
    """Stop at operation j of the same call once more, after a crash at k; the write after that ends
    it."""
    life = lives(version, kind, TABLES[name])
    case = _prepared(life, name, tmp_path)
    # One more write is one more reason to clean.
    must = frozenset[str]() if name == "inline" else readable(life, tmp_path / "whole")
    chance = random.Random(f"{SEED} {name} {kind} {version} again")
    recoveries = [_again(life, name)]
    for target, _, where in crashes_again(
        case, tmp_path, chance, RECOVERIES, recoveries, age=False
    ):
        _check(life, case, target, must, where)


def _again(life: Life, name: str) -> Operation:
    """The same call once more; it says so if all has been done."""

    def call(table: Table) -> None:
        with suppress(ConfigError):
            operation(life, name)(table)

    return call
