"""The life of a table of many keys, whose driver takes only small results.

``small_driver_job.py FOLDER INDEX TYPE KEYS MOST``: ``MOST`` is ``spark.driver.maxResultSize``. Prints a line of JSON for
each step: the rows and sums that are right, those that Spark reads, and the most memory that the driver's Python had.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import hoodoo
import pyarrow as pa
from many_batches_job import resident
from pyspark.sql import DataFrame, SparkSession

SCHEMA = pa.schema(
    [("id", pa.string()), ("city", pa.string()), ("ts", pa.int64()), ("x", pa.float64())]
)
BUCKETS = {"hoodie.bucket.index.num.buckets": "4"}
MORE = 1000


def main(folder: str, index: str, kind: str, keys: int, most: str) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.maxResultSize", most)
        .config("spark.driver.memory", "768m")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )

    def rows(ts: int, first: int = 0, after: int = keys) -> DataFrame:
        return spark.range(first, after).selectExpr(
            "concat('key-', lpad(cast(id as string), 12, '0')) as id",
            "cast(id % 4 as string) as city",
            f"cast({ts} as bigint) as ts",
            "cast(id % 1000 as double) as x",
        )

    table = hoodoo.create(
        f"{folder}/t", SCHEMA, record_key="id", partition_by="city", ordering="ts", index=index, table_type=kind,
        engine="spark", options=BUCKETS if index == "bucket" else {},
    )  # fmt: skip

    def checked(step: str, count: int, sum_: int) -> None:
        found: Any = table.read().to_spark().selectExpr("count(*)", "sum(ts)").collect()[0]
        # Not what the system says of the process's use: there a process begins with the memory of its parent.
        memory = resident("self", "VmHWM")
        said = {
            "step": step,
            "rows": found[0],
            "ts": found[1],
            "wanted": [count, sum_],
            "mb": memory,
        }
        print(json.dumps(said), flush=True)

    table.upsert(rows(1))
    checked("load", keys, keys)
    for ts in (2, 3):
        table.upsert(rows(ts))
        checked("upsert", keys, ts * keys)
    if kind == "MERGE_ON_READ":
        table.compact()
        checked("compact", keys, 3 * keys)
    drop = {"hoodie.datasource.insert.dup.policy": "drop"}
    hoodoo.open(table.path, engine="spark", options=drop).insert(rows(5, MORE, keys + MORE))
    table = hoodoo.open(table.path, engine="spark")
    checked("insert", keys + MORE, 3 * keys + 5 * MORE)
    table.delete(rows(0, 0, keys // 2).select("id", "city"))
    left = keys - keys // 2
    checked("delete", left + MORE, 3 * left + 5 * MORE)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
