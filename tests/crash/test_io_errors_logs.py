"""A store that fails under log files and compactions: a clean error, a true report, no manual step."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from crash_leaks import leaks
from crash_runs import HOW, READING, fails, reads
from crash_trials import (
    COUNT,
    SEED,
    VERSIONS,
    Prepared,
    copied,
    opened,
    ours,
    plus_next,
    prepared,
    state,
)
from hoodoo.errors import CommitUnknownError
from hoodoo.testing.stores import MUTATING, FailingStorage
from hoodoo.timeline.timeline import Timeline
from merge_on_read import SERVICES, WRITES, check_compacts, check_write
from test_io_errors import _trial

pytestmark = pytest.mark.sampled(6, among="crashes")

Tables = Callable[..., Path]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("once", "after"), HOW.values(), ids=HOW)
def test_error_at_every_mutating_operation_of_a_write(
    merged: Tables,
    tmp_path: Path,
    local_temporaries: Path,
    version: int,
    once: bool,
    after: bool,
) -> None:
    case = prepared(merged(version, "bucket"), tmp_path, WRITES["upsert"])
    for at in range(1, case.steps + 1):
        where = f"operation {at}: {case.mutations[at - 1]}"
        _trial(case, tmp_path / "trial", at, where, once=once, after=after, ops=MUTATING)


@pytest.mark.parametrize("version", VERSIONS)
def test_error_at_reading_operations_of_a_write(
    merged: Tables, tmp_path: Path, local_temporaries: Path, version: int
) -> None:
    case = prepared(merged(version, "simple"), tmp_path, WRITES["upsert"])
    found = reads(case, tmp_path)
    for at in _sample(len(found), version):
        _trial(case, tmp_path / "trial", at, f"read {at}: {found[at - 1]}", ops=READING)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("once", "after"), HOW.values(), ids=HOW)
def test_error_at_every_mutating_operation_of_a_compaction(
    merged: Tables,
    tmp_path: Path,
    local_temporaries: Path,
    version: int,
    once: bool,
    after: bool,
) -> None:
    case = prepared(merged(version, "bucket"), tmp_path, SERVICES["compact"], changes_rows=False)
    for at in range(1, case.steps + 1):
        where = f"operation {at}: {case.mutations[at - 1]}"
        _compaction(case, tmp_path / "trial", at, where, once=once, after=after, ops=MUTATING)


@pytest.mark.parametrize("version", VERSIONS)
def test_error_at_reading_operations_of_a_compaction(
    merged: Tables, tmp_path: Path, local_temporaries: Path, version: int
) -> None:
    """A log file that can't be read is never taken for one without rows."""
    case = prepared(merged(version, "simple"), tmp_path, SERVICES["compact"], changes_rows=False)
    found = reads(case, tmp_path)
    for at in _sample(len(found), version):
        _compaction(case, tmp_path / "trial", at, f"read {at}: {found[at - 1]}", ops=READING)


def _sample(count: int, version: int) -> list[int]:
    """Other ones in each run; all of them are tried on tables that are copied on write."""
    return random.Random(f"{SEED} {version}").sample(range(1, count + 1), min(count, 15))


def _compaction(case: Prepared, target: Path, at: int, where: str, **how: object) -> None:
    error = fails(copied(case.path, target), case.operation, at, where, **how)
    assert state(target) == case.old, where
    completed = _completed(opened(target).timeline())
    if error is None:
        assert completed, f"{where}: success reported, and there is none"
    elif completed:
        assert isinstance(error, CommitUnknownError), f"{where}: landed, but reported {error!r}"
    check_write(target, case.old, where)
    check_compacts(target, plus_next(case.old), where)
    assert leaks(target) == [], where
    COUNT.trials += 1


def _compactions(path: Path) -> int:
    return sum(i.action == "commit" for i in opened(path).timeline().writes())


def _completed(timeline: Timeline) -> bool:
    return any(i.action == "commit" for i in timeline.writes())


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("after", [False, True], ids=["not-done", "answer-lost"])
def test_error_in_an_inline_compaction(
    merged: Tables, tmp_path: Path, version: int, after: bool
) -> None:
    """The rows have landed before it: the write must not say that it failed."""
    case = prepared(merged(version, "bucket"), tmp_path, WRITES["inline"])
    chance = random.Random(f"{SEED} {version} {after}")
    planned = case.decisions[1]
    for at in chance.sample(range(planned, case.steps + 1), 4):
        where = f"operation {at}: {case.mutations[at - 1]}, seed {SEED}"
        target = copied(case.path, tmp_path / "trial")
        table = opened(
            target, lambda s, at=at: FailingStorage(s, at, after=after, once=False, ops=MUTATING)
        )
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            case.operation(table)
        # Where only the tidying failed, the compaction is done.
        compacted = _compactions(target) > _compactions(case.path)
        assert compacted or any("compact" in str(w.message) for w in told), where
        found = ours(target)
        assert found == case.new, where
        check_write(target, found, where)
        check_compacts(target, plus_next(found), where)
        COUNT.trials += 1
