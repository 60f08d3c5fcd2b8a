"""A process that ends at any storage operation of an erasure: the repeated call ends it."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from hoodoo import Table
from hoodoo.testing.stores import Crash, CrashingStorage
from hoodoo.timeline import properties
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.storage.local import LocalStorage
from independent import files_with
from lived import lived, owners

SEED = int(os.environ.get("HOODOO_SEED", "0") or 0)
PERSON = "someone-001"
KINDS = [("COPY_ON_WRITE", "bloom", 9), ("MERGE_ON_READ", "record_index", 9),
         ("MERGE_ON_READ", "simple", 6)]  # fmt: skip


def opened(path: Path, at: int = 0, when: Any = "before") -> tuple[Table, CrashingStorage]:
    plain = LocalStorage(str(path), durable=False)
    storage = CrashingStorage(plain, at, when)
    return Table(storage, properties.load(plain), {}, LocalEngine(1)), storage


def erase(table: Table) -> Any:
    return table.erase(f"person = '{PERSON}'", look_for=[PERSON], prove=True, drop_savepoints=True)


def tried(base: Path, at: int, when: str, keys: list[str], after: dict[str, str]) -> None:
    path = base.parent / "trial"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(base, path)
    table, storage = opened(path, at, when)
    with pytest.raises(Crash):
        erase(table)
    where = f"{when} operation {at}"
    assert storage.crashed, where
    noted = bool(list((path / ".hoodie/.hoodoo/erasures").glob("*.json")))
    done = erase(opened(path)[0])
    assert done.proven, (where, done.report["found"], done.report["unread"])
    assert done.keys == len(keys) or not noted, where
    left = files_with(LocalStorage(str(path)), [*keys, PERSON])
    assert not left, (where, left)
    assert owners(opened(path)[0]) == after, where
    assert opened(path)[0].verify().ok, where


def prepared(tmp_path: Path, kind: str, index: str, version: int) -> tuple[Path, Any, Any, int]:
    base = tmp_path / "base"
    lived(str(base), 5, kind, index, version).savepoint()
    before = owners(opened(base)[0])
    shutil.copytree(base, tmp_path / "whole")
    table, storage = opened(tmp_path / "whole")
    assert erase(table).proven
    keys = [key for key, owner in before.items() if owner == PERSON]
    after = {key: owner for key, owner in before.items() if owner != PERSON}
    return base, keys, after, storage.count


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("kind", "index", "version"), KINDS)
def test_crash_and_repeat(tmp_path: Path, kind: str, index: str, version: int) -> None:
    base, keys, after, count = prepared(tmp_path, kind, index, version)
    chance = random.Random(f"{SEED} {kind} {index}")
    for at in sorted(chance.sample(range(1, count + 1), 2)):
        tried(base, at, chance.choice(["before", "after", "torn"]), keys, after)


@pytest.mark.trial
@pytest.mark.parametrize("when", ["before", "after", "torn"])
@pytest.mark.parametrize(("kind", "index", "version"), KINDS)
def test_crash_at_every_operation(
    tmp_path: Path, kind: str, index: str, version: int, when: str
) -> None:
    base, keys, after, count = prepared(tmp_path, kind, index, version)
    for at in range(1, count + 1):
        tried(base, at, when, keys, after)
