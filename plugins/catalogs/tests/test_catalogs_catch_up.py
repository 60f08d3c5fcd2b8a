"""Processes that end anywhere, and a catalog that fails at random: no row is lost, no write is
refused, and the next action brings the entry up to the table."""

from __future__ import annotations

import random
import shutil
import warnings
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from attrs import define
from hoodoo.errors import HoodooWarning
from hoodoo.testing.stores import Crash, CrashingStorage
from hoodoo_catalogs.hookspecs.catalog import CatalogError
from hoodoo_catalogs.testing.fakes import MemoryCatalog

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.string()), ("n", pa.int64())])
OPTIONS = {"hoodoo.catalogs": "fake://db.t", "hoodie.metadata.enable": "false"}
DAYS = ("mon", "tue", "wed", "thu")
LAST, COMPLETED = "last_commit_time_sync", "last_commit_completion_time_sync"


def made(path: Path) -> hoodoo.Table:
    return hoodoo.create(
        str(path), SCHEMA, name="t", record_key="id", partition_by="day", options=OPTIONS
    )


def trips(*ids: int, n: int = 0) -> list[dict[str, Any]]:
    return [{"id": number, "day": DAYS[number % 4], "n": n} for number in ids]


def is_up_to_date(catalog: MemoryCatalog, table: hoodoo.Table, where: object) -> None:
    entry = catalog.find("db.t")
    assert entry is not None, where
    assert entry.parameters[LAST] == table.timeline().writes()[-1].requested, where
    columns = [c.name for c in (*entry.columns, *entry.partition_keys)]
    assert [c for c in columns if not c.startswith("_hoodie")] == [
        *(n for n in table.schema.names if n != "day"),
        "day",
    ], where
    there = {s.partition_path for s in table.handle.newest_slices()[1]}
    assert {values[0] for values in catalog.partitions("db.t")} == there, where


@define
class Unsure:
    """``inner``, of which calls fail by ``chance``: before anything is done, or when all is done
    and the answer is lost."""

    inner: MemoryCatalog
    chance: random.Random
    share: float = 0.4
    failed: int = 0

    def _call(self, name: str, *arguments: Any) -> Any:
        drawn = self.chance.random()
        error = CatalogError("fake catalog", "is down.", "Wait.")
        if self.chance.random() < 0.5:
            error = RuntimeError("broken pipe")  # type: ignore[assignment]
        if drawn < self.share / 2:
            self.failed += 1
            raise error
        found = getattr(self.inner, name)(*arguments)
        if drawn < self.share:
            self.failed += 1
            raise error
        return found

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        return (lambda *given: self._call(name, *given)) if callable(found) else found

    def tables(self) -> Any:
        return self._call("tables")

    def find(self, name: str) -> Any:
        return self._call("find", name)

    def put(self, table: Any) -> Any:
        return self._call("put", table)

    def drop(self, name: str) -> Any:
        return self._call("drop", name)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(20))
def test_a_catalog_that_fails_at_random(tmp_path: Path, fake: list[Any], seed: int) -> None:
    chance, works = random.Random(seed), fake[0]
    fake[0] = unsure = Unsure(works, chance)
    table, expected, more = made(tmp_path / "t"), dict[int, int](), 0
    for turn in range(20):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HoodooWarning)  # that the entry is behind
            action = chance.choice(["upsert", "upsert", "delete", "drop", "rollback", "alter"])
            ids = chance.sample(range(16), 4)
            if action == "delete":
                table.delete([{"id": n, "day": DAYS[n % 4]} for n in ids])
                expected = {k: v for k, v in expected.items() if k not in ids}
            elif action == "drop" and expected:
                day = DAYS[chance.choice([*expected]) % 4]
                table.delete_partitions([day])
                expected = {k: v for k, v in expected.items() if DAYS[k % 4] != day}
            elif action == "alter" and more < 2:
                more += 1
                table.alter(add={f"more{more}": "string"})
            else:
                found = table.upsert(trips(*ids, n=turn))
                if action == "rollback":
                    table.rollback(found.instant)
                else:
                    expected |= dict.fromkeys(ids, turn)
        assert {r["id"]: r["n"] for r in table.read().to_arrow().to_pylist()} == expected
    assert unsure.failed > 5
    unsure.share = 0
    table.upsert(trips(1, n=99))
    is_up_to_date(works, table, seed)
    assert all(done.skipped for done in table.sync())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("action", ["upsert", "drop", "rollback", "clean", "cluster", "alter"])
def test_a_process_ends_anywhere(tmp_path: Path, fake: list[Any], action: str, when: Any) -> None:
    """Between the commit and the entry, too: the next action of another process ends with both."""
    start = made(tmp_path / "start")
    for turn in range(3):
        newest = start.upsert(trips(*range(8), n=turn))
    stored = dict(fake[0].entries), {k: dict(v) for k, v in fake[0].stored.items()}
    (tmp_path / "start").rename(tmp_path / "kept")
    at = 0
    while True:
        at += 1
        shutil.copytree(tmp_path / "kept", tmp_path / "start")  # the entry has its path
        works = MemoryCatalog(dict(stored[0]), {k: dict(v) for k, v in stored[1].items()})
        works.writes = 100 * at
        fake[0] = works
        table = hoodoo.open(str(tmp_path / "start"))
        store = CrashingStorage(table.handle.storage, at, when)
        table.handle.storage = store
        try:
            if action == "upsert":
                table.upsert(trips(8, 9, n=9))
            elif action == "drop":
                table.delete_partitions(["tue"])
            elif action == "rollback":
                table.rollback(newest.instant)
            elif action == "clean":
                table.clean(commits_retained=1)
            elif action == "cluster":
                table.cluster(order="linear", columns=["n"])
            else:
                table.alter(add={"more": "string"})
        except Crash:
            pass
        if not store.crashed:
            break
        fresh = hoodoo.open(str(tmp_path / "start"))
        # In a partition of its own: files of a clustering that is pending are not written.
        fresh.upsert([{"id": 50, "day": "sun", "n": 50}])
        is_up_to_date(works, fresh, (action, when, at))
        shutil.rmtree(tmp_path / "start")
    assert at > 4
