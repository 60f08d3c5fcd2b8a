"""Streams from table to table whose driver dies at each step of source and sink, and streams that go on for long: without
a JVM, by what Spark's processes call (as_spark.py)."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from attrs import define, field
from hoodoo.table import settings
from hoodoo.testing.crashes import When, outlive
from hoodoo.testing.stores import CrashingStorage

pytest.importorskip("pyspark.sql.datasource")

from as_spark import source, travelled
from hoodoo_spark.datasource import write as data_writes

ROWS = pa.schema([("id", pa.int64()), ("city", pa.string()), ("ts", pa.int64())])
OPTIONS = {
    "hoodie.table.name": "copy",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.datasource.write.streaming.checkpoint.identifier": "copying",
    "operation": "insert",  # a batch that takes effect twice would be seen
}


@define
class Checkpoint:
    """What Spark notes: the offsets of a batch before it runs, its number after its commit."""

    offsets: list[tuple[Any, Any]] = field(factory=list)
    commits: int = 0


def query(options: dict[str, str], target: dict[str, str], noted: Checkpoint) -> Iterator[int]:
    """One process of a query that reads what there is, and ends. Answers the rows of each batch."""
    made = source(options)
    struct = made.schema()
    reader = made.streamReader(struct)
    start = noted.offsets[-1][1] if noted.offsets else reader.initialOffset()
    while True:
        if noted.commits == len(noted.offsets):
            end = reader.latestOffset(start, reader.getDefaultReadLimit())
            if end == start:
                return
            noted.offsets.append((start, end))
        number = len(noted.offsets) - 1
        start, end = noted.offsets[number]
        worker = travelled(reader)
        parts = [list(worker.read(travelled(part))) for part in reader.partitions(start, end)]
        # As Spark does it: one object for the tasks, another one for the commit.
        tasks = source(target).streamWriter(struct, False)
        messages = [tasks.write(iter(batches)) for batches in parts]
        source(target).streamWriter(struct, False).commit(messages, number)
        noted.commits += 1
        start = end
        yield sum(batch.num_rows for batches in parts for batch in batches)


def filled(path: Path, kind: str) -> Counter[int]:
    table = hoodoo.create(
        str(path), ROWS, record_key="id", partition_by="city", ordering="ts", table_type=kind
    )
    for number in range(3):
        ids = range(10 * number, 10 * number + 10)
        cities = [f"c{i % 2}" for i in ids]
        table.insert(pa.table([list(ids), cities, [number] * 10], schema=ROWS))
    return Counter(range(30))


def dies(home: Path, kind: str, at: int, when: When, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether there was an ``at``-th change of the sink's store; it is the last of a process."""
    wanted = filled(home / "from", kind)
    options = {"path": str(home / "from"), "maxFilesPerTrigger": "2"}
    target = {
        **OPTIONS, "path": str(home / "to"), "hoodie.datasource.write.table.type": kind,
    }  # fmt: skip
    stores: list[CrashingStorage] = []
    usual = settings.open_storage

    def crashing(path: str, options: Any) -> Any:
        found = usual(path, options)
        if path != target["path"]:
            return found
        if not stores:
            stores.append(CrashingStorage(found, at, when))
        return stores[0]

    noted = Checkpoint()
    with monkeypatch.context() as patch:
        patch.setattr(settings, "open_storage", crashing)
        patch.setattr(data_writes, "open_storage", crashing)
        try:
            list(query(options, target, noted))
        except BaseException:
            if not stores or not stores[0].crashed:
                raise
    outlive(home / "to")
    list(query(options, target, noted))
    table = hoodoo.open(str(home / "to"))
    found = Counter(table.read(columns=["id"]).to_arrow()["id"].to_pylist())
    assert found == wanted, (at, when)
    assert len(table.timeline().writes()) == len(noted.offsets), (at, when)
    return stores[0].crashed


STEPS = 29
KINDS = ("COPY_ON_WRITE", "MERGE_ON_READ")
WHEN: tuple[When, ...] = ("before", "after", "torn")
USUAL = {("COPY_ON_WRITE", "after", 5), ("MERGE_ON_READ", "before", 5)}
TRIALS = [(kind, when, first) for kind in KINDS for when in WHEN for first in range(1, STEPS + 1)]


@pytest.mark.parametrize(
    ("kind", "when", "first"),
    [pytest.param(*one, marks=() if one in USUAL else pytest.mark.trial) for one in TRIALS],
)
def test_a_driver_that_dies_loses_and_doubles_nothing(
    tmp_path: Path, kind: str, when: When, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each change of the sink's store from the ``first`` on, in steps; all of them together leave none out."""
    at = first
    while dies(tmp_path / str(at), kind, at, when, monkeypatch):
        at += STEPS


@pytest.mark.trial
def test_a_stream_that_goes_on_gets_no_slower(tmp_path: Path) -> None:
    """Several hundred batches, each of a commit: processor time, files on disk of the sink's driver."""
    options = {"path": str(tmp_path / "from")}
    target = {**OPTIONS, "path": str(tmp_path / "to"), "operation": "upsert"}
    table = hoodoo.create(str(tmp_path / "from"), ROWS, record_key="id", partition_by="city")
    noted, seconds = Checkpoint(), []
    for number in range(200):
        ids = [number % 50, 50 + number % 7]
        table.upsert(pa.table([ids, ["c0", "c1"], [number, number]], schema=ROWS))
        began = time.process_time()
        assert sum(query(options, target, noted)) == 2
        seconds.append(time.process_time() - began)
    early, late = statistics.median(seconds[60:100]), statistics.median(seconds[160:])
    assert late < 1.25 * early, (early, late)
    assert not [*(tmp_path / "to/.hoodie/.temp").glob("hoodoo-*")]
    assert hoodoo.open(str(tmp_path / "to")).read().count() == 57
