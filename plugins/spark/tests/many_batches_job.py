"""A stream of many small micro-batches of the same keys into one table, and what its driver has after each hundred.

``many_batches_job.py FOLDER WAY BATCHES``, ``WAY`` one of :data:`WAYS`. Prints a line of JSON for each hundred batches,
then one for all of them. ``seconds``: of a batch, the median. ``cpu``: seconds of processor time of the driver's Python for
all of the hundred, which other work on the machine hardly changes. ``files`` and ``bytes``: of the temporary folders of PySpark's driver and of its process, the
least that was seen. ``local``: the files of ``spark.local.dir``, with the shuffles that the JVM has not collected yet.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import hoodoo
from attrs import define, field
from hoodoo_spark import side
from hoodoo_spark.streaming import sink
from pyspark.sql import SparkSession

# format("hoodoo"); foreachBatch, whose small batches the driver's process writes; foreachBatch with tasks, to which
# everything is broadcast.
WAYS = ("format", "foreach", "tasks")
KEYS = 20
HUNDRED = 100
MOR = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "10"}
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
FORMAT = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.datasource.write.precombine.field": "ts",
}


def below(folder: Path) -> tuple[int, int]:
    """Files, and their bytes."""
    count = size = 0
    for path in folder.rglob("*"):
        try:
            if path.is_file():
                count, size = count + 1, size + path.stat().st_size
        except FileNotFoundError:  # it went in between
            continue
    return count, size


def resident(pid: int | str, line_of: str = "VmRSS") -> float:
    """MiB of memory that a process has, or with ``VmHWM`` the most that it had; 0 where the system does not say."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    (found,) = (line.split()[1] for line in lines if line.startswith(line_of))
    return round(int(found) / 1024, 1)


@define
class Seen:
    """What there was during a hundred batches, looked at from time to time."""

    files: list[tuple[int, int]] = field(factory=list)
    local: list[int] = field(factory=list)
    memory: list[float] = field(factory=list)
    jvm: list[float] = field(factory=list)

    def look(self, spark: Any, home: Path) -> None:
        folders = [Path(spark.sparkContext._temp_dir), Path(tempfile.gettempdir())]
        counts = [below(folder) for folder in folders]
        self.files.append((sum(n for n, _ in counts), sum(size for _, size in counts)))
        self.local.append(below(home / "local")[0])
        self.memory.append(resident("self"))
        self.jvm.append(resident(spark.sparkContext._gateway.proc.pid))

    def told(self) -> dict[str, Any]:
        files, size = min(self.files)
        return {
            "files": files, "bytes": size, "local": min(self.local),
            "memory": statistics.median(self.memory), "jvm": statistics.median(self.jvm),
        }  # fmt: skip


def started(spark: Any, home: Path, way: str) -> Any:
    rows = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", KEYS)
        .option("numPartitions", 2)
        .load()
        .selectExpr(
            f"value % {KEYS} AS id", "CONCAT('c', value % 2) AS city", "value * 0.5D AS fare", "value AS ts"
        )
    )  # fmt: skip
    path = str(home / "t")
    writer = rows.writeStream.option("checkpointLocation", str(home / "checkpoint"))
    if way == "format":
        return writer.format("hoodoo").options(**FORMAT).start(path)
    options = {"hoodoo.spark.small.bytes": "0", **BUCKETS} if way == "tasks" else MOR
    table = hoodoo.create(
        path, rows.schema, record_key="id", partition_by="city", ordering="ts", options=options,
        table_type="COPY_ON_WRITE" if way == "tasks" else "MERGE_ON_READ",
    )  # fmt: skip
    if way == "tasks":
        side.ENCLOSED_BYTES = 0
    return writer.foreachBatch(sink(table)).start()


def main(home: Path, way: str, batches: int) -> None:
    (home / "tmp").mkdir(parents=True, exist_ok=True)
    os.environ["TMPDIR"] = tempfile.tempdir = str(home / "tmp")
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.local.dir", str(home / "local"))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    took: dict[int, float] = {}
    hundreds: list[dict[str, Any]] = []
    seen = Seen()
    query = started(spark, home, way)
    before = time.process_time()
    while len(hundreds) * HUNDRED < batches:
        time.sleep(1)
        if query.exception() is not None:
            raise query.exception()
        for progress in query.recentProgress:  # the newest hundred
            took[progress["batchId"]] = progress["durationMs"]["triggerExecution"] / 1000
        seen.look(spark, home)
        done = len(hundreds)
        if max(took, default=0) >= (done + 1) * HUNDRED:
            times = [t for number, t in took.items() if number // HUNDRED == done]
            now = time.process_time()
            told = {"seconds": statistics.median(times), "cpu": round(now - before, 1)}
            hundreds.append({"until": (done + 1) * HUNDRED, **told, **seen.told()})
            before = now
            print(json.dumps(hundreds[-1]), flush=True)
            seen = Seen()
            gc.collect()
    query.stop()
    table = hoodoo.open(str(home / "t"))
    whole = {
        "way": way, "batches": max(took), "rows": table.read().count(), "instants": len(table.timeline().writes()),
        "checkpoint": below(home / "checkpoint")[0], "table": below(home / "t")[0], "hundreds": hundreds,
    }  # fmt: skip
    print(json.dumps(whole), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
