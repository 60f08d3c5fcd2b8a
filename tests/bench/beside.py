"""A writer that upserts all the time, and clusterings beside it: how long its writes take with and without them.

Each is a process with a Spark session of its own, on a core of its own:

    python -m tests.bench.beside writer|clusterer PATH SECONDS CORE
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import CommitConflictError

from tests.bench.measure import Figure, Report

DAYS, ROWS, WARM = 8, 2000, 4
WRITES = 30
SCHEMA = pa.schema(
    [("id", pa.int64()), ("day", pa.string()), ("n", pa.int64()), ("note", pa.string())]
)
# Two writers of one table would wait for each other's turn; these two go on, and look at what came between.
OPTIONS = {
    "hoodie.clean.commits.retained": "100",
    "hoodie.archive.automatic": "false",
    "hoodie.clustering.updates.strategy": "allow",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.metadata.enable": "false",
}
STOP = ".stop"


def rows_of_turn(turn: int) -> pa.Table:
    """New rows of a day, and a tenth of those that came eight turns before."""
    day = turn % DAYS
    old = range(max(0, turn - DAYS) * ROWS, max(0, turn - DAYS) * ROWS + ROWS // 10)
    ids = [*(old if turn >= DAYS else ()), *range(turn * ROWS, (turn + 1) * ROWS)]
    notes = [f"note {n * 7919 % 100_003}" for n in ids]
    return pa.table([ids, [f"d{day}"] * len(ids), [turn] * len(ids), notes], schema=SCHEMA)


def session(core: int) -> Any:
    os.sched_setaffinity(0, {core})  # the JVM and its workers inherit it
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[1]").appName("beside")
    builder = builder.config("spark.ui.enabled", "false").config("spark.driver.memory", "1g")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def writer(path: str, core: int) -> None:
    spark = session(core)
    table = hoodoo.open(path, OPTIONS)
    seconds, first = [], int(_newest(table)) + 1
    for turn in range(first, first + WRITES + WARM):
        frame = spark.createDataFrame(
            rows_of_turn(turn).to_pylist(), "id long, day string, n long, note string"
        )
        frame = frame.localCheckpoint()
        begun = time.perf_counter()
        table.upsert(frame)
        seconds.append(round(time.perf_counter() - begun, 3))
        Path(f"{path}{STOP}").with_suffix(".turn").write_text(str(turn))
    print(json.dumps({"seconds": seconds[WARM:]}))


def clusterer(path: str, core: int) -> None:
    """Clusters the days that the writer is not at, over and over, until it is told to stop."""
    session(core)
    table = hoodoo.open(path, OPTIONS, engine="spark")
    done = gave_way = 0
    while not os.path.exists(f"{path}{STOP}"):
        turn = Path(f"{path}{STOP}").with_suffix(".turn")
        at = int(turn.read_text()) if turn.exists() else 0
        day = f"d{(at + DAYS // 2) % DAYS}"
        try:
            instant = table.cluster(columns="n", partitions=day).instant
        except CommitConflictError:
            gave_way += 1
            continue
        if instant:
            done += 1
        else:
            time.sleep(0.1)
    print(json.dumps({"done": done, "gave_way": gave_way}))


def _newest(table: Any) -> int:
    found = table.read(columns=["n"]).to_arrow().column(0)
    return int(pc.max(found).as_py() if len(found) else -1)


def _start(role: str, path: str, core: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.bench.beside", role, path, str(core)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def run(report: Report, folder: str) -> None:
    path = f"{folder}/beside"
    cores = sorted(os.sched_getaffinity(0))
    table = hoodoo.create(
        path, SCHEMA, name="beside", record_key="id", partition_by="day", options=OPTIONS
    )
    table.upsert(pa.concat_tables(rows_of_turn(turn) for turn in range(DAYS)))
    told: dict[str, Any] = {}
    figures: list[Figure] = []
    for beside in (False, True):
        clustering = _start("clusterer", path, cores[-1]) if beside else None
        out, _ = _start("writer", path, cores[0]).communicate()
        seconds = json.loads(out.splitlines()[-1])["seconds"]
        if clustering is not None:
            Path(f"{path}{STOP}").write_text("")
            told = json.loads(clustering.communicate()[0].splitlines()[-1])
        ordered = sorted(seconds)
        name = "beside clusterings" if beside else "alone"
        figure = Figure(f"cluster: an upsert on Spark, {name}", seconds, {})
        figure.notes = {
            "p50": statistics.median(ordered),
            "p95": ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))],
            **told,
        }
        figures.append(figure)
    alone, with_them = figures
    with_them.against = alone.name
    with_them.ratio = round(with_them.notes["p95"] / alone.notes["p95"], 2)
    for figure in figures:
        report.add(figure)
    assert told["done"] >= 5, told
    _check(path)


def _check(path: str) -> None:
    """Every row of every write is there once, and as its last write left it."""
    turns = _newest(hoodoo.open(path)) + 1
    expected: dict[int, int] = {}
    for turn in range(turns):
        expected.update(dict.fromkeys(rows_of_turn(turn).column("id").to_pylist(), turn))
    found = hoodoo.open(path).read(columns=["id", "n"]).to_arrow()
    assert found.num_rows == len(expected), (found.num_rows, len(expected))
    pairs = zip(found.column("id").to_pylist(), found.column("n").to_pylist(), strict=True)
    assert dict(pairs) == expected


if __name__ == "__main__":
    {"writer": writer, "clusterer": clusterer}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
