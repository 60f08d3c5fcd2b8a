"""What an upsert with a global index exchanges, beside what it did when all rows met by key first.

    python -m tests.bench.global_upserts [--scale 0.1] [--engine spark] [--runs 3] [--repeated 0.02]

Lineitem, one partition path for each way of shipping, 10 % of its rows upserted. Both ways take turns in one run;
seconds are medians, processor time is that of all processes below this one. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from contextlib import contextmanager
from typing import Any
from unittest import mock

import hoodoo
import pyarrow as pa
from hoodoo.hookspecs.engine import Stream, Workspace
from hoodoo_rows.testing.metered import MeteredEngine
from hoodoo_rows.write import pipeline
from hoodoo_rows.write.repeated import FoldByKey, RouteRepeated
from hoodoo_rows.write.target import WriteTarget
from hoodoo_standard.engine.local import LocalEngine

from tests.bench import data
from tests.bench.processor import ProcessorTime

INDEXES = ("global_simple", "global_bloom", "record_index", "growing_record_index")


def meet_first(target: WriteTarget, stream: Stream, keys: object, workspace: Workspace) -> Stream:
    """As it was: every row crosses by its key."""
    engine, parts = target.engine, target.engine.parallelism
    met = target.exchange(engine.map(stream, RouteRepeated(stream.schema, parts, None)), parts)
    return engine.stage(engine.map(met, FoldByKey(stream.schema, target.merger)), workspace)


@contextmanager
def way(name: str) -> Any:
    if name == "before":
        with mock.patch.object(pipeline, "one_row_per_key", meet_first):
            yield
    else:
        yield


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=0.1, help="TPC-H scale factor")
    parser.add_argument("--engine", choices=("local", "spark"), default="local")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--repeated", type=float, default=0.0, help="share of keys that come twice")
    parser.add_argument("--indexes", default=",".join(INDEXES))
    chosen = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="hoodoo-bench-", dir=data.cache())
    try:
        if chosen.engine == "spark":
            from hoodoo_spark.engine import SparkEngine

            from tests.bench.run import session

            inner: Any = SparkEngine(session(folder))
        else:
            inner = LocalEngine(2)
        table = data.plain(data.lineitem(chosen.scale))
        measure(folder, inner, table, chosen)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(folder: str, inner: Any, table: pa.Table, chosen: Any) -> None:
    print(
        "| index | bytes before | bytes now | ratio | seconds before, now | processor before, now |"
    )
    print("|---|---|---|---|---|---|", flush=True)
    for index in chosen.indexes.split(","):
        found: dict[str, list[tuple[int, float, float]]] = {"before": [], "now": []}
        sums = {}
        paths = {}
        for name in found:
            paths[name] = f"{folder}/{index}-{name}"
            options = {"hoodie.metadata.enable": "true"}
            hoodoo.create(
                paths[name], table.schema, name="lineitem", record_key=data.KEY,
                partition_by="l_shipmode", index=index, options=options,
            ).bulk_insert(table)  # fmt: skip
        for run in range(chosen.runs + 1):  # the first warms up
            changed = data.change(table, 0.1, run)
            twice = data.change(changed, chosen.repeated, run + 100)
            changed = pa.concat_tables([changed, twice]) if chosen.repeated else changed
            for name in sorted(found, reverse=bool(run % 2)):
                engine = MeteredEngine(inner)
                opened = hoodoo.open(paths[name], engine=engine)
                began = time.monotonic()
                with ProcessorTime() as processor, way(name):
                    opened.upsert(changed)
                seconds = time.monotonic() - began
                if run:
                    found[name].append((engine.total().bytes, seconds, processor.seconds))
        for name, path in paths.items():
            sums[name] = data.checksum(hoodoo.open(path).read().to_arrow())
        assert sums["before"] == sums["now"], sums
        (bytes_0, time_0, used_0), (bytes_1, time_1, used_1) = (
            [statistics.median(one) for one in zip(*found[name])] for name in ("before", "now")
        )
        ratio = bytes_1 / bytes_0
        times = f"{time_0:.2f}, {time_1:.2f} | {used_0:.2f}, {used_1:.2f}"
        print(
            f"| `{index}` | {bytes_0:,.0f} | {bytes_1:,.0f} | {ratio:.2f} | {times} |", flush=True
        )


if __name__ == "__main__":
    main()
