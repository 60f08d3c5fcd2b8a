"""Hoodoo beside hudi-rs, each in one process that opens the table anew for each step.

    python tests/interop/build_hudi_rs.py --release     # prints PROGRAM; it has to be optimized
    python -m tests.bench.hudi_rs PROGRAM [ROWS [RUNS]]

prints, for each step and table, the medians of processor time and elapsed time of both, and the ratio of processor
times (Hoodoo / hudi-rs; the goal is 0.9). The sides take turns. Both read their rows from the same Arrow files. After
the writes, all rows of both tables are compared with those that are expected.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tests.interop.hudi_rs_peer import HudiRs

GOAL = 0.9
SMALL = 10  # repeats of steps that take less than a tick of the processor's clock
UPSERTS = {"upsert of 1 %": 100, "upsert of 10 %": 10}  # every n-th row
KINDS = ("cow", "mor")
BUCKETS = "4"
Spent = tuple[float, float]  # processor time, elapsed time, in seconds
Step = Callable[[], Any]


def rows(ids: np.ndarray, turn: int) -> pa.Table:
    """Twelve columns; what ``turn`` changes is in two of them."""
    chance = np.random.default_rng(7).random((4, 1000))
    numbers = {f"x{n}": chance[n][ids % 1000] + turn for n in range(4)}
    texts = {f"s{n}": pc.cast(pa.array(ids * (n + 3) % 10_007), pa.string()) for n in range(3)}
    key = pc.utf8_lpad(pc.cast(pa.array(ids), pa.string()), 12, "0")
    return pa.table(
        {
            "id": key, "n": ids, "ts": np.full(len(ids), turn, "int64"), "flag": ids % 2 == 0,
            **numbers, **texts, "day": pa.array((ids % 365).astype("int32")).cast(pa.date32()),
        }
    )  # fmt: skip


def changes(count: int) -> dict[str, np.ndarray]:
    """The numbers of the rows of each step, in the order of the steps."""
    spread = {name: np.arange(0, count, every) for name, every in UPSERTS.items()}
    return {"load": np.arange(count), **spread, "upsert of 5 rows": np.arange(5) * (count // 5)}


class Peer:
    """hudi-rs. Each request names a file with its rows."""

    name = "hudi-rs"

    def __init__(self, program: str) -> None:
        self.process = HudiRs(program)

    def spent(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def create(self, path: str, kind: str, index: str, schema: pa.Schema) -> None:
        on = index == "record_index"
        self.process.ask(
            "create", path, type=kind, key=["id"], ordering=["ts"], metadata=on, record_index=on
        )

    def upsert(self, path: str, file: str) -> None:
        self.process.ask("upsert", path, rows=file)

    def count(self, path: str) -> int:
        return int(self.process.ask("read", path)["rows"])

    def one(self, path: str, key: str) -> int:
        return int(self.process.ask("read", path, filters=[["id", "=", key]])["rows"])

    def all(self, path: str, folder: str) -> pa.Table:
        self.process.ask("read", path, to=f"{folder}/out.arrow")
        with pa.memory_map(f"{folder}/out.arrow") as source:
            return pa.ipc.open_file(source).read_all()


class Ours:
    """Hoodoo with its local engine, two threads, in this process."""

    name = "hoodoo"

    def spent(self) -> float:
        return time.process_time()

    def create(self, path: str, kind: str, index: str, schema: pa.Schema) -> None:
        hoodoo.create(
            path, schema, record_key="id", ordering="ts", table_type=kind, index=index,
            options={"hoodie.bucket.index.num.buckets": BUCKETS} if index == "bucket" else {},
        )  # fmt: skip

    def _open(self, path: str) -> hoodoo.Table:
        return hoodoo.open(path, engine="local", options={"hoodoo.local.threads": "2"})

    def upsert(self, path: str, file: str) -> None:
        with pa.memory_map(file) as source:
            self._open(path).upsert(pa.ipc.open_file(source).read_all())

    def count(self, path: str) -> int:
        return int(self._open(path).read().to_arrow().num_rows)

    def one(self, path: str, key: str) -> int:
        return int(self._open(path).read(where=pc.field("id") == key).to_arrow().num_rows)

    def all(self, path: str, folder: str) -> pa.Table:
        return self._open(path).read().to_arrow()


def took(side: Peer | Ours, step: Step, repeats: int) -> Spent:
    began, clock = side.spent(), time.perf_counter()
    for _ in range(repeats):
        step()
    return (side.spent() - began) / repeats, (time.perf_counter() - clock) / repeats


def measured(
    side: Peer | Ours,
    folder: str,
    kind: str,
    index: str,
    files: Mapping[str, str],
    expected: pa.Table,
) -> dict[str, Spent]:
    """What each step takes on a new table; the rows are compared with ``expected``."""
    path, key = f"{folder}/table", expected["id"][expected.num_rows // 3].as_py()
    side.create(path, kind, index, expected.schema)
    found = {}
    for name, file in files.items():
        found[name] = took(side, partial(side.upsert, path, file), 1)
    count = expected.num_rows
    steps: dict[str, tuple[Step, int]] = {
        "read of all rows": (lambda: _same(side.count(path), count), 3),
        "read of one key": (lambda: _same(side.one(path, key), 1), SMALL),
    }
    for name, (step, repeats) in steps.items():
        found[name] = took(side, step, repeats)
    _same(side.all(path, folder).select(expected.column_names).sort_by("id"), expected)
    shutil.rmtree(path)
    return found


def _same(found: Any, expected: Any) -> None:
    same = (
        found.cast(expected.schema).equals(expected)
        if isinstance(found, pa.Table)
        else found == expected
    )
    if not same:
        raise SystemExit(f"wrong rows: {found} instead of {expected}")


def main() -> None:
    program = sys.argv[1]
    count, runs = (int(text) for text in (*sys.argv[2:], *("1000000", "3")[len(sys.argv) - 2 :]))
    steps = changes(count)
    last = np.zeros(count, "int64")
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for turn, (name, ids) in enumerate(steps.items()):
            last[ids] = turn
            files[name] = f"{folder}/{turn}.arrow"
            data = rows(ids, turn)
            with pa.OSFile(files[name], "wb") as sink, pa.ipc.new_file(sink, data.schema) as to:
                to.write_table(data)
        parts = [rows(np.flatnonzero(last == turn), turn) for turn in range(len(steps))]
        expected = pa.concat_tables(parts).sort_by("id").combine_chunks()
        ours, peer = Ours(), Peer(program)
        print(f"{count:,} rows, {runs} runs; seconds of the processor (elapsed)")
        for kind in KINDS:
            for theirs, indexes in {
                "record_index": ("record_index",),
                "simple": ("simple", "bucket"),
            }.items():
                sides: list[tuple[Peer | Ours, str]] = [
                    (peer, theirs),
                    *((ours, index) for index in indexes),
                ]
                taken: dict[tuple[str, str], list[dict[str, Spent]]] = {}
                for _ in range(runs):
                    for side, index in sides:
                        one = measured(side, folder, kind, index, files, expected)
                        taken.setdefault((side.name, index), []).append(one)
                _print(kind, theirs, taken)
        peer.process.close()


def _print(kind: str, theirs: str, taken: Mapping[tuple[str, str], list[dict[str, Spent]]]) -> None:
    def median(one: tuple[str, str], step: str) -> Spent:
        each = [run[step] for run in taken[one]]
        return statistics.median(c for c, _ in each), statistics.median(e for _, e in each)

    for step in taken["hudi-rs", theirs][0]:
        cpu, elapsed = median(("hudi-rs", theirs), step)
        line = f"{kind} {step:18} hudi-rs {cpu:6.3f} ({elapsed:6.3f})"
        for name, index in taken:
            if name == "hoodoo":
                ours, clock = median((name, index), step)
                line += f"   {index} {ours:6.3f} ({clock:6.3f}) {ours / max(cpu, 0.001):5.2f} x"
        print(line, flush=True)


if __name__ == "__main__":
    main()
