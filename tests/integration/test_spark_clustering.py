"""Clustering on Spark: each group is a task of its own, and writers of the same session go on."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import hoodoo
import hudi
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hoodoo import Table
from hoodoo.errors import CommitConflictError
from hoodoo_rows.testing.tables import whole

pytestmark = [pytest.mark.spark, pytest.mark.sampled(4)]

SCHEMA = pa.schema(
    [("id", pa.int64()), ("day", pa.string()), ("x", pa.int64()), ("y", pa.string())]
)
QUIET = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
ALLOW = {"hoodie.clustering.updates.strategy": "allow"}
DAYS = "abcd"
META = ["_hoodie_commit_time", "_hoodie_commit_seqno"]


def data(ids: Sequence[int] | range, x: int | None = None) -> pa.Table:
    """The day follows from the id; ``x``, if it isn't given, is all over the place."""
    values = [n * 37 % 101 if x is None else x for n in ids]
    days = [DAYS[n % len(DAYS)] for n in ids]
    return pa.table([list(ids), days, values, [f"t{v:03}" for v in values]], schema=SCHEMA)


def filled(path: Path, files: int = 3, rows: int = 200, **more: Any) -> Table:
    """``files`` files in each of the days."""
    table = hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="day", options=QUIET, **more
    )
    for number in range(files):
        table.append(data(range(number * rows, (number + 1) * rows)))
    return table


rows = partial(whole, columns=[*META, *SCHEMA.names])


def in_files(path: Path, instant: str) -> dict[tuple[str, str], list[Any]]:
    """The rows of the files of an instant, in their order, by partition path and number of the file."""
    found = {}
    for file in sorted(path.glob(f"*/*_{instant}.parquet")):
        table = pq.read_table(file, columns=[*META, *SCHEMA.names], partitioning=None)
        found[file.parent.name, str(table.num_rows)] = table.to_pylist()
    return found


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("order", ["linear", "hilbert", "combine"])
def test_same_files_on_both_engines(spark: Any, tmp_path: Path, kind: str, order: str) -> None:
    """One plan, run by each engine on its own copy of the table."""
    path, copy = tmp_path / "t", tmp_path / "copy"
    table = filled(path, table_type=kind)
    table.upsert(data(range(20), 7))
    before = rows(table)
    logs = {"hoodoo.clustering.with.log.files": "true"}
    columns = None if order == "combine" else ["x", "y"]
    instant = str(table.schedule_clustering(order=order, columns=columns, options=logs))
    shutil.copytree(path, copy)
    done = table.run_clustering(instant, engine="spark")
    hoodoo.open(str(copy)).run_clustering(instant, engine="local")
    assert len(done.files) == len(DAYS)
    assert rows(table).equals(before)
    assert rows(hoodoo.open(str(copy))).equals(before)
    ours = in_files(path, instant)
    assert ours == in_files(copy, instant) and len(ours) == len(DAYS)
    if order == "linear":
        for found in ours.values():
            assert found == sorted(found, key=lambda row: (row["x"], row["y"]))
    assert table.verify().ok


def test_files_of_the_target_size_on_spark(spark: Any, tmp_path: Path) -> None:
    table = filled(tmp_path / "t", files=4, rows=8000)
    before = rows(table)
    size = sum(s.size for s in table.file_slices()) // len(DAYS)
    done = table.cluster(columns="x", target_file_size=size * 2 // 5, engine="spark")
    assert len(done.files) >= 2 * len(DAYS)
    assert rows(table).equals(before)
    for day in DAYS:
        paths = [p for p in done.files if p.startswith(f"{day}/")]
        ends = []
        for path in paths:
            found = pq.read_table(tmp_path / "t" / path, columns=["x"], partitioning=None)
            ends.append((pc.min(found["x"]).as_py(), pc.max(found["x"]).as_py()))
        ends.sort()
        assert all(a[1] <= b[0] for a, b in zip(ends, ends[1:], strict=False)), ends


def test_an_order_of_a_stranger_travels_to_the_workers(spark: Any, tmp_path: Path) -> None:
    class Backwards:  # workers have no such module
        columns = ("x",)
        sample_rows = 10

        def __init__(self, most: int = 0) -> None:
            self.most = most

        def fitted(self, sample: pa.Table) -> Any:
            return type(self)(101)

        def keys(self, rows: pa.Table) -> Any:
            assert self.most == 101, "it was not fitted"
            return [pc.subtract(self.most, rows.column("x"))]

        def told(self, groups: Any) -> dict[str, str]:
            return {"backwards.groups": str(len(groups))}

    path = tmp_path / "t"
    table = filled(path, engine="spark")
    before = rows(table)
    done = table.cluster(order=Backwards())
    assert rows(table).equals(before)
    found = in_files(path, done.instant)
    assert len(found) == len(DAYS)
    for some in found.values():
        values = [row["x"] for row in some]
        assert values == sorted(values, reverse=True)
    instant = table.timeline().find(done.instant)
    assert instant is not None
    extra = table.timeline().metadata(table.handle.storage, instant).extra
    assert extra["backwards.groups"] == str(len(DAYS))


def test_the_record_index_finds_what_moved(spark: Any, tmp_path: Path) -> None:
    """Keys of new files reach the index through Spark's exchanges."""
    path = tmp_path / "t"
    table = filled(path, rows=50, engine="spark", index="record_index")
    table.cluster(columns="x")
    assert table.verify().ok
    again = table.upsert(data([*range(30), 1000, 1001], 5))
    assert (again.updated, again.inserted) == (30, 2)
    assert table.verify().ok and rows(table).num_rows == 152


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_writer_upserts_all_the_time(spark: Any, tmp_path: Path, kind: str) -> None:
    """At least five clusterings complete meanwhile: no update is lost, no key is there twice."""
    path = tmp_path / "t"
    filled(path, rows=80, engine="spark", table_type=kind)
    options = {**QUIET, **ALLOW, "hoodoo.clustering.with.log.files": "true"}
    failed, written, stop = list[BaseException](), dict[int, int](), threading.Event()
    came = threading.Semaphore(0)  # one for each write that has completed

    def write() -> None:
        writer = hoodoo.open(str(path), options=options, engine="spark")
        try:
            for turn in range(2000):
                if stop.is_set():
                    return
                # Old keys of two days, and a new one.
                ids = [*range(turn % 40, 240, 40), *range((turn + 1) % 40, 240, 40), 1000 + turn]
                writer.upsert(spark.createDataFrame(data(ids, turn).to_pandas()))
                written.update(dict.fromkeys(ids, turn))
                came.release()
        except BaseException as error:
            failed.append(error)
            came.release()

    thread = threading.Thread(target=write)
    thread.start()
    done, gave_way = 0, 0
    try:
        while done < 5 and gave_way < 200:
            assert came.acquire(timeout=1200) and not failed, failed
            # The next write is at work by now, and another one after it as soon as it can.
            clusterer = hoodoo.open(str(path), options=options, engine="spark")
            day, order = DAYS[done % len(DAYS)], ("linear", "zorder")[done % 2]
            try:
                commit = clusterer.cluster(order=order, columns=["x", "id"], partitions=day)
                done += bool(commit.instant)
            except CommitConflictError:
                gave_way += 1
    finally:
        stop.set()
        thread.join()
    assert not failed, failed
    assert done == 5, f"{gave_way} gave way"
    found = rows(hoodoo.open(str(path))).to_pylist()
    there = {row["id"]: row["x"] for row in found}
    assert len(there) == len(found), "a key is there twice"
    expected = {n: n * 37 % 101 for n in range(240)} | written
    assert there == expected
    batches = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read(hudi.HudiReadOptions())
    theirs = pa.Table.from_batches(batches).select(["id", "x"]).sort_by("id").to_pylist()
    assert theirs == [{"id": n, "x": expected[n]} for n in sorted(expected)]
    assert hoodoo.open(str(path)).verify().ok
