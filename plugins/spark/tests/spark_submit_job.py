"""A user's job, run by spark-submit: a table from its first row to the last question.

Prints one JSON object. ``plugins`` is a folder with a plugin that only the driver finds.
"""

from __future__ import annotations

import json
import os
import sys
import warnings

plugins = sys.argv[1]
sys.path.insert(0, plugins)  # before hoodoo looks for plugins

import hoodoo  # noqa: E402
from hoodoo.errors import HoodooError  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

warnings.simplefilter("error", hoodoo.errors.HoodooWarning)
spark = SparkSession.builder.getOrCreate()
frame = spark.range(1000).selectExpr("id", "concat('c', id % 3) city", "id * 0.5D fare", "1 ts")


def where(batches):  # type: ignore[no-untyped-def]
    import pyarrow as pa

    for batch in batches:
        rows = batch.num_rows
        yield pa.record_batch([[os.getpid()] * rows, [os.getcwd()] * rows], names=["pid", "cwd"])


seen = spark.range(0, 100, 1, 4).mapInArrow(where, "pid long, cwd string").distinct().collect()
before = set(spark.sparkContext.getConf().getAll())
table = hoodoo.create("t", frame.schema, record_key="id", partition_by="city", ordering="ts")
first = table.insert(frame)
updated = table.upsert(frame.where("id < 10").selectExpr("id", "city", "0D fare", "2 ts"))
deleted = table.delete(frame.where("id >= 990").select("id"))
newest = table.read().to_spark(spark)
question = newest.groupBy("city").agg({"fare": "sum"}).orderBy("city").collect()

# The same with a plugin that the executors lack, then with its wheel sent to them.
in_tasks = {"hoodoo.spark.small.bytes": "0"}  # else the driver would merge so few rows by itself
theirs = hoodoo.create(
    "theirs", frame.schema, record_key="id", merger="only_driver", options=in_tasks
)
try:
    theirs.insert(frame)
    error = {}
except HoodooError as problem:
    error = {"class": type(problem).__name__, "text": str(problem)}
untouched = sorted(os.listdir("theirs"))
instants = len(theirs.timeline().instants)
changed = sorted(before ^ set(spark.sparkContext.getConf().getAll()))
spark.sparkContext.addPyFile(f"{plugins}.zip")
count = theirs.upsert(frame).inserted

print(
    json.dumps(
        {
            "master": spark.sparkContext.master,
            "driver": [os.getpid(), os.getcwd()],
            "executors": [list(row) for row in seen],
            "counts": [first.inserted, updated.updated, deleted.deleted],
            "newest": newest.count(),
            "then": table.read(as_of=first.instant).to_spark(spark).count(),
            "question": [list(row) for row in question],
            "changed": changed,
            "error": error,
            "untouched": [untouched, instants],
            "after": count,
        }
    )
)
spark.stop()
