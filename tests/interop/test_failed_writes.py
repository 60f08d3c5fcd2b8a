"""A write that died half way is undone by whoever writes next, Spark Hudi or Hoodoo, to the last file."""

from __future__ import annotations

import re
import shutil

import pytest
from both import CRASH, Both
from hoodoo.storage.api import Storage
from hoodoo.table.table import Table
from hoodoo.testing.stores import Crash, CrashingStorage, RecordingStorage
from hoodoo.timeline import properties
from hoodoo_rows.testing.tables import Maker
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.storage.local import LocalStorage
from model import SCHEMA, Model, table
from spark_hudi import HudiError

POINTS = ["requested", "inflight", "marked", "one file", "all files"]

rows = Maker(SCHEMA, "ts", "name", id="k{}".format, region=("us", "eu")).dicts


def prepared(both: Both, version: int, metadata: bool = False) -> None:
    both.setup(Model(), SCHEMA, version, "SIMPLE", metadata, ["region"])
    both.create()
    both.hoodoo_upsert(rows(range(20), 1, "first"))


def over(store: Storage) -> Table:
    """The table through ``store``, on one thread, so that a trial run tells the order of the next."""
    return Table(store, properties.load(store), {}, LocalEngine(1))


def lost(store: Storage, operation: str) -> None:
    """The write that dies."""
    getattr(over(store), operation)(table(rows(range(10, 30), 2, "lost")))


def operation_at(both: Both, point: str, operation: str) -> int:
    """The number of the mutating operation before which the process has to end, by a trial run."""
    trial = both.path.with_name("trial")
    shutil.copytree(both.path, trial)
    store = RecordingStorage(LocalStorage(str(trial)))
    lost(store, operation)
    calls = [f"{op} {path}" for op, path in store.mutations]
    shutil.rmtree(trial)
    files = [n for n, call in enumerate(calls) if call.endswith(".parquet")]
    steps = {
        "requested": next(n for n, call in enumerate(calls) if call.endswith(".requested")),
        "inflight": next(n for n, call in enumerate(calls) if call.endswith(".inflight")),
        "marked": files[0] - 1,
        "one file": files[0],
        "all files": files[-1],
    }
    return steps[point] + 2  # counted from 1, and the one after it


def crash(both: Both, point: str, operation: str = "upsert") -> str:
    """Leave a half-done write of Hoodoo's behind; its instant."""
    at = operation_at(both, point, operation)
    store = CrashingStorage(LocalStorage(str(both.path)), at)
    with pytest.raises(Crash):
        lost(store, operation)
    (instant,) = (i.requested for i in both.hoodoo().timeline().pending())
    files = [p for p in left_of(both, instant) if p.endswith(".parquet")]
    markers = [p for p in left_of(both, instant) if ".marker." in p]
    assert len(files) == {"one file": 1, "all files": 2}.get(point, 0)
    assert bool(markers) == (point not in ("requested", "inflight"))
    return instant


# What Spark knows nothing of: staged rows, and the heartbeat of a writer under its single-writer mode.
# Hoodoo's next write takes it away.
OURS = re.compile(r"\.temp/hoodoo-|\.heartbeat/")


def left_of(both: Both, instant: str) -> list[str]:
    """Files that bear the instant, but for what tells of its rollback."""
    found = (p.relative_to(both.path) for p in both.path.rglob("*") if p.is_file())
    return [
        str(p) for p in found
        if instant in str(p) and not p.name.endswith(".crc") and p.parts[1] != "metadata"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("version", "operation", "point"),
    [
        *((9, "upsert", p) for p in POINTS),
        (9, "insert_overwrite", "all files"),
        (9, "bulk_insert", "one file"),
        (6, "upsert", "marked"),
        (6, "upsert", "all files"),
        (6, "insert_overwrite", "all files"),
    ],
)
def test_spark_undoes_hoodoos(both: Both, version: int, operation: str, point: str) -> None:
    prepared(both, version)
    instant = crash(both, point, operation)
    both.check("after the crash")
    both.spark_upsert(rows(range(15, 35), 3, "spark"))
    assert [p for p in left_of(both, instant) if not OURS.search(p)] == []
    both.check("after Spark's next write")
    both.hoodoo_upsert(rows(range(25, 40), 4, "hoodoo"))
    assert left_of(both, instant) == []
    both.check("after Hoodoo's next write")


@pytest.mark.parametrize("version", [9, 6])
@pytest.mark.parametrize("done", ["plan", "some"])
def test_spark_finishes_hoodoos_rollback(both: Both, version: int, done: str) -> None:
    """The rollback itself dies: after its plan was written, or with the files gone."""
    prepared(both, version)
    instant = crash(both, "all files")
    trial = both.path.with_name("trial")
    shutil.copytree(both.path, trial)
    store = RecordingStorage(LocalStorage(str(trial)))
    over(store).rollback()
    calls = [path for _, path in store.mutations]
    shutil.rmtree(trial)
    planned = next(n for n, path in enumerate(calls) if ".rollback.requested" in path)
    files = [n for n, path in enumerate(calls) if path.endswith(".parquet")]
    store = CrashingStorage(
        LocalStorage(str(both.path)), (planned if done == "plan" else files[0]) + 2
    )
    with pytest.raises(Crash):
        over(store).rollback()
    both.check("after the crash of the rollback")
    both.spark_upsert(rows(range(15, 35), 3, "spark"))
    assert [p for p in left_of(both, instant) if not OURS.search(p)] == []
    both.check("after Spark's next write")


@pytest.mark.parametrize(
    ("version", "operation", "metadata", "markers"),
    [
        (9, "upsert", False, "TIMELINE_SERVER_BASED"),
        (9, "upsert", True, "DIRECT"),
        (9, "insert_overwrite", False, "DIRECT"),
        (6, "upsert", True, "TIMELINE_SERVER_BASED"),
        (6, "insert_overwrite", False, "TIMELINE_SERVER_BASED"),
    ],
)
def test_hoodoo_undoes_sparks(
    both: Both, version: int, operation: str, metadata: bool, markers: str
) -> None:
    prepared(both, version, metadata)
    both.spark_upsert(rows(range(5), 2, "spark"))
    failing = {**CRASH, "hoodie.write.markers.type": markers}
    with pytest.raises(HudiError):
        both.spark_write(operation, rows(range(10, 30), 3, "lost"), failing)
    (instant,) = (i.requested for i in both.hoodoo().timeline().pending())
    assert any(p.endswith(".parquet") for p in left_of(both, instant))
    both.hoodoo_upsert(rows(range(15, 35), 4, "hoodoo"))
    assert left_of(both, instant) == []
    both.check("after Hoodoo's next write")
    both.spark_upsert(rows(range(30, 40), 5, "spark"))
    both.check("after Spark's next write")


def test_staged_rows(both: Both) -> None:
    """Spark also undoes a Hoodoo write whose staged rows are still there."""
    prepared(both, 9)
    instant = crash(both, "all files")
    staged = both.path / ".hoodie" / ".temp" / f"hoodoo-{instant}"
    staged.mkdir(parents=True, exist_ok=True)
    (staged / "rows.arrow").write_bytes(b"x")
    both.spark_upsert(rows(range(3), 3, "spark"))
    assert [p for p in left_of(both, instant) if not OURS.search(p)] == []
    both.check("after Spark's next write")
