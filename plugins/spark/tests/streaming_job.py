"""Three streams into three tables, in one driver that dies where it is told.

``streaming_job.py FOLDER BATCH [POINT POINT POINT]``: each stream goes on until it is at its own ``POINT`` of
``BATCH``; when all are there the process group is killed, JVM and all. Points are among :data:`POINTS`;
without them nobody dies.
Every batch that comes to its end adds a line to ``FOLDER/<stream>.log``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from itertools import zip_longest
from pathlib import Path
from typing import Any

from attrs import frozen

DDL = "id long, city string, ts int"


@frozen
class StreamSpec:
    """One of the streams, and the table that it goes to."""

    name: str
    operation: str
    table_type: str
    version: int
    index: str | None = None
    options: tuple[tuple[str, object], ...] = ()


STREAMS = (
    StreamSpec("loads", "bulk_insert", "COPY_ON_WRITE", 9),
    StreamSpec("events", "insert", "MERGE_ON_READ", 6),
    StreamSpec(
        "changes", "upsert", "MERGE_ON_READ", 9, "bucket",
        (("hoodie.compact.inline", True), ("hoodie.compact.inline.max.delta.commits", 2)),
    ),
)  # fmt: skip
# In the order in which a batch meets them. The checkpoint is written after the last. What is decided
# stands, even if whoever did so dies before the timeline says it.
POINTS = ("inflight", "unpublished", "decided", "published", "written")
PATIENCE = 600  # seconds that one stream waits for the others


def main(folder: Path, batch: int, points: list[str]) -> None:
    import hoodoo
    from hoodoo.timeline import ledger
    from hoodoo_spark.streaming import sink
    from hoodoo_standard.storage.local import LocalStorage
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    here = threading.local()
    together = threading.Barrier(len(STREAMS), timeout=PATIENCE)

    def reach(name: str) -> None:
        """Nothing of this process lives on: as when the machine fails."""
        if name == getattr(here, "point", None) and here.batch == batch:
            together.wait()
            os.killpg(os.getpgid(0), signal.SIGKILL)

    put_if_absent = LocalStorage.put_if_absent

    def put(self: LocalStorage, path: str, data: bytes) -> bool:
        decides = path.startswith(ledger.FOLDER)
        target = json.loads(data.partition(b"\n")[0])["path"] if decides else path
        kind = target.rpartition(".")[2] if target.startswith(".hoodie/") else ""
        done = kind in ("commit", "deltacommit") and not getattr(here, "done", False)
        if done and decides:
            reach("unpublished")
        made = put_if_absent(self, path, data)
        if done and decides:
            reach("decided")
        elif done:
            here.done = True  # what comes after is the compaction
            reach("published")
        elif kind == "inflight":
            reach("inflight")
        return made

    LocalStorage.put_if_absent = put  # type: ignore[method-assign]

    def start(spec: StreamSpec, point: str | None) -> Any:
        into = sink(hoodoo.open(str(folder / spec.name), dict(spec.options)), spec.operation)

        def each(frame: Any, number: int) -> None:
            here.point, here.batch, here.done = point, number, False
            commit = into(frame, number)
            with (folder / f"{spec.name}.log").open("a") as log:
                log.write(f"{number} {'written' if commit.instant else 'skipped'}\n")
            reach("written")

        found = (
            spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).json(str(folder / "in"))
        )
        return (
            found.writeStream.foreachBatch(each)
            .option("checkpointLocation", str(folder / f"{spec.name}.checkpoint"))
            .trigger(availableNow=True)
            .start()
        )

    for query in [start(*each) for each in zip_longest(STREAMS, points)]:
        query.awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
