"""Lineitem bulk-loaded and upserted on an object store, beside the same on disk, with both engines.

The store is versitygw (S3 over a folder; HOODOO_VERSITYGW or the PATH), on loopback and on the same two cores: what it
costs to hash and to copy is in the clock's ratio, and not in that of processor time, which is Hoodoo's own. Disk and
store take turns, each in a process that reads the rows as a stream.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq

from tests.bench import data
from tests.bench.measure import Figure, Report, Sampler
from tests.bench.processor import ProcessorTime, most_memory

GOAL = 1.25
SHARE = 0.01
ENGINES = ("local", "spark")
PLACES = ("disk", "store", "store, unsigned")
UNSIGNED = {"aws_unsigned_payload": "true"}
BUCKETS = {"hoodie.bucket.index.num.buckets": 8}
TESTS = Path(__file__).resolve().parents[2] / "plugins/cloud/tests"


def run(report: Report, folder: str, scale: float, runs: int) -> None:
    sys.path.append(str(TESTS))
    from servers import versitygw

    home = Path(folder, "stored")
    home.mkdir()
    rows = data.plain(data.lineitem(scale))
    changes = []
    for number in range(runs):
        changes.append(f"{home}/change-{number}.parquet")
        pq.write_table(data.change(rows, SHARE, 7 + number), changes[-1])
    counted = rows.num_rows
    del rows
    with versitygw(home) as server:
        uri = server.bucket("bench")
        for engine in ENGINES:
            places = {
                "disk": (f"{home}/{engine}", {}),
                "store": (f"{uri}/{engine}", server.options),
                "store, unsigned": (f"{uri}/{engine}-unsigned", server.options | UNSIGNED),
            }
            with ExitStack() as stack:
                at = {
                    name: stack.enter_context(_Child(engine, *place, scale))
                    for name, place in places.items()
                }
                found: dict[tuple[str, str], list[dict[str, Any]]] = {}
                for step in ("load", *changes):
                    kind = "bulk load" if step == "load" else f"upsert of {SHARE:.0%}"
                    for name, child in at.items():
                        found.setdefault((kind, name), []).append(child.ask(step))
                sums = {name: child.ask("sums") for name, child in at.items()}
            assert len({json.dumps(one) for one in sums.values()}) == 1, sums
            assert sums["disk"]["rows"] == counted, sums
            _told(report, engine, found)


def _told(report: Report, engine: str, found: dict[tuple[str, str], list[dict[str, Any]]]) -> None:
    for kind in dict.fromkeys(kind for kind, _ in found):
        for name in PLACES:
            seen = found[kind, name]
            figure = Figure(f"{kind}, {engine}, {name}", [s["seconds"] for s in seen], {})
            figure.notes["processor"] = median(s["processor"] for s in seen)
            for one in seen:
                for process, peak in one["memory"].items():
                    figure.memory[process] = max(figure.memory.get(process, 0), peak)
            if name != "disk":
                before = report.figures[f"{kind}, {engine}, disk"]
                figure.against, figure.goal = before.name, GOAL
                figure.ratio = round(figure.median / before.median, 2)
                figure.notes["processor ratio"] = round(
                    figure.notes["processor"] / before.notes["processor"], 2
                )
            report.add(figure)


class _Child:
    """A process that does one step after the other on a table of its own."""

    def __init__(self, engine: str, uri: str, options: dict[str, str], scale: float) -> None:
        given = json.dumps([engine, uri, options, scale])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.stored", given],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def ask(self, step: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(step, file=self._process.stdin, flush=True)
        for line in self._process.stdout:
            if line.startswith("{"):
                answer: dict[str, Any] = json.loads(line)
                return answer
        raise AssertionError(f"{step}: the process ended")

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(120)


class _Own:
    """Costs of this process, which the operating system counts."""

    def __enter__(self) -> _Own:
        self.found: dict[str, Any] = {}
        self._begun = time.process_time()
        return self

    def __exit__(self, *error: object) -> None:
        self.found["processor"] = round(time.process_time() - self._begun, 2)
        self.found["memory"] = {"driver": round(most_memory())}


class _All(_Own):
    """Those of all processes below this one, too, which are looked at again and again."""

    def __enter__(self) -> _All:
        self.found = {}
        self._sampler = Sampler().__enter__()
        self._processor = ProcessorTime().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._processor.__exit__()
        self._sampler.__exit__()
        self.found["processor"] = round(self._processor.seconds, 2)
        self.found["memory"] = self._sampler.peaks


def child(engine: str, uri: str, options: dict[str, str], scale: float) -> None:
    source = data.lineitem(scale)
    schema = _plain(pq.read_schema(source))
    spark = None
    if engine == "spark":
        from tests.bench.run import session

        spark = session(str(Path(source).parent.parent))
    table: Any = hoodoo.create(
        uri, schema, name="lineitem", record_key=data.KEY, index="bucket",
        options={**BUCKETS, **options},
    )  # fmt: skip
    for line in sys.stdin:
        step = line.strip()
        if step == "sums":
            print(json.dumps(_sums(table)), flush=True)
            continue
        file = source if step == "load" else step
        rows = spark.read.parquet(file) if spark is not None else _stream(file)
        verb = table.bulk_insert if step == "load" else table.upsert
        with _Own() if spark is None else _All() as costs:
            begun = time.perf_counter()
            done = verb(rows, engine=engine)
            seconds = time.perf_counter() - begun
        assert step == "load" or done.inserted == 0, done
        print(json.dumps({"seconds": round(seconds, 2), **costs.found}), flush=True)
    if spark is not None:
        spark.stop()


def _plain(schema: pa.Schema) -> pa.Schema:
    """Without views of texts."""
    return pa.schema(
        [pa.field(f.name, pa.string() if "string" in str(f.type) else f.type) for f in schema]
    )


def _stream(file: str) -> pa.RecordBatchReader:
    def batches() -> Iterator[pa.RecordBatch]:
        with pq.ParquetFile(file) as opened:
            for batch in opened.iter_batches():
                yield batch.cast(schema)

    schema = _plain(pq.read_schema(file))
    return pa.RecordBatchReader.from_batches(schema, batches())


def _sums(table: Any) -> dict[str, int]:
    columns = [*data.KEY, "l_comment"]
    rows, keys, text = data.checksum(table.read(columns=columns).to_arrow())
    return {"rows": rows, "keys": keys, "comments": text}


if __name__ == "__main__":
    child(*json.loads(sys.argv[1]))
