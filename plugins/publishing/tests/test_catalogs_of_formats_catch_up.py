"""Catalogs that show a table as Iceberg and Delta Lake fail at random, or with the process: no row
is lost, no write is refused, and the next action brings them up to the table."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import hoodoo
import pytest
from attrs import define
from deltalake import DeltaTable
from hoodoo.errors import HoodooWarning
from hoodoo.testing.stores import Crash, CrashingStorage
from open_readers import SCHEMA, delta, some_rows, texts
from pyiceberg.catalog.sql import SqlCatalog

NAMES = SCHEMA.names
CALLS = ("load_table", "register_table", "commit_table")


@define
class Failing:
    """Calls of pyiceberg's catalog fail by ``share``, before or after they have done their work."""

    chance: random.Random
    share: float = 0.0
    failed: int = 0


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Failing:
    found = Failing(random.Random(0))

    def around(name: str) -> Any:
        call = getattr(SqlCatalog, name)

        def made(*given: Any, **named: Any) -> Any:
            drawn = found.chance.random()
            found.failed += drawn < found.share
            if drawn < found.share / 2:
                raise OSError(f"{name}: connection refused")
            done = call(*given, **named)
            if drawn < found.share:
                raise OSError(f"{name}: connection reset")
            return done

        return made

    for name in CALLS:
        monkeypatch.setattr(SqlCatalog, name, around(name))
    return found


def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[hoodoo.Table, SqlCatalog]:
    uri, warehouse = f"sqlite:///{tmp_path}/lake.db", f"file://{tmp_path}/warehouse"
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", uri)
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", warehouse)
    options = {
        "hoodoo.open.formats": "iceberg,delta",
        "hoodoo.open.catalogs": f"iceberg=iceberg://lake/db.t,delta={tmp_path}/files#t",
        "hoodie.metadata.enable": "false",
    }
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id", options=options)
    return table, SqlCatalog("lake", uri=uri, warehouse=warehouse)


def is_up_to_date(table: hoodoo.Table, lake: SqlCatalog, where: object) -> None:
    right = texts(table.read().to_arrow(), NAMES)
    found = lake.load_table("db.t")
    assert texts(found.scan().to_arrow(), NAMES) == right, where
    for snapshot in found.metadata.snapshots:
        found.scan(snapshot_id=snapshot.snapshot_id).to_arrow()
    path = table.path.removeprefix("file://")
    entry = hoodoo.catalog(f"{Path(path).parent}/files").entry("t")
    assert DeltaTable(entry.location).version() == DeltaTable(path).version(), where
    assert texts(delta(path), NAMES) == right, where


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(10))
def test_catalogs_that_fail_at_random(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: Failing, seed: int
) -> None:
    table, lake = made(tmp_path, monkeypatch)
    failing.chance, failing.share = random.Random(seed), 0.5
    chance = random.Random(seed)
    expected: dict[int, int] = {}
    for turn in range(15):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HoodooWarning)  # that the entry is behind
            ids = chance.sample(range(12), 4)
            action = chance.choice(["upsert", "upsert", "rollback", "clean", "delete"])
            if action == "clean":
                table.clean(commits_retained=1)
            elif action == "delete":
                table.delete(ids)
                expected = {k: v for k, v in expected.items() if k not in ids}
            else:
                found = table.upsert(some_rows(ids, turn))
                if action == "rollback":
                    table.rollback(found.instant)
                else:
                    expected |= dict.fromkeys(ids, turn - 50)
        assert {r["id"]: r["n"] for r in table.read().to_arrow().to_pylist()} == expected
    assert failing.failed > 3
    failing.share = 0
    table.upsert(some_rows([1], 3))
    is_up_to_date(table, lake, seed)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("action", ["upsert", "clean", "rollback"])
def test_a_process_ends_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str, when: Any
) -> None:
    """One table goes on through processes that end, each at a later operation than the one before:
    the next action of another brings formats and catalogs up to it."""
    table, lake = made(tmp_path, monkeypatch)
    for value in (1, 2, 3):
        table.upsert(some_rows(range(4), value))
    at = 0
    while True:
        at += 1
        newest = table.upsert(some_rows(range(4), at % 40))
        ending = hoodoo.open(table.path)
        store = CrashingStorage(ending.handle.storage, at, when)
        ending.handle.storage = store
        try:
            if action == "upsert":
                ending.upsert(some_rows(range(2, 6), 9))
            elif action == "clean":
                ending.clean(commits_retained=1)
            else:
                ending.rollback(newest.instant)
        except Crash:
            pass
        table = hoodoo.open(table.path)
        table.upsert(some_rows([50], 5))
        is_up_to_date(table, lake, (action, when, at))
        if not store.crashed:
            break
    assert at > 10
