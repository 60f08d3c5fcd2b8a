"""A process that ends at any storage operation of a write into log files, or of a compaction."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from crash_trials import (
    COUNT,
    SEED,
    VERSIONS,
    WHEN,
    Operation,
    Prepared,
    check_next_write,
    copied,
    crash,
    leaks,
    opened,
    plus_next,
    prepared,
    state,
)
from hoodoo.storage.api import Storage
from hoodoo.testing.stores import RecordingStorage
from merge_on_read import (
    INDEXES,
    SERVICES,
    WRITES,
    build,
    check_compacts,
    first,
    log_paths,
    logs,
)

Tables = Callable[..., Path]
# Recoveries take the same steps whatever they recover from: a few of each, others in each run.
SAMPLED = 6


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """``merged(version, index, commits=2)``: a prepared table, made once. Copy it."""
    below = tmp_path_factory.mktemp("merged")

    def table(version: int, index: str, commits: int = 2) -> Path:
        target = below / f"v{version}-{index}-{commits}"
        return target if target.exists() else build(target, version, index, commits)

    return table


def _every_crash(case: Prepared, tmp_path: Path, operation: Operation | None = None) -> None:
    for at in range(1, case.steps + 1):
        for when in WHEN:
            where = f"{when} operation {at}: {case.mutations[at - 1]}"
            target = copied(case.path, tmp_path / "trial")
            crash(target, case.operation, at, when)
            found = state(target)
            assert found in (case.old, case.new), where
            check_next_write(target, found, where, services=True)
            check_compacts(target, plus_next(found), where)
            assert leaks(target) == [], where
            COUNT.trials += 1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("name", WRITES)
def test_crash_in_a_write(
    merged: Tables, tmp_path: Path, local_temporaries: Path, name: str, index: str, version: int
) -> None:
    _every_crash(prepared(merged(version, index), tmp_path, WRITES[name]), tmp_path)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("index", INDEXES)
def test_crash_in_the_first_write(
    merged: Tables, tmp_path: Path, local_temporaries: Path, index: str, version: int
) -> None:
    """With the bucket index it begins file groups with log files."""
    case = prepared(merged(version, index, 0), tmp_path, first)
    assert bool(log_paths(tmp_path / "whole")) == (index == "bucket")
    _every_crash(case, tmp_path)


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
    case = prepared(base, tmp_path, SERVICES[name], changes_rows=False)
    assert bool(logs(tmp_path / "whole")) == (name == "schedule")
    _every_crash(case, tmp_path)
