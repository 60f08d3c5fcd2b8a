"""Lands a stream of small batches in a table, clusters its files, and feeds two consumers.

The producer numbers its batches, so that a batch that comes twice is written once. Consumers read what is new since
their last read: each event once, whatever clustering and cleaning do to the files in between.

    python docs/examples/event_stream.py [FOLDER]
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import hoodoo
import pyarrow as pa
from hoodoo.timeline.batches import Batch

SCHEMA = pa.schema(
    [("offset", pa.int64()), ("sensor", pa.string()), ("at", pa.int64()), ("value", pa.float64())]
)
BATCHES, SIZE = 12, 500


def topic() -> Iterator[tuple[int, pa.Table]]:
    """(number, events) of each batch. It stands for a consumer of Kafka; some batches come twice."""
    for number in range(BATCHES):
        offsets = range(number * SIZE, (number + 1) * SIZE)
        columns = [
            list(offsets),
            [f"sensor-{offset * 7 % 20:02d}" for offset in offsets],
            [offset // 10 for offset in offsets],
            [float(offset % 100) for offset in offsets],
        ]
        events = pa.table(columns, schema=SCHEMA)
        yield number, events
        if number % 5 == 3:
            yield number, events


class Consumer:
    """Reads what is new, and remembers up to where; a program would store ``since`` with its results."""

    def __init__(self, path: str) -> None:
        self.table = hoodoo.open(path)
        self.since = "earliest"
        self.seen: Counter[int] = Counter()

    def poll(self) -> int:
        news = self.table.incremental(self.since, columns=["offset"])
        before = self.seen.total()
        for batch in news:
            self.seen.update(batch.column("offset").to_pylist())
        self.since = news.plan.until or self.since
        return self.seen.total() - before


def main(folder: str | Path) -> dict[str, Any]:
    path = str(Path(folder) / "events")
    options = {
        "hoodie.clustering.inline": True,  # after every fourth write; other processes could do it, too
        "hoodie.clustering.inline.max.commits": 4,
        "hoodie.clustering.plan.strategy.sort.columns": "sensor,at",
        "hoodie.clean.commits.retained": 6,
    }
    table = hoodoo.create(path, SCHEMA, options=options)  # no record key: rows are only added
    fast, slow = Consumer(path), Consumer(path)
    written = skipped = 0
    for number, events in topic():
        commit = table.append(events, batch=Batch("sensors", number))
        written, skipped = written + bool(commit.instant), skipped + (not commit.instant)
        fast.poll()
        if number % 5 == 4:
            print(f"batch {number}: the slow consumer gets {slow.poll()} events")
    print(f"at the end: the slow consumer gets {slow.poll()} events")

    clusterings = sum(i.action == "replacecommit" for i in table.timeline().completed())
    files = len(table.file_slices())
    print(f"{written} batches written, {skipped} skipped; {clusterings} clusterings; {files} files")
    scan = table.read(where="sensor = 'sensor-07'")
    print(f"a query of one sensor gets {scan.count()} events")

    # DuckDB counts the rows of the table and of the topic.
    rows = table.read().to_dataset()  # noqa: F841 (DuckDB reads it)
    query = 'SELECT count(*), count(DISTINCT "offset"), sum(value) FROM rows'
    (counts,) = duckdb.sql(query).fetchall()
    total = BATCHES * SIZE
    assert counts == (total, total, sum(float(offset % 100) for offset in range(total)))
    assert fast.seen == slow.seen == Counter(range(total))  # each event once
    return {"written": written, "skipped": skipped, "clusterings": clusterings, "files": files}


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp(prefix="events-"))
