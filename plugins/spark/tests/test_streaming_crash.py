"""The driver dies inside a batch, and between write and checkpoint; the query goes on after it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import hoodoo
import hudi
import pyarrow as pa
import pytest
from effort import effort
from hoodoo_rows.testing.tables import tuples
from streaming_job import POINTS, STREAMS, StreamSpec

pytestmark = [pytest.mark.spark, pytest.mark.trial]

JOB = Path(__file__).with_name("streaming_job.py")
SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("ts", pa.int32())])
# Every batch is a file, and the driver dies once in each of them, each stream at another point; then
# there is one more batch. With as many deaths as there are points each stream has died at all of them.
DEATHS = [
    [POINTS[(number + 2 * stream) % len(POINTS)] for stream in range(len(STREAMS))]
    for number in range(effort(2, len(POINTS)))
]
# A batch that has come so far is in the table, and is skipped when the query goes on.
STANDS = ("decided", "published", "written")
BATCHES = len(DEATHS) + 1


def test_the_driver_dies(tmp_path: Path) -> None:
    for spec in STREAMS:
        hoodoo.create(
            str(tmp_path / spec.name),
            SCHEMA,
            record_key="id",
            partition_by="city",
            ordering="ts",
            table_type=spec.table_type,
            table_version=spec.version,
            index=spec.index,
            options=dict(spec.options),
        )
    for number in range(BATCHES):
        arrive(tmp_path, number)
    assert {point for points in DEATHS for point in points} == set(POINTS)

    for number, points in enumerate(DEATHS):
        run(tmp_path, number, points)
        for spec, point in zip(STREAMS, points, strict=True):
            assert unfinished(tmp_path, spec) == number, "it died elsewhere"
            there = number + (point in STANDS)
            assert counted(tmp_path, spec) == wanted(spec, there), f"{spec.name} after {point}"
    run(tmp_path, 0, [])

    for spec, points in zip(STREAMS, zip(*DEATHS, strict=True), strict=True):
        assert counted(tmp_path, spec) == wanted(spec, BATCHES)
        assert rows_of_hudi(tmp_path, spec) == wanted(spec, BATCHES)
        told = (tmp_path / f"{spec.name}.log").read_text().splitlines()
        # The log was written before the death where the sink had returned.
        skipped = [n for n, point in enumerate(points) if point in STANDS]
        assert [int(t.split()[0]) for t in told if t.endswith("skipped")] == skipped
        writes = hoodoo.open(str(tmp_path / spec.name)).timeline().writes()
        batches = [w for w in writes if spec.table_type == "COPY_ON_WRITE" or w.action != "commit"]
        assert len(batches) == BATCHES, "a batch was written twice"
        compacted = len(writes) > len(batches)
        assert compacted == bool(spec.options), "no compaction in between"


def arrive(folder: Path, number: int) -> None:
    """Six new keys, and two of the batch before: inserted again, or updated."""
    new = range(6 * number - 2 if number else 0, 6 * number + 6)
    lines = [json.dumps({"id": i, "city": "ab"[i % 2], "ts": number}) for i in new]
    (folder / "in").mkdir(exist_ok=True)
    path = folder / "in" / f"{number}.json"
    path.write_text("\n".join(lines))
    os.utime(path, (1_700_000_000 + number,) * 2)  # the order in which Spark takes them


def wanted(spec: StreamSpec, batches: int) -> Counter[tuple[int, int]]:
    found: Counter[tuple[int, int]] = Counter()
    newest: dict[int, int] = {}
    for number in range(batches):
        for i in range(6 * number - 2 if number else 0, 6 * number + 6):
            found[i, number] += 1
            newest[i] = number
    return Counter(newest.items()) if spec.operation == "upsert" else found


def counted(folder: Path, spec: StreamSpec) -> Counter[tuple[Any, ...]]:
    return Counter(tuples(folder / spec.name, ["id", "ts"]))


def rows_of_hudi(folder: Path, spec: StreamSpec) -> Counter[tuple[int, int]]:
    table = hudi.HudiTableBuilder.from_base_uri(str(folder / spec.name)).build()
    found = pa.Table.from_batches(table.read(hudi.HudiReadOptions())).select(["id", "ts"])
    return Counter(zip(*found.to_pydict().values(), strict=True))


def unfinished(folder: Path, spec: StreamSpec) -> int:
    """The batch that Spark has begun and not ended: its checkpoint's word."""
    checkpoint = folder / f"{spec.name}.checkpoint"
    begun, ended = (
        {int(f.name) for f in (checkpoint / kind).glob("*") if f.name.isdigit()}
        for kind in ("offsets", "commits")
    )
    (number,) = begun - ended
    return number


def run(folder: Path, batch: int, points: list[str]) -> None:
    log = folder / "job.log"
    kept = {k: v for k, v in os.environ.items() if not k.startswith("SPARK_")}
    with log.open("wb") as out:
        job = subprocess.Popen(
            [sys.executable, str(JOB), str(folder), str(batch), *points],
            cwd=folder,
            env={**kept, "PYSPARK_PYTHON": sys.executable},
            stdout=out,
            stderr=out,
            start_new_session=True,  # a group of its own, that it can kill
        )
        try:
            code = job.wait(timeout=1200)
        finally:
            if job.poll() is None:
                os.killpg(job.pid, signal.SIGKILL)
                job.wait()
    assert code == (-signal.SIGKILL if points else 0), log.read_text()[-6000:]
