"""One measured call in a process of its own: its name and arguments as JSON, its figures as JSON."""

from __future__ import annotations

import itertools
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.table.table import Table
from hoodoo_standard.engine.local import LocalEngine

from tests.bench.processor import ProcessorTime, most_memory
from tests.bench.scale import fabricate

Figures = dict[str, float]
BUCKETS = {"hoodie.bucket.index.num.buckets": "8"}
RECORD_INDEX = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
}
KEY, PATH, VALUE = fabricate.SCHEMA.names


def _timed(call: Callable[[], object], name: str, found: Figures) -> None:
    began, busy = time.perf_counter(), time.process_time()
    call()
    found[f"{name}_wall"] = time.perf_counter() - began
    found[name] = time.process_time() - busy


def _opened(path: str, options: dict[str, str] | None = None) -> Table:
    return hoodoo.open(path, {**fabricate.QUIET, **(options or {})}, engine=LocalEngine(2))


def _warm(path: str) -> None:
    """What a process loads once, whatever the table's size, is no cost of the call that comes first."""
    small = f"{path}-small"
    shutil.rmtree(small, ignore_errors=True)
    like = hoodoo.open(path).handle.config
    table = hoodoo.create(
        small, fabricate.SCHEMA, name="t", record_key="id", partition_by="part", index="simple",
        options={
            **fabricate.QUIET,
            "hoodie.metadata.enable": str(bool(like.metadata_partitions)).lower(),
            "hoodie.metadata.index.column.stats.enable": "false",
        },
        engine=LocalEngine(2),
    )  # fmt: skip
    table.upsert(fabricate.rows(10))
    table.upsert(fabricate.rows(10))
    table.read(where=pc.field("part") == fabricate.REAL).to_arrow()
    shutil.rmtree(small)


def upserts(path: str, count: int = 10, options: dict[str, str] | None = None) -> Figures:
    """The first and a later upsert of a process that has the table open."""
    found: Figures = {}
    _warm(path)
    _timed(lambda: _opened(path, options).upsert(fabricate.rows(count)), "first", found)
    table, later = _opened(path, options), []
    table.upsert(fabricate.rows(count))
    for _ in range(3):
        one: Figures = {}
        _timed(lambda: table.upsert(fabricate.rows(count)), "upsert", one)
        later.append(one)
    return found | min(later, key=lambda one: one["upsert"])


def inserts(path: str, count: int = 10) -> Figures:
    """The first and a later upsert of new rows, of a process that has the table open."""
    found: Figures = {}
    _warm(path)
    numbers = itertools.count(fabricate.ROWS, count)
    _timed(lambda: _opened(path).upsert(fabricate.rows(count, next(numbers))), "first", found)
    table, later = _opened(path), []
    table.upsert(fabricate.rows(count, next(numbers)))
    for _ in range(3):
        one: Figures = {}
        _timed(lambda: table.upsert(fabricate.rows(count, next(numbers))), "insert", one)
        later.append(one)
    rows = table.read(where=pc.field("part") == fabricate.REAL).count()
    assert rows == fabricate.ROWS + 5 * count, rows
    return found | min(later, key=lambda one: one["insert"])


def reads(path: str) -> Figures:
    """All rows of one partition path, by a filter."""
    _warm(path)
    where = pc.field("part") == fabricate.REAL
    answers = []
    for _ in range(3):
        one: Figures = {}
        _timed(lambda: _opened(path).read(where=where).to_arrow(), "read", one)
        answers.append(one)
    rows = _opened(path).read(where=where).to_arrow().num_rows
    assert rows == fabricate.ROWS, rows
    return min(answers, key=lambda one: one["read"])


def columns(path: str, count: int, kind: str) -> Figures:
    """Rows into a table of many columns, and read again."""
    found: Figures = {}
    fabricate.with_columns(path, count, kind)
    rows = fabricate.wide(count, 10 if kind == "COPY_ON_WRITE" else 1000)
    table = _opened(path)
    _timed(lambda: table.upsert(rows), "insert", found)
    _timed(lambda: table.upsert(rows), "upsert", found)
    _timed(lambda: table.read().to_arrow(), "read", found)
    return found


def batches(path: str, count: int, index: str) -> Figures:
    """All rows of a table updated at once."""
    found: Figures = {}
    more = BUCKETS if index == "bucket" else RECORD_INDEX if index == "record_index" else {}
    table = hoodoo.create(
        path, fabricate.SCHEMA, name="t", record_key="id", partition_by="part", index=index,
        options=fabricate.QUIET | more, engine=LocalEngine(2),
    )  # fmt: skip
    table.bulk_insert(fabricate.rows(count)) if index != "bucket" else table.upsert(
        fabricate.rows(count)
    )
    before = most_memory()
    _timed(lambda: table.upsert(fabricate.rows(count)), "upsert", found)
    found["before_mb"] = before
    return found


def spark_batches(path: str, count: int, index: str) -> Figures:
    """The same on Spark: processor time of all processes, memory of the driver's Python."""
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    )
    more = BUCKETS if index == "bucket" else RECORD_INDEX if index == "record_index" else {}
    table = hoodoo.create(
        path, fabricate.SCHEMA, name="t", record_key="id", partition_by="part", index=index,
        options=fabricate.QUIET | more, engine="spark",
    )  # fmt: skip

    def rows(first: int) -> Any:
        columns = [f"id as {KEY}", f"'{fabricate.REAL}' as {PATH}", f"id + {first} as {VALUE}"]
        return spark.range(count).selectExpr(*columns)

    def checked(first: int) -> None:
        found = table.read().to_spark().selectExpr("count(*)", f"sum({VALUE})").collect()[0]
        wanted = (count, count * (count - 1) // 2 + first * count)
        assert tuple(found) == wanted, (found, wanted)

    table.upsert(rows(0))
    checked(0)
    found: Figures = {"before_mb": most_memory()}
    began = time.perf_counter()
    with ProcessorTime() as used:
        table.upsert(rows(1))
    found |= {"upsert_wall": time.perf_counter() - began, "upsert": used.seconds}
    found["mb"] = most_memory()
    checked(1)
    spark.stop()
    return found


def partitions(path: str, count: int, how: str) -> Figures:
    """Rows in many partition paths."""
    found: Figures = {}
    table = hoodoo.create(
        path, fabricate.SCHEMA, name="t", record_key="id", partition_by="part", index="simple",
        options=fabricate.QUIET, engine=LocalEngine(2),
    )  # fmt: skip
    numbers = pa.array(range(count * 5), pa.int64())
    paths = pa.array([f"p{n % count:06d}" for n in range(count * 5)])
    rows = pa.table([numbers, paths, numbers], schema=fabricate.SCHEMA)
    write = getattr(table, how)
    _timed(lambda: write(rows), how, found)
    return found


NOTE = 80  # bytes of text in each row of `loads`


def loads(path: str, paths: int, size: int, budget: int = 0) -> Figures:
    """About ``size`` MiB of rows by one bulk insert of one task, their partition paths in turn. ``budget``: MiB."""
    each = 8 + 11 + NOTE + 4  # bytes of a row: number, path, note
    count = max(paths, (size << 20) // each)
    schema = pa.schema([("id", pa.int64()), ("part", pa.string()), ("note", pa.string())])
    table = hoodoo.create(
        path, schema, name="t", record_key="id", partition_by="part", index="simple",
        options=fabricate.QUIET | {"hoodie.metadata.enable": "false"}, engine=LocalEngine(1),
    )  # fmt: skip
    options = {"hoodoo.memory.bytes": f"{budget}MB"} if budget else {}
    table = hoodoo.open(path, {**fabricate.QUIET, **options}, engine=LocalEngine(1))
    before = most_memory()
    found: Figures = {"rows": count, "before_mb": before}
    rows = pa.RecordBatchReader.from_batches(schema, _rows(schema, count, paths))
    _timed(lambda: table.bulk_insert(rows), "bulk_insert", found)
    found["row"] = found["bulk_insert"] / count * 1e6
    found["pool"] = pa.default_memory_pool().max_memory() / 2**20
    return found


def _rows(schema: pa.Schema, count: int, paths: int) -> Iterator[pa.RecordBatch]:
    names = pa.array([f"p{n:06d}" for n in range(paths)])
    drawn = np.random.default_rng(0)
    for start in range(0, count, 1 << 17):
        numbers = np.arange(start, min(count, start + (1 << 17)))
        letters = drawn.integers(97, 123, NOTE * len(numbers), np.uint8)
        offsets = np.arange(len(numbers) + 1, dtype=np.int32) * NOTE
        notes = pa.StringArray.from_buffers(
            len(numbers), pa.py_buffer(offsets), pa.py_buffer(letters)
        )
        yield pa.record_batch(
            [pa.array(numbers), names.take(pa.array(numbers % paths)), notes], schema=schema
        )


def main() -> None:
    name, arguments = json.loads(sys.argv[1])
    call: Any = globals()[name]
    found = call(**arguments)
    found["mb"] = most_memory()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
