"""After an erasure no byte of a key is in any file, whatever the table has been through."""

from __future__ import annotations

import os
import random
from itertools import product
from pathlib import Path

import hoodoo
import pytest
from independent import files_with
from lived import INDEXES, PEOPLE, lived, owners

SEED = int(os.environ.get("HOODOO_SEED", "0") or 0)
CASES = [
    (kind, index, version)
    for kind, index, version in product(("COPY_ON_WRITE", "MERGE_ON_READ"), INDEXES, (9, 6))
    if version == 9 or index != "growing_record_index"
]


def check(path: str, seed: int, kind: str, index: str, version: int) -> None:
    table = lived(path, seed, kind, index, version)
    person = random.Random(seed).choice(PEOPLE)
    before = owners(table)
    keys = [key for key, owner in before.items() if owner == person]
    storage = table.handle.storage
    assert files_with(storage, keys)
    done = table.erase(f"person = '{person}'", look_for=[person], prove=True)
    assert (done.deleted, done.keys) == (len(keys), len(keys))
    left = files_with(storage, [*keys, person])
    assert not left, left
    assert done.report is not None
    assert done.proven, (done.report["found"], done.report["unread"])
    assert owners(hoodoo.open(path)) == {k: v for k, v in before.items() if v != person}
    report = hoodoo.open(path).verify()
    assert report.ok, report.findings


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("kind", "index", "version"), CASES)
def test_no_file_has_the_keys(tmp_path: Path, kind: str, index: str, version: int) -> None:
    check(str(tmp_path / "t"), SEED, kind, index, version)


def test_plans_leave_the_ledger_of_decisions(tmp_path: Path) -> None:
    """A clustering was decided shortly before: its plan, with values of rows, stood in the ledger."""
    check(str(tmp_path / "t"), 113, *CASES[36 % len(CASES)])


@pytest.mark.trial
@pytest.mark.parametrize("seed", range(100))
def test_a_hundred_histories(tmp_path: Path, seed: int) -> None:
    check(str(tmp_path / "t"), SEED + seed, *CASES[seed % len(CASES)])
