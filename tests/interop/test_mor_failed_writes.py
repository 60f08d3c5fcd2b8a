"""A write to log files that died half way is undone by whoever writes next, Spark Hudi or Hoodoo."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from both import CRASH, Both
from hoodoo.storage.api import Storage
from hoodoo.table.table import Table
from hoodoo.testing.stores import Crash, CrashingStorage, RecordingStorage
from hoodoo.timeline import properties
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.storage.local import LocalStorage
from model import table
from mor import MARKED, check, check_travel, instants, log_files, rows, setup
from spark_hudi import HudiError

POINTS = ["marked", "one file", "all files"]
ROLLBACK_BLOCK = 105  # bytes


def prepared(both: Both, version: int, index: str = "SIMPLE") -> None:
    setup(both, version, index, "parquet" if version == 9 else "avro").create()
    both.hoodoo_upsert(rows(range(20), 1, "first"))
    both.hoodoo_upsert(rows(range(4), 2, "second"))
    check(both, "before")


def over(store: Storage) -> Table:
    """The table through ``store``, on one thread: a trial run tells the order of the next."""
    return Table(store, properties.load(store), {}, LocalEngine(1))


def lost(store: Storage) -> None:
    """The write that dies: updates and deletes of both partitions."""
    data = rows(range(2, 10), 5, "lost") + rows(range(10, 14), 5, "", True)
    over(store).upsert(table(data, MARKED))


def data_files(calls: list[tuple[str, str]]) -> list[int]:
    """The places of the calls that make a data file."""
    return [
        n
        for n, (_, path) in enumerate(calls)
        if not path.startswith(".hoodie/") and (".log." in path or path.endswith(".parquet"))
    ]


def crash(both: Both, point: str) -> str:
    """Leave a half-done write of Hoodoo's behind; its instant."""
    trial = both.path.with_name("trial")
    shutil.copytree(both.path, trial)
    recording = RecordingStorage(LocalStorage(str(trial)))
    lost(recording)
    shutil.rmtree(trial)
    files = data_files(recording.mutations)
    at = {"marked": files[0] - 1, "one file": files[0], "all files": files[-1]}[point] + 2
    before = len(log_files(both))
    with pytest.raises(Crash):
        lost(CrashingStorage(LocalStorage(str(both.path)), at))
    assert len(log_files(both)) - before == {"marked": 0, "one file": 1}.get(point, len(files))
    (instant,) = (i.requested for i in both.hoodoo().timeline().pending())
    return instant


# What Spark knows nothing of: staged rows, and the heartbeat of a writer under its single-writer mode.
OURS = re.compile(r"\.temp/hoodoo-|\.heartbeat/")


def undone(both: Both, instant: str, logs: set[Path]) -> None:
    """No file bears the instant. Its log files ``logs``, which do not in version 6, are gone, or (there
    only) a rollback block of 105 bytes, in a later log file, says for each that they are void."""
    named = [
        p
        for p in both.path.rglob(f"*{instant}*")
        if p.is_file() and p.suffix != ".crc" and not OURS.search(str(p))
    ]
    assert named == []
    assert instant not in [i.requested for i in both.hoodoo().timeline().pending()]
    left = logs & set(log_files(both))
    void = [p for p in log_files(both) if p.stat().st_size == ROLLBACK_BLOCK]
    assert not left or (both.version == 6 and len(void) == len(logs))


@pytest.mark.parametrize("index", ["SIMPLE", "BUCKET"])
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("version", [9, 6])
def test_spark_undoes_hoodoos(both: Both, version: int, point: str, index: str) -> None:
    prepared(both, version, index)
    before = set(log_files(both))
    instant = crash(both, point)
    logs = set(log_files(both)) - before
    check(both, "after the crash")
    both.spark_upsert(rows(range(6, 18), 3, "spark"))
    undone(both, instant, logs)
    check(both, "after Spark's next write")
    both.hoodoo_upsert(rows(range(8, 24), 4, "hoodoo"))
    check(both, "after Hoodoo's next write")
    both.hoodoo().compact()
    check(both, "compacted")
    check_travel(both, instants(both)[2])


@pytest.mark.parametrize("markers", ["TIMELINE_SERVER_BASED", "DIRECT"])
@pytest.mark.parametrize(
    ("version", "index"), [(9, "SIMPLE"), (9, "BUCKET"), (6, "SIMPLE"), (6, "BUCKET")]
)
def test_hoodoo_undoes_sparks(both: Both, version: int, index: str, markers: str) -> None:
    prepared(both, version, index)
    both.spark_upsert(rows(range(5), 3, "spark"))
    before = set(log_files(both))
    data = rows(range(2, 10), 5, "lost") + rows(range(10, 14), 5, "", True)
    failing = {**both.options, **CRASH, "hoodie.write.markers.type": markers}
    with pytest.raises(HudiError):
        both.spark.write(both.path, table(data, both.schema), "upsert", failing)
    (instant,) = (i.requested for i in both.hoodoo().timeline().pending())
    logs = set(log_files(both)) - before
    assert logs
    check(both, "after the crash")
    both.hoodoo_upsert(rows(range(6, 18), 4, "hoodoo"))
    undone(both, instant, logs)
    check(both, "after Hoodoo's next write")
    both.spark_upsert(rows(range(8, 24), 6, "spark"))
    check(both, "after Spark's next write")
    both.hoodoo().compact()
    check(both, "compacted")


@pytest.mark.parametrize("version", [9, 6])
@pytest.mark.parametrize("done", ["plan", "most"])
def test_spark_finishes_hoodoos_rollback(both: Both, version: int, done: str) -> None:
    """The rollback itself dies: after its plan was written, or before it is published."""
    prepared(both, version)
    before = set(log_files(both))
    instant = crash(both, "all files")
    logs = set(log_files(both)) - before
    trial = both.path.with_name("trial")
    shutil.copytree(both.path, trial)
    recording = RecordingStorage(LocalStorage(str(trial)))
    over(recording).rollback()
    calls = [path for _, path in recording.mutations]
    shutil.rmtree(trial)
    planned = next(n for n, path in enumerate(calls) if ".rollback.requested" in path)
    files = data_files(recording.mutations)
    at = (planned if done == "plan" else files[-1]) + 2
    with pytest.raises(Crash):
        over(CrashingStorage(LocalStorage(str(both.path)), at)).rollback()
    check(both, "after the crash of the rollback")
    both.spark_upsert(rows(range(6, 18), 3, "spark"))
    undone(both, instant, logs)
    check(both, "after Spark's next write")
    both.hoodoo_upsert(rows(range(8, 24), 4, "hoodoo"))
    check(both, "after Hoodoo's next write")
