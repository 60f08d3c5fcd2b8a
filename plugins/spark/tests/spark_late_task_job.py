"""A job: rows on an object store are corrected by two workers. ``spark_late_task_job.py URI OPTIONS STEP [OPTIONS]``.

The step ``first`` creates the table and corrects it once more with the other options, by which its end is never seen. The
step ``next`` comes after the rollback, corrects other rows and prints what it found as JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import hoodoo
import pyarrow as pa
from pyspark.sql import SparkSession

COUNT = 400
DDL = "id long, city string, text string, ts long"
SCHEMA = pa.schema(
    [("id", pa.int64()), ("city", pa.string()), ("text", pa.string()), ("ts", pa.int64())]
)


def main() -> None:
    uri, options, step, *others = sys.argv[1:]
    spark = SparkSession.builder.getOrCreate()

    def rows(ids: range, text: str, ts: int) -> Any:
        return spark.createDataFrame([(n, "xy"[n % 2], text, ts) for n in ids], DDL).repartition(4)

    tasks = {"hoodoo.spark.small.bytes": "0"}  # all that writes is a task
    given = {**json.loads(options), **tasks}
    if step == "first":
        table: Any = hoodoo.create(
            uri, SCHEMA, name="late", record_key="id", partition_by="city", ordering="ts", options=given
        )  # fmt: skip
        table.upsert(rows(range(COUNT), "first", 1))
        far: Any = hoodoo.open(uri, {**json.loads(others[0]), **tasks})
        far.upsert(rows(range(0, COUNT, 3), "late", 2))
        raise AssertionError("nothing of it was late")
    again: Any = hoodoo.open(uri, given)
    again.upsert(rows(range(0, COUNT, 5), "next", 3))
    columns = ["id", "text"]
    seen = {
        "spark": again.read(columns=columns).to_spark(spark).collect(),
        "arrow": [(r["id"], r["text"]) for r in again.read(columns=columns).to_arrow().to_pylist()],
    }
    wanted = [(n, "next" if n % 5 == 0 else "first") for n in range(COUNT)]
    same = {name: sorted((r[0], r[1]) for r in found) == wanted for name, found in seen.items()}
    print(json.dumps({"same": same, "findings": [str(one) for one in again.verify().findings]}))
    spark.stop()


if __name__ == "__main__":
    main()
