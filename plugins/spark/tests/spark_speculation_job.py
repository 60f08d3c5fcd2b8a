"""Writes whose first attempt at one file is held back until they are published, on two hosts.

``spark_speculation_job.py FOLDER NAME ...``: those of :data:`TRIALS` that are named. Prints one JSON object for each write: what was there while the loser was held, and after it ended.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from hoodoo_gates import marks, until, wait_for
from pyspark.sql import SparkSession
from spark_tables import DDL, base_files, check_files, create, rows, running, seen

folder = Path(sys.argv[1])
spark = SparkSession.builder.getOrCreate()


def frame(ids, v):  # type: ignore[no-untyped-def]
    return spark.createDataFrame(rows(ids, v), DDL).coalesce(1)


def of_two_minds(batches):  # type: ignore[no-untyped-def]
    """A source that isn't deterministic: the partition path of its rows depends on the attempt."""
    import pyarrow as pa
    from pyspark import TaskContext

    city = "xy"[min(TaskContext.get().attemptNumber(), 1)]
    if city == "y":  # the original may be slow to start
        wait_for(folder / "of_two_minds.gates/held")
    for batch in batches:
        at = batch.schema.get_field_index("city")
        yield batch.set_column(at, "city", pa.array([city] * batch.num_rows))


def trial(name, held, operation, data):  # type: ignore[no-untyped-def]
    """The write ``operation``, whose first attempt to put a file in the path ``held`` is held."""
    path = folder / name
    gates = folder / f"{name}.gates"
    table = create(f"gated://{path}")
    commits = [table.upsert(frame(range(8), "first"))]
    before = base_files(path)
    (gates / "hold").write_text(held)
    earlier = marks(gates)
    commits.append(getattr(table, operation)(data))
    # Published; one attempt is still held.
    tried = marks(gates)
    begun = sum(n - earlier.get(k, 0) for k, n in tried.items() if k.startswith("begin"))
    at_publish = (sorted(base_files(path) - before), sorted(map(str, seen(path).items())))
    (gates / "open").touch()
    path_of_held = f"begin {held.replace('/', '!')}"
    (loser,) = (k for k in tried if k.startswith(path_of_held) and k not in earlier)
    wanted = tried[loser]
    end = loser.replace("begin", "end", 1)
    until(lambda: marks(gates).get(end, 0) == wanted)
    # It has put its file, or found one there. A file that the commit doesn't name it takes away.
    until(lambda: sorted(base_files(path) - before) == at_publish[0])
    later = (sorted(base_files(path) - before), sorted(map(str, seen(path).items())))
    (gates / "hold").unlink()
    commits.append(table.upsert(frame([0], "third")))
    # Spark copies whatever is slow: all copies end, and who comes then, without tasks, sweeps.
    until(lambda: not running(spark))
    assert table.rollback() == ()
    check_files(path, commits)
    print(
        json.dumps(
            {
                "name": name,
                "attempts": begun,
                "files": [at_publish[0], later[0], sorted(commits[1].files)],
                "rows": [at_publish[1], later[1]],
                "count": commits[1].inserted,
                "last": len(seen(path)),
            }
        ),
        flush=True,
    )


TRIALS = {
    "upsert": lambda: ("a/", "upsert", frame(range(4, 12), "second")),
    "bulk_insert": lambda: ("a/", "bulk_insert", frame(range(8, 12), "second")),
    "of_two_minds": lambda: (
        "x/",
        "bulk_insert",
        frame(range(8, 12), "second").mapInArrow(of_two_minds, DDL),
    ),
}
for name in sys.argv[2:]:
    trial(name, *TRIALS[name]())
spark.stop()
