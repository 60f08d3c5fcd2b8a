"""This checkout beside another one: the same writes and reads, in turns, each in a process of its own.

    python -m tests.bench.before OTHER/.venv/bin/python [ROUNDS]

prints, for each step, the least processor time and the least elapsed time of both, and their ratio. A step that gives
other rows than in the first process is an error. The other environment has another commit installed; only the public
API is used, so it may be an old one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc

ROWS = 200_000
Times = dict[str, tuple[float, float, int]]  # processor time, elapsed time, rows


def _rows(start: int, stop: int, step: int = 1, add: float = 0.0) -> pa.Table:
    ids = pa.array(range(start, stop, step), pa.int64())
    numbers = pc.cast(ids, pa.float64())
    text = pc.binary_join_element_wise(pc.cast(ids, pa.string()), pa.scalar("some text"), "-")
    return pa.table(
        {
            "id": ids,
            "city": pc.binary_join_element_wise(
                "city", pc.cast(pc.bit_wise_and(ids, 3), pa.string()), ""
            ),
            "fare": pc.add(pc.multiply(numbers, 0.37), add),
            "note": text,
            "n": pc.bit_wise_xor(ids, 12345),
            "ts": pc.add(ids, int(add)),
        }
    )


def _life(
    path: str, table_type: str, index: str, took: Callable[[str, Callable[[], int]], None]
) -> None:
    name = f"{'cow' if table_type.startswith('COPY') else 'mor'} {index}"
    whole = _rows(0, ROWS)
    options = {"hoodie.bucket.index.num.buckets": "4"} if index == "bucket" else {}
    table = hoodoo.create(
        path, whole.schema, record_key="id", partition_by="city", ordering="ts", index=index,
        table_type=table_type, options=options,
    )  # fmt: skip
    took(f"{name}: load", lambda: table.upsert(whole).inserted)
    few, many = _rows(0, ROWS, 100, 1.0), _rows(0, ROWS, 10, 2.0)
    took(f"{name}: upsert of 1 %", lambda: table.upsert(few).updated)
    took(f"{name}: upsert of 10 %", lambda: table.upsert(many).updated)
    took(
        f"{name}: delete of 1,000",
        lambda: table.delete(where=pc.field("id") >= ROWS - 1000).deleted,
    )

    def smalls() -> int:
        return sum(table.upsert(_rows(n, n + 5, 1, 3.0 + n)).updated for n in range(10))

    took(f"{name}: ten upserts of 5 rows", smalls)
    some = pc.field("n") < 1000

    def wholes() -> int:
        return sum(table.read().to_arrow().num_rows for _ in range(10))

    def filtered() -> int:
        return sum(table.read(["id", "fare"], some).to_arrow().num_rows for _ in range(10))

    took(f"{name}: ten reads of all rows", wholes)
    took(f"{name}: ten reads with a filter", filtered)

    def points() -> int:
        opened = hoodoo.open(path)
        return sum(
            opened.read(where=pc.field("id") == n * 997).to_arrow().num_rows for n in range(20)
        )

    took(f"{name}: 20 point reads", points)


def _done(step: Callable[[], int]) -> None:
    step()


def once() -> Times:
    """The times of all steps in this process."""
    found: Times = {}

    def took(name: str, step: Callable[[], int]) -> None:
        elapsed, processor = time.monotonic(), time.process_time()
        rows = step()
        found[name] = (time.process_time() - processor, time.monotonic() - elapsed, rows)

    home = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=home) as folder:
        _life(f"{folder}/first", "MERGE_ON_READ", "simple", lambda name, step: _done(step))
        for table_type in ("COPY_ON_WRITE", "MERGE_ON_READ"):
            for index in ("bucket", "simple", "record_index"):
                _life(f"{folder}/{table_type}{index}", table_type, index, took)
    return found


def _run(python: str, folder: Path) -> dict[str, Any]:
    # By its path: the module of the other checkout may be an older one, or none.
    done = subprocess.run(
        [python, str(Path(__file__).resolve()), "--once"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{python}: {done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main(other: str, rounds: int) -> None:
    runs: dict[str, list[dict[str, Any]]] = {sys.executable: [], other: []}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            for python in sorted(runs, reverse=bool(number % 2)):
                runs[python].append(_run(python, Path(folder)))
    here, there = runs[sys.executable], runs[other]
    print(
        f"{'least of ' + str(rounds):40}{'here, s':>10}{'other, s':>10}{'processor':>10}{'elapsed':>10}"
    )
    for name, (_cpu, _took, rows) in here[0].items():
        assert {run[name][2] for run in here + there} == {rows}, name
        cpu, took = ([min(r[name][at] for r in of) for of in (here, there)] for at in (0, 1))
        print(
            f"{name:40}{cpu[0]:10.3f}{cpu[1]:10.3f}{cpu[0] / cpu[1]:10.2f}{took[0] / took[1]:10.2f}"
        )
    sums = [sum(min(r[name][0] for r in of) for name in here[0]) for of in (here, there)]
    print(f"{'all':40}{sums[0]:10.3f}{sums[1]:10.3f}{sums[0] / sums[1]:10.2f}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--once"]:
        print(json.dumps(once()))
    else:
        main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5)
