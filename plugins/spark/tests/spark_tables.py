"""A small table of numbered rows, what readers see of it, and what lies in it that nobody names."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import hoodoo
import hudi
import pyarrow as pa
from hoodoo_rows.api import Commit

SCHEMA = pa.schema(
    [("id", pa.int64()), ("city", pa.string()), ("v", pa.string()), ("ts", pa.int64())]
)
DDL = "id long, city string, v string, ts long"
Rows = dict[tuple[str, int], str]  # (city, id) -> v


def create(path: str, **more: Any) -> hoodoo.Table:
    # However few the rows are, Spark's tasks write them.
    options = {"hoodoo.spark.small.bytes": "0", **more.pop("options", {})}
    return hoodoo.create(
        path, SCHEMA, name="t", record_key="id", partition_by="city", ordering="ts", options=options, **more
    )  # fmt: skip


def rows(ids: Iterable[int], v: str, ts: int = 1) -> list[tuple[int, str, str, int]]:
    return [(i, "ab"[i % 2], v, ts) for i in ids]


def seen(path: Path) -> Rows:
    """The rows, which Hoodoo and `hudi` have to see alike."""
    ours = _rows(hoodoo.open(str(path)).read(columns=["id", "city", "v"]).to_arrow())
    batches = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read(hudi.HudiReadOptions())
    theirs = _rows(pa.Table.from_batches(batches)) if batches else {}
    assert ours == theirs
    return ours


def _rows(table: pa.Table) -> Rows:
    found = {(r["city"], r["id"]): r["v"] for r in table.select(["id", "city", "v"]).to_pylist()}
    assert len(found) == table.num_rows, "a row is there twice"
    return found


def base_files(path: Path) -> set[str]:
    return {str(found.relative_to(path)) for found in path.rglob("*.parquet")}


def check_files(path: Path, commits: Iterable[Commit]) -> None:
    """Every file of the table is named by a commit, and no write left anything that stays when nobody waits for tasks
    that are late any more."""
    named = {file for commit in commits for file in commit.files}
    assert base_files(path) == named
    others = {f.name for f in path.rglob("*") if f.is_file() and ".hoodie" not in f.parts}
    assert others <= {Path(name).name for name in named} | {".hoodie_partition_metadata"}
    for left in leftovers(path):
        os.utime(path / left, (0, 0))
    assert hoodoo.open(path).rollback() == ()
    assert leftovers(path) == []


def leftovers(path: Path) -> list[str]:
    return [str(f.relative_to(path)) for f in (path / ".hoodie/.temp").rglob("*") if f.is_file()]


def running(spark: Any) -> int:
    """How many tasks Spark has running, be it that it has given them up."""
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()  # what began or ended is told of there
    return sum(
        executor.numRunningTasks() for executor in context.statusTracker().getExecutorInfos()
    )
