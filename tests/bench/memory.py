"""Worker memory while a base file of 4 GiB (uncompressed) is merged with a small change.

The merge runs in a process of its own, as a Spark worker would: its peak resident memory counts.
"""

from __future__ import annotations

import subprocess
import sys
import time

import hoodoo
import numpy as np
import pyarrow as pa
from attrs import evolve

from tests.bench.measure import Figure, Report
from tests.bench.processor import most_memory

GIB = 1 << 30
ROWS_AT_ONCE = 250_000
SCHEMA = pa.schema(
    [("id", pa.int64()), *[(f"v{n}", pa.int64()) for n in range(24)], ("text", pa.string())]
)
ONE_FILE = {"hoodie.parquet.max.file.size": 1 << 40, "hoodie.parquet.small.file.limit": 1 << 40}


def _rows(start: int, count: int) -> pa.RecordBatch:
    ids = np.arange(start, start + count)
    rng = np.random.default_rng(start)
    values = [pa.array(rng.integers(0, 1 << 40, count)) for _ in range(24)]
    texts = pa.array(np.char.mod("%064d", ids * 7919).astype(str))
    return pa.RecordBatch.from_arrays([pa.array(ids), *values, texts], schema=SCHEMA)


def _build(path: str, total: int) -> int:
    """One file group of ``total`` Arrow bytes, written as a stream; the number of rows."""
    each = _rows(0, 1000).nbytes / 1000
    rows = int(total / each)
    batches = (
        _rows(start, min(ROWS_AT_ONCE, rows - start)) for start in range(0, rows, ROWS_AT_ONCE)
    )
    table = hoodoo.create(path, SCHEMA, name="large", record_key="id", options=ONE_FILE)
    commit = table.bulk_insert(pa.RecordBatchReader.from_batches(SCHEMA, batches))
    assert commit.inserted == rows and len(commit.files) == 1, commit
    return rows


def child(path: str, rows: int) -> None:
    """Upserts 10,000 rows; prints seconds and the peak memory (MiB) of this process."""
    ids = np.sort(np.random.default_rng(1).choice(rows, 10_000, replace=False))
    change = _rows(0, 10_000).set_column(0, "id", pa.array(ids))
    begun = time.perf_counter()
    done = hoodoo.open(path, {**ONE_FILE, "hoodoo.local.threads": 1}).upsert(change)
    seconds = time.perf_counter() - begun
    assert (done.updated, done.inserted, len(done.files)) == (10_000, 0, 1), done
    print(seconds, round(most_memory()))


def run(report: Report, folder: str) -> None:
    path = f"{folder}/large"
    rows = _build(path, 4 * GIB)
    command = [sys.executable, "-m", "tests.bench.memory", path, str(rows)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    seconds, peak = float(told[-2]), int(told[-1])
    name = "hoodoo upsert of 10,000 rows into one 4 GiB file"
    figure = Figure(name, [round(seconds, 2)], {"worker": peak})
    # The goal is 1 GiB of memory, told as a ratio to it.
    figure = evolve(figure, against="1 GiB of worker memory", goal=1.0, ratio=round(peak / 1024, 2))
    report.figures[name] = figure
    print(report.line(figure), flush=True)


if __name__ == "__main__":
    child(sys.argv[1], int(sys.argv[2]))
