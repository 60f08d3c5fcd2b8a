"""A read after ten upserts of 3 % into log files, merged by record positions and by keys, beside plain Parquet.

``python -m tests.bench.positions --rows 1000000`` prints processor time of each, medians of five turns.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import hoodoo
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

BY_KEYS = {"hoodie.merge.use.record.positions": "false"}
_LAYERS, _SHARE = 10, 0.03


def made(ids: np.ndarray, ts: int) -> pa.Table:
    rng, count = np.random.default_rng(ts), len(ids)
    numbers = {f"f{n}": rng.random(count) for n in range(5)}
    numbers |= {f"i{n}": rng.integers(0, 1000, count) for n in range(4)}
    keys = pa.array(np.char.mod("key-%012d", ids).astype(str).tolist())
    texts = pa.array(np.array(["alpha", "beta", "gamma"])[rng.integers(0, 3, count)].tolist())
    return pa.table({"id": keys, "ts": pa.array(np.full(count, ts)), **numbers, "s": texts})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--index", default="simple")
    given = parser.parse_args()
    path = tempfile.mkdtemp(prefix="hoodoo-positions-")
    try:
        first = made(np.arange(given.rows), 1)
        table = hoodoo.create(
            f"{path}/t", first.schema, name="t", record_key="id", ordering="ts",
            table_type="MERGE_ON_READ", index=given.index,
        )  # fmt: skip
        table.bulk_insert(first)
        rng = np.random.default_rng(1)
        for layer in range(_LAYERS):
            ids = np.sort(rng.choice(given.rows, int(given.rows * _SHARE), replace=False))
            table.upsert(made(ids, layer + 2))
        columns = table.schema.names
        bases = [Path(path, "t", s.base_file.path) for s in table.file_slices() if s.base_file]
        calls: dict[str, Callable[[], object]] = {
            "plain Parquet": lambda: [pq.read_table(base, columns=columns) for base in bases],
            "by positions": lambda: hoodoo.open(f"{path}/t").read(columns=columns).to_arrow(),
            "by keys": lambda: hoodoo.open(f"{path}/t", BY_KEYS).read(columns=columns).to_arrow(),
        }
        taken: dict[str, list[float]] = {name: [] for name in calls}
        for _turn in range(5):
            for name, call in calls.items():
                busy = time.process_time()
                call()
                taken[name].append(time.process_time() - busy)
        plain = statistics.median(taken["plain Parquet"])
        for name, each in taken.items():
            print(f"{name}: {statistics.median(each):.3f} s, {statistics.median(each) / plain:.2f}")
    finally:
        shutil.rmtree(path)


if __name__ == "__main__":
    main()
