"""A process that ends at any storage operation of ``resize_buckets``, and writers at any of its
operations: no row is lost or there twice, for readers at once and after the next writer, which
needs no manual step."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from crash_trials import SEED, WHEN
from effort import ALL, effort
from hoodoo.table.table import Table
from hoodoo.testing.stores import Crash, CrashingStorage, GatedStorage
from hoodoo.timeline import heartbeat, properties
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.storage.local import LocalStorage

SCHEMA = pa.schema([("id", pa.string()), ("region", pa.string()), ("ts", pa.int64())])
KINDS = [(kind, version) for kind in ("COPY_ON_WRITE", "MERGE_ON_READ") for version in (9, 6)]
RULES = {"hoodie.bucket.index.partition.expressions": "^eu$,4"}
SAMPLED = effort(3, 12)


def batch(ids: range, ts: int, *regions: str) -> pa.Table:
    each = [(f"k{i}", region, ts) for region in regions or ("eu", "us") for i in ids]
    return pa.table(dict(zip(SCHEMA.names, zip(*each, strict=True), strict=True)), schema=SCHEMA)


FIRST, LAST = batch(range(12), 1), batch(range(8, 20), 3)
# Other keys of what is there, of a bucket that is not there, of a path that is not there.
BESIDE = pa.concat_tables([batch(range(6, 14), 2, "us"), batch(range(4), 2, "new")])


def seen(path: Path) -> list[tuple[str, str, int]]:
    found = hoodoo.open(str(path)).read().to_arrow()
    return sorted(zip(*(found[n].to_pylist() for n in ("region", "id", "ts")), strict=True))


def expected(*written: pa.Table) -> list[tuple[str, str, int]]:
    last = {(r["region"], r["id"]): r["ts"] for table in written for r in table.to_pylist()}
    return sorted((*key, ts) for key, ts in last.items())


def made(path: Path, kind: str, version: int, rules: bool) -> Path:
    number = {"hoodie.bucket.index.num.buckets": "2" if rules else "4"}
    table = hoodoo.create(
        str(path), SCHEMA, name="t", record_key="id", partition_by="region", ordering="ts",
        table_type=kind, index="bucket", table_version=version,
        options=number | (RULES if rules else {}),
    )  # fmt: skip
    table.upsert(FIRST)
    table.upsert(FIRST.slice(0, 3))
    return path


def resize(table: Table) -> None:
    table.resize_buckets(6, expressions="^eu$,3;^us$,8")


def goes_on(path: Path, where: str, *written: pa.Table) -> None:
    again = hoodoo.open(str(path))
    again.upsert(LAST)
    assert seen(path) == expected(FIRST, *written, LAST), where
    again.resize_buckets(6, expressions="^eu$,3;^us$,8")
    assert seen(path) == expected(FIRST, *written, LAST), where
    for one in again.file_slices():
        most = {"eu": 3, "us": 8}.get(one.partition_path, 6)
        assert int(one.file_id[:8]) < most, where
    again.upsert(LAST)
    assert seen(path) == expected(FIRST, *written, LAST), where
    found = again.read(where="id = 'k9' and region = 'eu'")
    assert found.to_arrow().num_rows == 1 and len(found.plan.slices) == 1, where
    assert again.verify().ok, where


def store_of(path: Path) -> LocalStorage:
    return LocalStorage(str(path))


def opened(store: CrashingStorage | GatedStorage) -> Table:
    return Table(store, properties.load(store), {}, LocalEngine(1))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("rules", [False, True], ids=["one number", "rules"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[0]} {kind[1]}")
def test_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: tuple[str, int], rules: bool
) -> None:
    monkeypatch.setattr(heartbeat.Liveness, "is_alive", lambda self, instant: False)
    base = made(tmp_path / "base", *kind, rules)
    whole = tmp_path / "whole"
    shutil.copytree(base, whole)
    counting = CrashingStorage(store_of(whole))
    resize(opened(counting))
    assert seen(whole) == expected(FIRST)
    points = [(at, when) for at in range(1, counting.count + 1) for when in WHEN]
    if not ALL:
        points = random.Random(f"{SEED}{kind}{rules}").sample(points, SAMPLED)
    for at, when in points:
        path = tmp_path / f"at{at}{when}"
        shutil.copytree(base, path)
        store = CrashingStorage(store_of(path), at, when)
        with pytest.raises(Crash):
            resize(opened(store))
        where = f"crashed {when} operation {at} of {counting.count}"
        assert seen(path) == expected(FIRST), where
        goes_on(path, where)
        shutil.rmtree(path)


def beside(
    base: Path, path: Path, at: int, first: Callable[[Table], object], second: Callable[[], object]
) -> int:
    """``first`` on a copy of ``base`` at ``path``, with ``second`` before its operation ``at``,
    from 1; how many it has."""
    shutil.copytree(base, path)
    count = 0

    def gate(op: str, name: str) -> None:
        nonlocal count
        count += 1
        if count == at:
            second()

    first(opened(GatedStorage(store_of(path), gate)))
    return count


@pytest.mark.sampled(4)
@pytest.mark.parametrize("first", ["resize", "write"])
@pytest.mark.parametrize("rules", [False, True], ids=["one number", "rules"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[0]} {kind[1]}")
def test_beside(tmp_path: Path, kind: tuple[str, int], rules: bool, first: str) -> None:
    """A whole write before any operation of the resize, and a whole resize before any operation of a
    write: both are done, whoever has to begin again."""
    base = made(tmp_path / "base", *kind, rules)
    works = {"resize": resize, "write": lambda table: table.upsert(BESIDE)}
    (other,) = works.keys() - {first}
    count = beside(base, tmp_path / "whole", 0, works[first], lambda: None)
    points = list(range(1, count + 1))
    if not ALL:
        points = random.Random(f"{SEED}{kind}{rules}{first}").sample(points, effort(5, 20))
    for at in points:
        path, where = tmp_path / f"at{at}", f"{other} before operation {at} of {count} of {first}"
        beside(base, path, at, works[first], lambda p=path: works[other](hoodoo.open(str(p))))
        assert seen(path) == expected(FIRST, BESIDE), where
        goes_on(path, where, BESIDE)
        shutil.rmtree(path)
