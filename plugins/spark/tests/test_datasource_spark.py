"""The data source in Spark: found without a word, read, written, in SQL, and at both ends of streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest

pytest.importorskip("pyspark.sql.datasource")
pytestmark = pytest.mark.spark

KEYS = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.datasource.write.precombine.field": "ts",
}
COLUMNS = ("id", "CONCAT('c', id % 3) AS city", "id * 0.5D AS fare", "1L AS ts")


def load(spark: Any, path: str, **options: str) -> Any:
    return spark.read.format("hoodoo").options(**options).load(path)


def test_reads_and_writes(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    rides = spark.range(30).selectExpr(*COLUMNS)
    rides.write.format("hoodoo").options(**KEYS).mode("append").save(path)
    newer = rides.where("id < 10").selectExpr("id", "city", "-1D AS fare", "2L AS ts")
    newer.write.format("hoodoo").mode("append").save(path)
    table = hoodoo.open(path)
    first, second = table.timeline().writes()
    frame = load(spark, path)
    expected = sorted(table.read(columns=list(table.schema.names)).to_arrow().to_pylist(), key=str)
    assert sorted((row.asDict() for row in frame.collect()), key=str) == expected
    assert load(spark, path, as_of=first.requested).where("fare < 0").count() == 0
    key = "spark.sql.python.filterPushdown.enabled"
    before = spark.conf.get(key)
    spark.conf.set(key, "true")
    try:
        one = load(spark, path, pushdown="true").where("id = 5 AND city = 'c2'")
        assert [row.fare for row in one.collect()] == [-1.0]
        frame = load(spark, path)  # Spark plans it once, whatever is asked of it
        assert (frame.where("id = 5").count(), frame.count(), frame.where("id = 6").count()) == (
            1,
            30,
            1,
        )
    finally:
        spark.conf.set(key, before)
    with pytest.raises(Exception, match="boo"):
        bad = rides.selectExpr("id", "city", "CAST(raise_error('boo') AS DOUBLE) AS fare", "ts")
        bad.write.format("hoodoo").mode("append").save(path)
    assert table.timeline().writes() == (first, second)
    assert not [*(tmp_path / "t/.hoodie/.temp").glob("hoodoo-rows-*")]


def test_sql(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    spark.range(6).selectExpr(*COLUMNS).write.format("hoodoo").options(**KEYS).mode("append").save(
        path
    )
    spark.sql(f"CREATE TABLE source_trips USING hoodoo LOCATION '{path}'")
    try:
        spark.sql("INSERT INTO source_trips SELECT id + 100, city, fare, ts FROM source_trips")
        assert spark.sql("SELECT count(*) FROM source_trips").first()[0] == 12
        spark.sql("INSERT OVERWRITE source_trips SELECT * FROM source_trips WHERE id >= 100")
        assert spark.sql("SELECT count(*) FROM source_trips").first()[0] == 6
        hoodoo.open(path).delete([100])
        assert spark.sql("SELECT count(*) FROM source_trips").first()[0] == 5
    finally:
        spark.sql("DROP TABLE source_trips")
    assert hoodoo.open(path).read().count() == 5
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW source_view USING hoodoo OPTIONS (path '{path}')")
    assert spark.sql("SELECT count(*) FROM source_view").first()[0] == 5
    spark.sql("DROP VIEW source_view")


def test_a_stream_from_table_to_table_exactly_once(spark: Any, tmp_path: Path) -> None:
    source, target = str(tmp_path / "t"), str(tmp_path / "u")
    rides = spark.range(30).selectExpr(*COLUMNS)
    rides.write.format("hoodoo").options(**KEYS).mode("append").save(source)

    def stream() -> list[int]:
        rows = spark.readStream.format("hoodoo").option("maxFilesPerTrigger", "2").load(source)
        query = (
            rows.writeStream.format("hoodoo")
            .options(**KEYS, operation="insert")  # a batch that is written twice would be seen
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start(target)
        )
        query.awaitTermination()
        return [progress["numInputRows"] for progress in query.recentProgress]

    assert [rows for rows in stream() if rows] == [20, 10]
    commits = tmp_path / "checkpoint/commits"
    for note in [
        *commits.glob("*1"),
        *commits.glob(".1.crc"),
    ]:  # as if the driver had died after the commit
        note.unlink()
    rides.selectExpr("id + 100 AS id", "city", "fare", "ts").write.format("hoodoo").mode(
        "append"
    ).save(source)
    stream()
    table = hoodoo.open(target)
    assert table.read().count() == 60
    assert len(table.timeline().writes()) == 3  # not a fourth one for the batch that came again
    assert not [*(tmp_path / "u/.hoodie/.temp").glob("hoodoo-rows-*")]


def test_a_view_by_name_shows_the_newest_commits(spark: Any, tmp_path: Path) -> None:
    session = spark.newSession()
    table = hoodoo.create(
        str(tmp_path / "t"), session.range(0).selectExpr(*COLUMNS).schema, record_key="id", partition_by="city"
    )  # fmt: skip
    view = hoodoo.spark_view("seen", table, session)
    first = table.insert(
        pa.table({"id": [1, 2], "city": ["c1", "c2"], "fare": [1.0, 2.0], "ts": [1, 1]})
    )
    hoodoo.spark_view("then", str(tmp_path / "t"), session, as_of=first.instant)
    assert session.sql("SELECT sum(fare) FROM seen").first()[0] == 3.0
    table.delete([2])
    assert session.table("seen").columns == ["id", "city", "fare", "ts"]
    counts = "SELECT (SELECT count(*) FROM seen), (SELECT count(*) FROM then)"
    assert tuple(session.sql(counts).first()) == (1, 2)
    view.drop()
    with pytest.raises(Exception, match="seen"):
        session.sql("SELECT * FROM seen")
