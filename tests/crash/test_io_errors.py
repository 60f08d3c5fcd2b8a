"""A store that fails: a clean error, and a report that is true.

A write that answers with a Commit has landed; one that raises has not, unless the error says that
this is unknown. Whatever happened, the next write over a healthy store needs no manual step.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from crash_trials import (
    COUNT,
    OPERATIONS,
    SEED,
    VERSIONS,
    Prepared,
    check_next_write,
    copied,
    crash,
    opened,
    prepared,
    state,
)
from effort import MORE
from hoodoo.errors import CommitUnknownError, HoodooError
from hoodoo.storage.api import Storage
from hoodoo.testing.stores import MUTATING, FailingStorage, RecordingStorage
from hoodoo.testing.stores import OPERATIONS as ALL
from hoodoo_rows.write.commit import Commit

pytestmark = pytest.mark.sampled(6, among="crashes")

Tables = Callable[..., Path]
READING = ALL - MUTATING


def some(count: int, salt: object) -> range:
    """1 to ``count``, by default every other one: which, the seed says."""
    first = 1 if MORE else random.Random(f"{SEED} {salt}").choice((1, 2))
    return range(first, count + 1, 1 if MORE else 2)


def _trial(case: Prepared, target: Path, at: int, where: str, **how: object) -> None:
    copied(case.path, target)
    stores: list[FailingStorage] = []

    def failing(inner: Storage) -> Storage:
        stores.append(FailingStorage(inner, at, **how))  # type: ignore[arg-type]
        return stores[0]

    error: HoodooError | None = None
    try:
        answer = case.operation(opened(target, failing))
        assert isinstance(answer, Commit), where
    except HoodooError as raised:  # any other class is a failure of the test
        error = raised
    assert stores[0].count >= at, f"{where}: there was no operation {at}"
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


def reads(case: Prepared, tmp_path: Path) -> list[tuple[str, str]]:
    stores: list[RecordingStorage] = []

    def record(inner: Storage) -> Storage:
        stores.append(RecordingStorage(inner))
        return stores[0]

    case.operation(opened(copied(case.path, tmp_path / "reads"), record))
    return [call for call in stores[0].calls if call[0] in READING]


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
