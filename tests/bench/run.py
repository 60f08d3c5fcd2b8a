"""`tox -e bench`: every goal as a ratio in one run, on two cores.

    python -m tests.bench.run [--scale 1] [--runs 3] [--only bulk,merge,local,loads,statements,wide,partial,memory,
                                                            logs,logs_spark,reads,serializers,
                                                            growth,writers,keys,hfile,index,buckets,
                                                            cluster,plans,beside,far,stored,queries,
                                                            queries_spark,vectors]

Every contender writes the same rows and is asked for row count and checksums afterwards.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.bench.measure import Report

PARTS = (
    "bulk", "merge", "logs_spark", "serializers", "local", "loads", "statements", "logs", "reads", "wide",
    "partial", "memory", "growth", "writers", "keys", "hfile", "index", "points", "buckets", "cluster", "plans",
    "beside", "far", "stored", "queries", "queries_spark", "vectors",
)  # fmt: skip


def session(folder: str) -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("bench")
    builder = builder.config("spark.ui.enabled", "false").config("spark.driver.memory", "4g")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.local.dir", folder)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="TPC-H scale factor (default 1)")
    parser.add_argument(
        "--runs", type=int, default=3, help="runs of each contender (median counts)"
    )
    parser.add_argument("--only", default=",".join(PARTS), help="parts, comma separated")
    parser.add_argument("--json", default="bench.json", help="where the figures go")
    parser.add_argument(
        "--entries", type=int, default=1_000_000, help="of the part hfile: entries of an HFile"
    )
    parser.add_argument(
        "--keys",
        type=int,
        default=20_000_000,
        help="of the parts index, points and buckets: rows of the largest table",
    )
    parser.add_argument(
        "--files", type=int, default=100_000, help="of the part plans: files of the table"
    )
    parser.add_argument("--images", help="a folder for the plots")
    chosen = parser.parse_args()
    parts = set(chosen.only.split(","))
    if unknown := sorted(parts - {*PARTS}):
        parser.error(
            f"--only {','.join(unknown)}: there is no such part; there are {', '.join(PARTS)}"
        )
    # Here, as these import the contenders.
    from tests.bench import (
        beside,
        clustered,
        contention,
        data,
        far,
        growing,
        growth,
        hfiles,
        index,
        keys,
        loads,
        memory,
        merged,
        merges,
        plans,
        points,
        queries,
        stored,
        vectors,
        writes,
    )  # fmt: skip

    if hasattr(os, "sched_setaffinity"):  # children inherit it: two cores for everybody
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    pa.set_cpu_count(2)
    report = Report()
    folder = tempfile.mkdtemp(prefix="hoodoo-bench-", dir=data.cache())
    try:
        if parts & {"bulk", "merge", "logs_spark", "serializers", "cluster", "queries_spark"}:
            spark = session(folder)
            if "bulk" in parts:
                writes.run(report, spark, folder, chosen.scale, chosen.runs)
            if "merge" in parts:
                merges.on_spark(report, spark, folder, chosen.scale, chosen.runs)
            if "logs_spark" in parts:
                merged.on_spark(report, spark, folder, chosen.scale, chosen.runs)
            if "serializers" in parts:
                merged.serializers(report, spark, folder, chosen.scale, chosen.runs)
            if "cluster" in parts:
                clustered.run(report, spark, folder, chosen.scale, chosen.runs)
            if "queries_spark" in parts:
                queries.on_spark(report, spark, folder, chosen.scale, chosen.runs)
            spark.stop()
        if "local" in parts:
            merges.locally(report, folder, chosen.scale, chosen.runs)
        if "loads" in parts:
            loads.run(report, folder, chosen.scale, chosen.runs)
        if "statements" in parts:
            merges.statements(report, folder, chosen.scale, chosen.runs)
        if "logs" in parts:
            merged.locally(report, folder, chosen.scale, chosen.runs)
        if "reads" in parts:
            merged.reads(report, folder, chosen.scale, chosen.runs)
        if "wide" in parts:
            merges.wide(report, folder, chosen.scale, chosen.runs)
        if "partial" in parts:
            merges.partial(report, folder, chosen.scale, chosen.runs)
        if "memory" in parts:
            memory.run(report, folder)
        if "growth" in parts:
            growth.run(report, folder, chosen.scale, chosen.runs)
        if "writers" in parts:
            contention.run(report, folder, chosen.scale)
        if "keys" in parts:
            keys.run(report, folder, chosen.scale, chosen.runs)
        if "hfile" in parts:
            hfiles.run(report, chosen.entries, chosen.runs, chosen.images)
        if "index" in parts:
            index.run(report, folder, chosen.keys, chosen.runs)
        if "points" in parts:
            points.run(report, folder, chosen.keys)
        if "buckets" in parts:
            growing.run(report, folder, chosen.keys, chosen.runs)
        if "plans" in parts:
            plans.run(report, folder, chosen.files, chosen.runs)
        if "beside" in parts:
            beside.run(report, folder)
        if "queries" in parts:
            queries.locally(report, folder, chosen.scale, chosen.runs)
        if "far" in parts:
            far.run(report, folder, chosen.runs)
        if "stored" in parts:
            stored.run(report, folder, chosen.scale, chosen.runs)
        if "vectors" in parts:
            vectors.run(report, folder, chosen.scale, chosen.runs)
        report.write(str(Path(chosen.json)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
