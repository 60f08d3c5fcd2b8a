"""A client of Spark Connect with a server of its own (the argument: an empty folder): what classic sessions do works."""

from __future__ import annotations

import sys
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import ConfigError, EngineError
from hoodoo_spark import session, stream
from hoodoo_spark.engine import SparkEngine
from hoodoo_spark.streaming import sink
from pyspark.sql import SparkSession
from pyspark.sql.functions import col


def statements(spark: Any, table: hoodoo.Table, ids: list[int]) -> None:
    """By predicate, on Spark's engine; ``ids`` are in the table."""
    assert table.update({"fare": "7"}, where="id >= 200", engine="spark").updated == len(
        [n for n in ids if n >= 200]
    )
    news = spark.createDataFrame([(ids[0], 70.0), (5000, 71.0)], "id long, fare double")
    commit = (
        table.merge(news, on="id")
        .when_matched_update({"fare": "source.fare"})
        .when_not_matched_insert(
            {"id": "source.id", "city": "'c1'", "fare": "source.fare", "ts": "9"}
        )
        .execute()
    )
    assert (commit.updated, commit.inserted) == (1, 1)
    hoodoo.sql("DELETE FROM t WHERE id = 5000", {"t": table}, spark=spark)
    found = hoodoo.sql("SELECT count(*) AS n, max(fare) AS m FROM t", {"t": table}, spark=spark)
    assert tuple(found.first()) == (len(ids), 99.5)
    try:
        table.delete(where=col("fare") > 1000)
    except ConfigError as error:
        assert "Spark Connect" in str(error)
    else:
        raise AssertionError("no error")
    since = table.timeline().writes()[-2].requested
    ops = [row.op for row in table.changes(since).to_spark(spark).collect()]
    assert ops == ["delete"]
    assert table.incremental(since).to_spark(spark).count() == 0


def writes(spark: Any, table: hoodoo.Table, rides: Any) -> None:
    """By the data source, and views."""
    view = hoodoo.spark_view("rides", table, spark)
    before = spark.sql("SELECT count(*) FROM rides").first()[0]
    some = rides.where("id < 10").selectExpr("id + 7000 AS id", "city", "1D AS fare", "3L AS ts")
    some.write.format("hoodoo").mode("append").save(table.path)
    session._parallelism.clear()  # asked for by SQL, while the view is made again
    assert spark.sql("SELECT count(*) FROM rides").first()[0] == before + 10
    kinds = {"hoodie.datasource.write.operation": "delete"}
    some.write.format("hoodoo").options(**kinds).mode("append").save(table.path)
    some.where("city = 'c1'").write.format("hoodoo").option("operation", "insert_overwrite").mode(
        "append"
    ).save(table.path)
    assert table.read(["id"], pc.field("city") == "c1").count() == some.where("city = 'c1'").count()
    spark.sql(
        f"CREATE TABLE of_catalog USING hoodoo LOCATION '{table.path.removeprefix('file://')}'"
    )
    spark.sql(
        "INSERT INTO of_catalog SELECT id + 10000, city, fare, ts FROM of_catalog WHERE id > 6999"
    )
    assert spark.sql("SELECT count(*) FROM of_catalog WHERE id > 16999").first()[0] > 0
    spark.sql("DROP TABLE of_catalog")
    view.drop()


def hidden(spark: Any, home: str) -> None:
    """Partition paths that Spark's listing passes over; the server reads the log of files, and does without."""
    paths = ["a", "a/_b", "a/.c", "_d"]
    rows = pa.table({"id": [*range(4)], "p": paths})
    table = hoodoo.create(f"{home}/hidden", rows.schema, record_key="id", partition_by="p")
    table.upsert(rows)
    frame = table.read().to_spark(spark)
    ignores = "spark.sql.streaming.fileStreamSink.ignoreMetadata"
    for setting in ("false", "true"):
        spark.conf.set(ignores, setting)
        found = table.read().to_spark(spark)
        assert sorted(row["p"] for row in found.collect()) == sorted(paths), setting
        assert found.where("id = 1").count() == 1
    try:  # of a frame made while the server read logs, which it may read again for each query
        count = frame.count()
    except Exception as error:
        assert ignores in str(error), error
    else:
        assert count == len(paths)
    spark.conf.set(ignores, "false")
    assert frame.count() == len(paths)


def main(home: str) -> None:
    spark = (
        SparkSession.builder.remote("local[2]")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    hidden(spark, home)
    rides = spark.range(300).selectExpr(
        "id", "CONCAT('c', id % 3) AS city", "id * 0.5D AS fare", "1L AS ts"
    )
    assert ".connect." in type(rides).__module__
    for number, (kind, index) in enumerate(
        (("COPY_ON_WRITE", None), ("MERGE_ON_READ", "record_index"))
    ):
        path = f"{home}/{kind}"
        table = hoodoo.create(
            path, rides.schema, record_key="id", partition_by="city", ordering="ts", table_type=kind, index=index
        )  # fmt: skip
        assert table.insert(rides).inserted == 300
        newer = rides.where("id < 50").selectExpr("id", "city", "-1D AS fare", "2L AS ts")
        assert table.upsert(newer).updated == 50
        if number:  # as if the payloads were many: they travel as rows
            stream.ENCLOSED_BYTES = 0
        more = pa.table({"id": [900, 901], "city": ["c0", "c1"], "fare": [1.0, 2.0], "ts": [1, 1]})
        assert table.upsert(more, engine="spark").inserted == 2
        assert table.delete(rides.where("id < 20").select("id")).deleted == 20
        scan = table.read(columns=["id", "fare"])
        expected = sorted(scan.to_arrow()["id"].to_pylist())
        for wanted in (scan, table.read(columns=["id", "fare"], where=pc.field("id") >= 0)):
            found = wanted.to_spark(spark)
            assert found.where("fare < 0").count() == 30
            assert sorted(row["id"] for row in found.collect()) == expected
        source = spark.read.format("hoodoo").load(path)
        assert sorted(row["id"] for row in source.collect()) == expected
        source.limit(5).write.format("hoodoo").mode("append").save(path)
        statements(spark, table, expected)
        writes(spark, table, rides)
    out = f"{home}/out"
    query = (
        spark.readStream.format("hoodoo")
        .load(f"{home}/COPY_ON_WRITE")
        .writeStream.format("hoodoo")
        .option("hoodie.datasource.write.recordkey.field", "id")
        .option("checkpointLocation", f"{home}/checkpoint")
        .trigger(availableNow=True)
        .start(out)
    )
    query.awaitTermination()
    assert hoodoo.open(out).read().count() == hoodoo.open(f"{home}/COPY_ON_WRITE").read().count()
    for call in (SparkEngine(spark).meter, lambda: sink(out)(rides, 1)):
        try:
            call()
        except EngineError as error:
            assert "Spark Connect" in str(error)
        else:
            raise AssertionError("no error")
    print("connected")


if __name__ == "__main__":
    main(sys.argv[1])
