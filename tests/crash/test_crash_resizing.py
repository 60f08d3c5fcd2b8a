"""A process that ends at any storage operation of a resize of buckets, or of a write beside one: no row is lost or there
twice, for readers at once and after the next writer."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from crash_trials import SEED, WHEN
from effort import ALL, effort
from hoodoo.table.table import Table
from hoodoo.testing.stores import Crash, CrashingStorage
from hoodoo.timeline import heartbeat, properties
from hoodoo_rows.testing.tables import Maker
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.storage.local import LocalStorage

pytestmark = pytest.mark.sampled(6, among="crashes")

SCHEMA = pa.schema([("id", pa.string()), ("region", pa.string()), ("ts", pa.int64())])
OPTIONS = {
    "hoodie.index.bucket.engine": "CONSISTENT_HASHING",
    "hoodie.bucket.index.num.buckets": "2",
    "hoodie.bucket.index.max.num.buckets": "8",
}
SPLIT = {"hoodie.bucket.index.split.threshold": "0", "hoodie.bucket.index.merge.threshold": "0"}
SAMPLED = effort(2, 12)
Work = Callable[[Table], Any]

rows = Maker(SCHEMA, "ts", id=str, region="eu")


FIRST, BESIDE, LAST = rows(range(30), 1), rows(range(20, 40), 2), rows(range(35, 50), 3)


def seen(path: Path) -> list[tuple[str, int]]:
    found = hoodoo.open(str(path)).read().to_arrow()
    return sorted(zip(found["id"].to_pylist(), found["ts"].to_pylist(), strict=True))


def expected(*written: pa.Table) -> list[tuple[str, int]]:
    last = {row["id"]: row["ts"] for table in written for row in table.to_pylist()}
    return sorted(last.items())


def planned(path: Path, version: int) -> Table:
    table = hoodoo.create(
        str(path), SCHEMA, name="t", record_key="id", partition_by="region", ordering="ts",
        table_type="MERGE_ON_READ", index="bucket", table_version=version, options=OPTIONS,
    )  # fmt: skip
    table.upsert(FIRST)
    assert table.schedule_clustering(options=SPLIT)
    return table


WORKS: dict[str, tuple[Work, tuple[pa.Table, ...]]] = {
    "resize": (lambda t: t.run_clustering(t.clusterings()[0].instant), ()),
    "write": (lambda t: t.upsert(BESIDE), (BESIDE,)),
    "cancel": (lambda t: t.cancel_clustering(t.clusterings()[0].instant), ()),
}


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "written beside"])
@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("version", [9, 6])
def test_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int, work: str, beside: bool
) -> None:
    monkeypatch.setattr(heartbeat.Liveness, "is_alive", lambda self, instant: False)
    base = tmp_path / "base"
    table = planned(base, version)
    if beside:
        table.upsert(BESIDE)
    do, adds = WORKS[work]
    before = expected(FIRST, *((BESIDE,) if beside else ()))
    after = expected(FIRST, *((BESIDE,) if beside else ()), *adds)
    whole = tmp_path / "whole"
    shutil.copytree(base, whole)
    counting = CrashingStorage(LocalStorage(str(whole)))
    do(Table(counting, properties.load(counting), {}, LocalEngine(1)))
    count = counting.count
    assert seen(whole) == after
    points = [(at, when) for at in range(1, count + 1) for when in WHEN]
    if not ALL:
        chance = random.Random(f"{SEED}{version}{work}{beside}")
        points = chance.sample(points, min(SAMPLED, len(points)))
    for at, when in points:
        path = tmp_path / f"at{at}{when}"
        shutil.copytree(base, path)
        store = CrashingStorage(LocalStorage(str(path)), at, when)
        with pytest.raises(Crash):
            do(Table(store, properties.load(store), {}, LocalEngine(1)))
        where = f"{work}, crashed {when} operation {at} of {count}"
        there = seen(path)
        assert there in (before, after), where
        again = hoodoo.open(str(path))
        again.upsert(LAST)
        done = [BESIDE] if beside or (adds and (there == after or _has(path))) else []
        assert seen(path) == expected(FIRST, *done, LAST), where
        again.cluster(options=SPLIT)
        assert seen(path) == expected(FIRST, *done, LAST), where
        keys = again.read().to_arrow().select(["id", "region"])
        assert again.locate(keys).num_rows == len(keys), where
        assert again.verify().ok, where
        shutil.rmtree(path)


def _has(path: Path) -> bool:
    """Whether the write was carried out by the next one."""
    return ("30", 2) in seen(path)
