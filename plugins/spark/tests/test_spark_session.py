"""Inside a session that belongs to the user: whatever its settings are, and without a trace in it."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.errors import SchemaError

pytestmark = [pytest.mark.spark, pytest.mark.sampled(4)]

UTC = dt.timezone.utc
AT = dt.datetime(2024, 3, 10, 6, 59, 59, 123456, tzinfo=UTC)  # near a change of clocks
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("city", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("raw", pa.binary()),
        ("tags", pa.list_(pa.struct([("name", pa.string()), ("at", pa.timestamp("us", "UTC"))]))),
        ("ts", pa.int32()),
    ]
)
SETTINGS: dict[str, dict[str, str]] = {
    "plain": {},
    "ansi": {"spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "America/New_York"},
    "no ansi": {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "Asia/Kolkata",
        "spark.sql.timestampType": "TIMESTAMP_NTZ",
        "spark.sql.storeAssignmentPolicy": "LEGACY",
    },
    "no arrow": {
        "spark.sql.execution.arrow.pyspark.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "3",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
    },
    "case": {"spark.sql.caseSensitive": "true", "spark.sql.parser.escapedStringLiterals": "true"},
    "parquet": {
        "spark.sql.parquet.binaryAsString": "true",
        "spark.sql.parquet.mergeSchema": "true",
        "spark.sql.parquet.enableVectorizedReader": "false",
        "spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY",
        "spark.sql.sources.useV1SourceList": "",
        "spark.sql.files.ignoreMissingFiles": "true",
    },
}


def row(number: int, ts: int) -> dict[str, Any]:
    at = AT + dt.timedelta(hours=number)
    tags = [{"name": "é", "at": at}, {"name": None, "at": None}]
    city = ["x y", "b"][number % 2]
    return {"id": number, "city": city, "at": at, "raw": b"\xff", "tags": tags, "ts": ts}


def trace(session: Any) -> dict[str, Any]:
    """All that a library could leave behind in a session, and must not."""
    from pyspark.sql import SparkSession

    context = session.sparkContext
    active = SparkSession.getActiveSession()
    return {
        "settings": {r["key"]: r["value"] for r in session.sql("SET").collect()},
        "context": sorted(context.getConf().getAll()),
        "views": [t.name for t in session.catalog.listTables()],
        "cached": context._jsc.sc().getPersistentRDDs().size(),
        "properties": [
            context.getLocalProperty(f"spark.{name}")
            for name in ("jobGroup.id", "job.description", "scheduler.pool", "sql.execution.id")
        ],
        "hadoop": sorted(
            f"{e.getKey()}={e.getValue()}"
            for e in iter_java(context._jsc.hadoopConfiguration().iterator())
        ),
        "active": active is not None and active._jsparkSession.equals(session._jsparkSession),
    }


def untouched(after: dict[str, Any], before: dict[str, Any]) -> None:
    for what in before:
        if isinstance(before[what], dict):
            changed = dict(set(after[what].items()) ^ set(before[what].items()))
            assert not changed, what
        assert after[what] == before[what], what


def iter_java(iterator: Any) -> Any:
    while iterator.hasNext():
        yield iterator.next()


def life(session: Any, path: Path, collected: Callable[[Any], pa.Table]) -> None:
    """A table from its first row to the last question, all through ``session``."""
    from hoodoo_spark.types import spark_schema

    def frame(*rows: dict[str, Any]) -> Any:
        values = [tuple(r.values()) for r in rows]
        return session.createDataFrame(values, spark_schema(SCHEMA))

    options = {"hoodie.datasource.write.hive_style_partitioning": True}
    table = hoodoo.create(
        str(path), spark_schema(SCHEMA), record_key="id", partition_by="city", ordering="ts",
        options=options,
    )  # fmt: skip
    first = table.insert(frame(*(row(i, 1) for i in range(8))))
    assert first.inserted == 8
    assert table.upsert(frame(row(1, 2), row(2, 0), row(20, 1))).updated == 1
    assert table.delete(session.createDataFrame([(3,)], "id long")).deleted == 1
    late = pa.Table.from_pylist([row(21, 1)], SCHEMA)
    assert table.bulk_insert(late, engine="spark").inserted == 1
    wanted = [row(0, 1), row(1, 2), row(2, 1), *(row(i, 1) for i in (4, 5, 6, 7, 20, 21))]
    scan = table.read(columns=SCHEMA.names)
    # Their own rows come back through Arrow, through Spark's reader and through Python tasks.
    assert scan.to_arrow().sort_by("id").to_pylist() == wanted
    native = scan.to_spark(session)
    assert collected(native).sort_by("id").to_pylist() == wanted
    where = pc.field("id") >= 0
    tasks = table.read(columns=SCHEMA.names, where=where).to_spark(session)
    assert collected(tasks).sort_by("id").to_pylist() == wanted
    assert table.read(as_of=first.instant).to_spark(session).count() == 8
    assert native.where("city = 'b'").count() == 4


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_a_session_with_settings(
    spark: Any,
    tmp_path: Path,
    settings: dict[str, str],
    collected: Callable[[Any], pa.Table],
) -> None:
    session = spark.newSession()
    for key, value in settings.items():
        session.conf.set(key, value)
    session.createDataFrame([(1,)], "id long")  # which makes it the active one
    before = trace(session)
    life(session, tmp_path / "t", collected)
    untouched(trace(session), before)


def test_columns_that_differ_in_case(spark: Any, tmp_path: Path) -> None:
    """Hudi's readers on Spark could not tell them apart, even if this session could."""
    session = spark.newSession()
    session.conf.set("spark.sql.caseSensitive", "true")
    frame = session.range(3).selectExpr("id", "'a' AS v", "10 AS V", "id AS Ts")
    with pytest.raises(SchemaError, match="column 'V'.* 'v' too"):
        hoodoo.create(str(tmp_path / "t"), frame.schema, record_key="id")
    fewer = frame.select("id", "V", "Ts")
    table = hoodoo.create(str(tmp_path / "t"), fewer.schema, record_key="id", ordering="Ts")
    with pytest.raises(SchemaError, match="column 'V'.* 'v' too"):
        table.upsert(frame)
    assert table.upsert(fewer).inserted == 3
    assert table.read().to_spark(session).columns[-3:] == ["id", "V", "Ts"]


def test_in_a_thread(spark: Any, tmp_path: Path, collected: Callable[[Any], pa.Table]) -> None:
    """Two threads with a session and settings each, side by side."""
    sessions = [spark.newSession() for _ in range(2)]
    zones = ["Asia/Kolkata", "America/New_York"]
    for session, zone in zip(sessions, zones, strict=True):
        session.conf.set("spark.sql.session.timeZone", zone)
    before = [trace(session) for session in sessions]
    assert [session["settings"]["spark.sql.session.timeZone"] for session in before] == zones
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            life(sessions[number], tmp_path / f"t{number}", collected)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
    for session, then in zip(sessions, before, strict=True):
        # Which one is active in a thread is the business of createDataFrame, which that thread used.
        untouched({**trace(session), "active": None}, {**then, "active": None})


def test_spark_goes_on_as_before(spark: Any, tmp_path: Path) -> None:
    """What the user had prepared before works after: views, cached frames, a job's description."""
    session = spark.newSession()
    session.range(5).createOrReplaceTempView("theirs")
    cached = session.range(7).cache()
    assert cached.count() == 7
    session.sparkContext.setJobDescription("theirs")
    before = trace(session)
    table = hoodoo.create(str(tmp_path / "t"), pa.schema([("id", pa.int64())]), record_key="id")
    table.upsert(session.table("theirs"))
    table.upsert(cached)
    try:
        assert table.read().to_spark(session).count() == 7
        untouched(trace(session), before)
        assert cached.is_cached
    finally:
        session.sparkContext.setJobDescription(None)
        cached.unpersist()
