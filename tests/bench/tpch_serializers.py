"""RFC-84's experiment at its own shape: all tables of TPC-H, inserted and upserted on Spark, with three serializers.

    python -m tests.bench.tpch_serializers [--scale 1] [--share 0.1] [--runs 1]

`avro` makes a generic record of every row, as Hudi did before the RFC; `pickle` an object, as Kryo does; `arrow` is
what replaces them. Each run takes all tables with one serializer after the other, a small round before has warmed the
workers. Whole time is the clock's, processor time that of driver, JVM and workers together; bytes and the seconds
of serializing are those of the exchanges. Prints tables in Markdown: sums over all tables, medians of the runs.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
from hoodoo.kernel.resolve import resolve
from hoodoo_rows.testing.metered import MeteredEngine

from tests.bench import data
from tests.bench.processor import ProcessorTime
from tests.bench.run import session

KEYS = {
    "region": ["r_regionkey"],
    "nation": ["n_nationkey"],
    "supplier": ["s_suppkey"],
    "part": ["p_partkey"],
    "partsupp": ["ps_partkey", "ps_suppkey"],
    "customer": ["c_custkey"],
    "orders": ["o_orderkey"],
    "lineitem": ["l_orderkey", "l_linenumber"],
}
SERIALIZERS = ("avro", "pickle", "arrow")
OPERATIONS = ("insert", "upsert")
FIGURES = ("whole", "processor", "bytes", "serialize", "deserialize")
# What the RFC says of arrow's place beside avro's, and the page of its measurements.
PROMISED = {"whole": -25, "serialize": -80, "deserialize": -96}
Costs = dict[str, float]


def one(engine: Any, name: str, table: Any, operation: str, frame: Any) -> Costs:
    metered = MeteredEngine(engine, resolve("serializer", name).instance)
    began = time.monotonic()
    with ProcessorTime() as processor:
        getattr(table, operation)(frame, engine=metered)
    whole, used = time.monotonic() - began, processor.seconds
    total = metered.total()
    seconds = (total.serialize_seconds, total.deserialize_seconds)
    return dict(zip(FIGURES, (whole, used, float(total.bytes), *seconds)))


def everything(engine: Any, name: str, folder: str, frames: Any) -> dict[str, Costs]:
    """Insert and upsert of all tables with the serializer ``name``."""
    found = {operation: dict.fromkeys(FIGURES, 0.0) for operation in OPERATIONS}
    for number, (table_name, (schema, rows, whole, changed)) in enumerate(frames.items()):
        path = f"{folder}/{name}-{number}"
        options = {"hoodie.bucket.index.num.buckets": str(max(1, rows // 100_000))}
        table = hoodoo.create(
            path, schema, name=table_name, record_key=KEYS[table_name], index="bucket",
            table_type="MERGE_ON_READ", options=options,
        )  # fmt: skip
        for operation, frame in zip(OPERATIONS, (whole, changed)):
            for figure, cost in one(engine, name, table, operation, frame).items():
                found[operation][figure] += cost
        assert table.read().count() == rows
        shutil.rmtree(path)
    return found


def sources(spark: Any, folder: str, scale: float, share: float) -> Any:
    found = {}
    for name in KEYS:
        table = data.plain(data.made_table(name, scale))
        paths = []
        for what, rows in (("whole", table), ("changed", data.change(table, share, 1))):
            paths.append(f"{folder}/{name}-{what}.parquet")
            pq.write_table(rows, paths[-1])
        found[name] = (table.schema, table.num_rows, *(spark.read.parquet(p) for p in paths))
    return found


def show(operation: str, runs: dict[str, list[dict[str, Costs]]]) -> None:
    medians = {
        name: {f: statistics.median(run[operation][f] for run in found) for f in FIGURES}
        for name, found in runs.items()
    }
    print(f"\n| {operation} | whole time | processor | bytes | serialize | deserialize |")
    print("|---|---|---|---|---|---|")
    for name, costs in medians.items():
        seconds = {f: f"{costs[f]:.2f} s" for f in FIGURES}
        seconds["bytes"] = f"{costs['bytes'] / 1e6:.1f} MB"
        print(f"| `{name}` | " + " | ".join(seconds[f] for f in FIGURES) + " |")
    for other in ("avro", "pickle"):
        ratios = {f: medians["arrow"][f] / max(medians[other][f], 1e-9) - 1 for f in FIGURES}
        told = " | ".join(f"{ratios[f] * 100:+.1f} %" for f in FIGURES)
        print(f"| `arrow` beside `{other}` | {told} |")
    print("| what the RFC says | " + " | ".join(
        f"{PROMISED[f]} %" if f in PROMISED else "" for f in FIGURES) + " |", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="TPC-H scale factor")
    parser.add_argument("--share", type=float, default=0.1, help="of the rows, upserted")
    parser.add_argument("--runs", type=int, default=1)
    chosen = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="hoodoo-bench-", dir=data.cache())
    try:
        from hoodoo_spark.engine import SparkEngine

        pa.set_cpu_count(2)
        spark = session(folder)
        engine = SparkEngine(spark)
        few = sources(spark, folder, 0.01, chosen.share)
        for name in SERIALIZERS:
            everything(engine, name, folder, few)  # workers and the JVM are warm
        frames = sources(spark, folder, chosen.scale, chosen.share)
        rows = sum(found[1] for found in frames.values())
        print(f"scale {chosen.scale:g}: {rows:,} rows in {len(frames)} tables", flush=True)
        runs: dict[str, list[dict[str, Costs]]] = {name: [] for name in SERIALIZERS}
        for _ in range(chosen.runs):
            for name in SERIALIZERS:
                runs[name].append(everything(engine, name, folder, frames))
        for operation in OPERATIONS:
            show(operation, runs)
        spark.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
