"""A store that fails: a clean error, and a report that is true.

A write that answers with a Commit has landed; one that raises has not, unless the error says that
this is unknown. Whatever happened, the next write over a healthy store needs no manual step.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crash_runs import READING, fails, reads
from crash_trials import (
    COUNT,
    OPERATIONS,
    SEED,
    VERSIONS,
    Prepared,
    check_next_write,
    copied,
    crash,
    prepared,
    state,
)
from effort import MORE
from hoodoo.errors import CommitUnknownError
from hoodoo.testing.stores import MUTATING
from hoodoo_rows.write.commit import Commit

pytestmark = pytest.mark.sampled(6, among="crashes")

Tables = Callable[..., Path]


def some(count: int, salt: object) -> range:
    """1 to ``count``, by default every other one: which, the seed says."""
    first = 1 if MORE else random.Random(f"{SEED} {salt}").choice((1, 2))
    return range(first, count + 1, 1 if MORE else 2)


def _trial(case: Prepared, target: Path, at: int, where: str, **how: object) -> None:

    def committed(answer: Any) -> None:
        assert isinstance(answer, Commit), where

    error = fails(copied(case.path, target), case.operation, at, where, committed, **how)
    found = state(target)
    assert found in (case.old, case.new), where
    if error is None:
        assert found == case.new, f"{where}: success reported for a lost commit"
    elif found == case.new:
        assert isinstance(error, CommitUnknownError), f"{where}: landed, but reported {error!r}"
        assert "unknown" in str(error), where
    check_next_write(target, found, where)
    COUNT.trials += 1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["upsert", "bulk_insert", "insert_overwrite", "delete_partitions"])
@pytest.mark.parametrize("once", [True, False], ids=["once", "for-good"])
@pytest.mark.parametrize("after", [False, True], ids=["not-done", "answer-lost"])
def test_error_at_every_mutating_operation(
    tables: Tables,
    tmp_path: Path,
    local_temporaries: Path,
    name: str,
    version: int,
    once: bool,
    after: bool,
) -> None:
    case = prepared(tables(version), tmp_path, OPERATIONS[name])
    for at in some(case.steps, (name, version, once, after)):
        where = f"operation {at}: {case.mutations[at - 1]}, seed {SEED}"
        _trial(case, tmp_path / "trial", at, where, once=once, after=after, ops=MUTATING)


@pytest.mark.parametrize("version", VERSIONS)
def test_error_at_every_reading_operation(
    tables: Tables, tmp_path: Path, local_temporaries: Path, version: int
) -> None:
    """A failing read is never taken for "there is nothing"."""
    case = prepared(tables(version), tmp_path, OPERATIONS["upsert"])
    found = reads(case, tmp_path)
    for at in range(1, len(found) + 1):
        _trial(case, tmp_path / "trial", at, f"read {at}: {found[at - 1]}", ops=READING)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("once", [True, False], ids=["once", "for-good"])
@pytest.mark.parametrize("after", [False, True], ids=["not-done", "answer-lost"])
def test_error_during_recovery(
    tables: Tables, tmp_path: Path, version: int, once: bool, after: bool
) -> None:
    """The write that heals a crashed one meets errors too: it reports them, and loses nothing."""
    base = copied(tables(version), tmp_path / "crashed")
    crash(base, OPERATIONS["upsert"], 9, "before")
    case = prepared(base, tmp_path, OPERATIONS["insert"])
    for at in some(case.steps, (version, once, after)):
        where = f"operation {at}: {case.mutations[at - 1]}, seed {SEED}"
        _trial(case, tmp_path / "trial", at, where, once=once, after=after, ops=MUTATING)
