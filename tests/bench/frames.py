"""``to_spark`` of a table of many partition paths, one small file each, beside ``spark.read.parquet`` of the same files.

``python -m tests.bench.frames [--paths 4000] [--runs 3]`` prints, for the plan and for one key, medians of processor
time (this process and the JVM) and of the clock, and the ratio of processor times.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa

from tests.bench.processor import ProcessorTime
from tests.bench.run import session

GOAL = 0.2


def made(folder: str, paths: int) -> hoodoo.Table:
    rows = pa.table({"id": range(paths), "part": [f"p{n:05}" for n in range(paths)]})
    table = hoodoo.create(
        folder, rows.schema, name="t", record_key="id", partition_by="part", engine="local"
    )
    table.bulk_insert(rows)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paths", type=int, default=4000)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="hoodoo-frames-")
    try:
        path = f"{folder}/t"
        table = made(path, given.paths)
        files = [str(Path(path, s.base_file.path)) for s in table.file_slices() if s.base_file]
        spark = session(folder)
        key = f"id = {given.paths // 2}"

        def ours() -> Any:
            return hoodoo.open(path).read().to_spark(spark)

        def theirs() -> Any:
            return spark.read.parquet(*files)

        calls: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
            "plan": (theirs, ours),
            "one key": (
                lambda: theirs().where(key).collect(),
                lambda: ours().where(key).collect(),
            ),
        }
        for name, sides in calls.items():
            taken: tuple[list[float], list[float]] = ([], [])
            clock: tuple[list[float], list[float]] = ([], [])
            for _ in range(given.runs + 1):  # the first one warms
                for side, call in enumerate(sides):
                    with ProcessorTime() as processor:
                        begun = time.perf_counter()
                        call()
                        clock[side].append(time.perf_counter() - begun)
                    taken[side].append(processor.seconds)
            parquet, hoodoo_s = (statistics.median(each[1:]) for each in taken)
            elapsed = " and ".join(f"{statistics.median(each[1:]):.2f}" for each in clock)
            print(
                f"{name}: spark.read.parquet {parquet:.2f} s, to_spark {hoodoo_s:.2f} s of the processor, "
                f"{hoodoo_s / parquet:.2f} (goal {GOAL}); elapsed {elapsed}",
                flush=True,
            )
        spark.stop()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
