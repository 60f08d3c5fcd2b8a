"""The engine works under the user's settings, whatever they are, and changes none of them."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hoodoo.hookspecs.engine import PART
from hoodoo_rows.testing import engine_steps as steps
from hoodoo_rows.testing.contracts.engine_streams import ROWS, by_key, rows

pytestmark = [pytest.mark.spark, pytest.mark.sampled(4)]

UTC = dt.timezone.utc
INSTANT = dt.datetime(2024, 3, 10, 6, 59, 59, 123456, tzinfo=UTC)  # near a change of clocks
SETTINGS: list[dict[str, str]] = [
    {},
    {"spark.sql.execution.arrow.maxRecordsPerBatch": "7"},
    {"spark.sql.execution.arrow.maxRecordsPerBatch": "0"},
    {"spark.sql.execution.arrow.maxBytesPerBatch": "1"},
    {"spark.sql.execution.arrow.useLargeVarTypes": "true"},
    {"spark.sql.session.timeZone": "America/New_York"},
    {"spark.sql.ansi.enabled": "true"},
    {"spark.sql.ansi.enabled": "false", "spark.sql.shuffle.partitions": "1"},
    {"spark.sql.adaptive.enabled": "false"},
    {
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": "1g",
        "spark.sql.adaptive.coalescePartitions.minPartitionSize": "512m",
    },
    {"spark.sql.caseSensitive": "true", "spark.sql.parser.escapedStringLiterals": "true"},
    {"spark.sql.execution.arrow.pyspark.enabled": "true"},
]


def settings_of(session: Any) -> dict[str, str]:
    return {row["key"]: row["value"] for row in session.sql("SET").collect()}


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: " ".join(s.values()) or "plain")
def test_under(spark: Any, workspace: Any, settings: dict[str, str]) -> None:
    from hoodoo_spark.engine import SparkEngine
    from pyspark.sql import functions as F

    session = spark.newSession()
    for key, value in settings.items():
        session.conf.set(key, value)
    before = settings_of(session)
    engine = SparkEngine(session)
    engine.check([])

    micros = F.lit(int(INSTANT.timestamp()) * 10**6 + INSTANT.microsecond) + F.col("id")
    data = session.range(0, 500, 1, 3).select(
        F.col("id").alias("key"),
        F.expr("cast(id as string)").alias("name"),
        F.timestamp_micros(micros).alias("at"),
        F.struct(F.array(F.timestamp_micros(micros)).alias("times")).alias("deep"),
    )
    stream = engine.source(data)
    assert stream.schema.field("at").type == pa.timestamp("us", "UTC")
    stream = engine.exchange(engine.map(stream, steps.Route(stream.schema, 6, 5)), 6)
    stream = engine.stage(engine.map(stream, steps.Numbered(stream.schema)), workspace)
    found = by_key(engine.collect(engine.union([stream, stream])))
    assert found.num_rows == 1000
    assert found.column(PART) == found.column("task")
    assert found.column("key").to_pylist() == [i for i in range(500) for _ in range(2)]
    for row in found.slice(0, 40).to_pylist():
        at = INSTANT + dt.timedelta(microseconds=row["key"])
        assert row["name"] == str(row["key"])
        assert row["at"] == at and row["deep"] == {"times": [at]}
    assert settings_of(session) == before


def test_the_source_is_evaluated_once(
    spark: Any, engine: Any, workspace: Any, tmp_path: Path
) -> None:
    """A source that differs each time it is evaluated, and counts how often that is."""
    from hoodoo.hookspecs.engine import Task
    from pyspark.sql import functions as F

    folder = tmp_path / "marks"
    folder.mkdir()
    mark = steps.Same(pa.schema([]), str(folder))

    def counted(batches: Any) -> Any:
        from pyspark import TaskContext

        yield from mark(batches, Task(TaskContext.get().partitionId()))

    data = spark.range(0, 3000, 1, 3).mapInArrow(counted, "id long")
    data = data.select(
        F.col("id").alias("key"), F.expr("uuid()").alias("name"), F.rand().alias("chance")
    )
    stream = engine.source(data)
    stream = engine.exchange(engine.map(stream, steps.Route(stream.schema, 4, 4)), 4)
    staged = engine.stage(stream, workspace)
    first, second = by_key(engine.collect(staged)), by_key(engine.collect(staged))
    assert first == second and first.column("key").to_pylist() == list(range(3000))
    assert len(set(first.column("name").to_pylist())) == 3000
    assert sorted(path.name.split("-")[0] for path in folder.iterdir()) == ["0", "1", "2"]


def test_a_shuffle_in_the_source(spark: Any, engine: Any) -> None:
    """Partitions that adaptive execution merges in the user's own query are fine; ours stay."""
    data = spark.range(0, 1000, 1, 8).selectExpr("id % 100 as key").groupBy("key").count()
    stream = engine.source(data)
    union = engine.union([stream, stream])
    stream = engine.exchange(engine.map(union, steps.Route(stream.schema, 5, 1)), 5)
    stream = engine.map(stream, steps.Numbered(stream.schema))
    found = engine.collect(stream)
    assert found.column(PART) == found.column("task")
    assert sum(found.column("count").to_pylist()) == 2000


def test_tasks_of_frames_in_a_union_have_distinct_numbers(spark: Any, engine: Any) -> None:
    frames = [spark.range(0, 90, 1, n) for n in (2, 3)]
    streams = [engine.source(frame) for frame in frames]
    streams.insert(1, engine.tasks([b"a", b"b"]))
    streams[1] = engine.map(streams[1], steps.Ignore(streams[0].schema))
    found = engine.collect(engine.map(engine.union(streams), steps.Count()))
    numbers = found.column("task").to_pylist()
    assert len(set(numbers)) == len(numbers) == 7
    assert {0, 1} <= set(numbers)


def test_members_of_a_union_run_side_by_side(engine: Any) -> None:
    """Spark puts the members of a union that are known to be single partitions into one task."""
    from hoodoo_rows.engine.crossing import usual_serializer
    from hoodoo_spark.pack import PackResult
    from hoodoo_spark.stream import run

    stream = engine.union([engine.tasks([b"x"]) for _ in range(4)])
    frame = run(stream, PackResult(usual_serializer().bind(stream.schema), 1024))
    assert frame.rdd.getNumPartitions() == 4
    exchanges = [
        engine.exchange(engine.map(engine.source(rows(9)), steps.Route(ROWS, 3, 1)), 3)
        for _ in range(2)
    ]
    frame = run(
        engine.union(exchanges), PackResult(usual_serializer().bind(exchanges[0].schema), 1024)
    )
    assert frame.rdd.getNumPartitions() == 6


def test_old_routing(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What PySpark before 4.1 gets, on any version: each part lands on its own task."""
    from hoodoo_spark import engine as module
    from hoodoo_spark import route

    for place in (module, route):
        monkeypatch.setattr(place, "has_ids", lambda df: False)
    from pyspark.sql import functions as F

    packed = route.repartitioned(route.empty_rows(spark, 37, False), 37)
    found = packed.select("part", F.spark_partition_id().alias("task")).collect()
    assert sorted((row.part, row.task) for row in found) == [(i, i) for i in range(37)]
    engine = module.SparkEngine(spark)
    stream = engine.source(rows(1000))
    stream = engine.exchange(engine.map(stream, steps.Route(stream.schema, 9, 2)), 9)
    stream = engine.map(stream, steps.Numbered(stream.schema))
    table = by_key(engine.collect(stream))
    assert table.column(PART) == table.column("task") and table.num_rows == 1000


def test_parts_are_tasks_of_spark(spark: Any, engine: Any) -> None:
    """Not only by what the rows say: no task of an exchange is empty while another has two parts."""
    stream = engine.source(rows(1000))
    stream = engine.exchange(engine.map(stream, steps.Route(stream.schema, 9, 2)), 9)
    from pyspark.sql import functions as F

    frame = stream.legs[0].df.select("part", F.spark_partition_id().alias("task")).distinct()
    assert sorted((row.part, row.task) for row in frame.collect()) == [(i, i) for i in range(9)]


def test_sparks_hash(spark: Any) -> None:
    import numpy as np
    from hoodoo_spark.route import inverted, murmur3

    values = [0, 1, -1, 42, 2**31 - 1, -(2**31), 123456789]
    frame = spark.createDataFrame([(v,) for v in values], "x int").selectExpr("x", "hash(x) as h")
    found = {row.x: row.h for row in frame.collect()}
    assert murmur3(np.array(values, np.int32)).tolist() == [found[v] for v in values]
    many = np.arange(-100_000, 100_000, dtype=np.int32)
    assert (murmur3(inverted(many)) == many).all()
