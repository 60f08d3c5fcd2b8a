"""Statements on Spark: DataFrames as sources, Columns as conditions; tasks compute them where they read files."""

from __future__ import annotations

import datetime as dt
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, DataError, SchemaError

sys.path.append(str(Path(__file__).parents[2] / "plugins/statements/tests"))
from statement_trial import TABLE_TYPES, Trial

pytestmark = pytest.mark.spark

SCHEMA = pa.schema(
    [("id", pa.int64()), ("city", pa.string()), ("fare", pa.float64()), ("n", pa.int32())]
)


def stored(table: Any) -> list[tuple[Any, ...]]:
    found = table.read(["id", "city", "fare"]).to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in found)


@pytest.mark.sampled(2, among="long, on Spark")
def test_tables_of_sparks_catalog_are_changed(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    table = hoodoo.create(path, [{"id": 1, "v": 1.0}, {"id": 2, "v": 2.0}], record_key="id")
    spark.sql(f"CREATE TABLE listed USING hoodoo LOCATION '{path}'")
    spark.sql(f"CREATE TABLE older USING hoodoo OPTIONS (as_of '1') LOCATION '{path}'")
    session = hoodoo.session(spark)
    try:
        assert session.sql("UPDATE listed SET v = 5 WHERE id = 1").commit.updated == 1
        assert session.sql("DELETE FROM default.listed WHERE id = 2").commit.deleted == 1
        assert session.sql("SELECT * FROM listed").to_pylist() == [{"id": 1, "v": 5.0}]
        assert session.sql("SELECT * FROM listed VERSION AS OF 1").count() == 2
        assert session.sql("CALL show_commits(table => 'listed')").count() == 3
        assert session.sql("SELECT count(*) AS n FROM older").to_pylist() == [{"n": 2}]
        with pytest.raises(ConfigError, match=r'tables=\{"older": hoodoo\.open\(path\)\}'):
            session.sql("DELETE FROM older")
    finally:
        spark.sql("DROP TABLE listed")
        spark.sql("DROP TABLE older")
    assert table.count() == 1


@pytest.mark.sampled(2, among="long, on Spark")
def test_statements_on_spark(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as F

    table = hoodoo.create(
        str(tmp_path / "t"),
        SCHEMA,
        record_key="id",
        partition_by="city",
        table_type="MERGE_ON_READ",
    )
    table.upsert(
        [{"id": i, "city": ("oslo", "rome")[i % 2], "fare": float(i), "n": i} for i in range(6)]
    )
    source = spark.createDataFrame(
        [(1, "rome", -1.0, 0), (2, "oslo", 20.0, 0), (9, "kyiv", 9.0, 0)],
        "id long, city string, fare double, n int",
    )
    commit = (
        table.merge(source, on="target.id = source.id")
        .when_matched_delete("source.fare < 0")
        .when_matched_update({"fare": F.col("source.fare") + F.col("target.fare")})
        .when_not_matched_insert_all()
        .execute()
    )
    assert (commit.inserted, commit.updated, commit.deleted) == (1, 1, 1)
    where = (F.col("fare") > 3) & ~F.col("city").isin("kyiv", "rome")
    assert (
        table.update({"fare": F.col("fare") * 2, "city": F.lit("bonn")}, where=where).updated == 2
    )
    assert stored(table) == [
        (0, "oslo", 0.0), (2, "bonn", 44.0), (3, "rome", 3.0), (4, "bonn", 8.0), (5, "rome", 5.0), (9, "kyiv", 9.0),
    ]  # fmt: skip
    names = {"t": table, "s": source}
    assert (
        hoodoo.sql("DELETE FROM t WHERE city = 'rome' AND fare < 4", names, spark=spark).deleted
        == 1
    )
    found = hoodoo.sql(
        "SELECT t.city, s.fare, '{}' AS b FROM t JOIN s ON t.id = s.id ORDER BY 1",
        names,
        spark=spark,
    )
    assert [tuple(row) for row in found.collect()] == [("bonn", 20.0, "{}"), ("kyiv", 9.0, "{}")]
    assert hoodoo.sql("SELECT '{x}' AS b", names, spark=spark).first().b == "{x}"
    table.alter(add={"tip": "double"}, widen={"n": "bigint"})
    table.update({"tip": F.lit(0.5)}, where="id = 0")
    found = table.read(["id", "n", "tip"]).to_spark(spark).where("id in (0, 5)").orderBy("id")
    assert [tuple(row) for row in found.collect()] == [(0, 0, 0.5), (5, 5, None)]
    added = "ALTER TABLE t ADD COLUMNS (stops ARRAY<STRUCT<x: INT>>)"
    assert hoodoo.sql(added, names, spark=spark).instant
    frame = spark.sql("SELECT 7L AS id, 'oslo' AS city, array(named_struct('x', 3)) AS stops")
    values = {name: f"source.{name}" for name in frame.columns}
    table.merge(frame, on="id").when_not_matched_insert(values).execute()
    hoodoo.sql("ALTER TABLE t ADD COLUMN stops.element.y BIGINT", names, spark=spark)
    hoodoo.sql("ALTER TABLE t ALTER COLUMN stops.element.x TYPE DOUBLE", names, spark=spark)
    found = table.read(["id", "stops"]).to_spark(spark).where("id in (0, 7)").orderBy("id")
    assert [tuple(row) for row in found.collect()] == [(0, None), (7, [(3.0, None)])]
    with pytest.raises(DataError, match="more than one row of the source"):
        table.merge(source.union(source), on="id").when_matched_update({"fare": "1"}).execute()
    with pytest.raises(ConfigError, match="function of Python"):
        table.delete(where=F.udf(lambda x: True, "boolean")(F.col("id")))


@pytest.mark.sampled(1, among="long")
def test_a_column_that_the_zone_of_the_session_decides_on(spark: Any, tmp_path: Path) -> None:
    """Statements are in UTC: in another zone the Column means other rows."""
    from pyspark.sql import functions as F

    at = dt.datetime(2024, 3, 30, 23, tzinfo=dt.timezone.utc)
    rows = pa.table(
        {"id": [1, 2], "at": pa.array([at, at], pa.timestamp("us", "UTC")), "day": [at.date()] * 2}
    )
    table = hoodoo.create(str(tmp_path / "t"), rows.schema, record_key="id")
    table.insert(rows)
    early = F.expr("at > '2024-03-30 21:00:00'")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        for where in (early, F.to_date("at") == F.col("day"), F.expr("cast(at as string) > 'a'")):
            with pytest.raises(ConfigError, match="America/New_York, in .*UTC"):
                table.delete(where=where)
        plain = (F.col("day") == "2024-03-30") & (F.col("id") == "1")  # no zone in it
        assert table.delete(where=plain).deleted == 1
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert table.delete(where=early).deleted == 1


@pytest.mark.sampled(1, among="long")
def test_numbers_of_an_insert_on_spark_become_those_of_the_columns(
    spark: Any, tmp_path: Path
) -> None:
    """1.5 is a decimal(2,1) for Spark."""
    schema = pa.schema(
        [("id", pa.int64()), ("fare", pa.float64()), ("small", pa.float32()), ("cost", pa.decimal128(6, 2))]
    )  # fmt: skip
    names = {"t": hoodoo.create(str(tmp_path / "t"), schema, record_key="id")}
    for text in (
        "INSERT INTO t VALUES (1, 1.5, 0.25, 7), (2, null, null, 1234.567)",
        "INSERT INTO t (cost, id) SELECT 9.5, 3L",
    ):
        hoodoo.sql(text, names, spark=spark)
    found = names["t"].read().to_arrow().sort_by("id").to_pylist()
    assert [tuple(row.values()) for row in found] == [
        (1, 1.5, 0.25, Decimal("7.00")), (2, None, None, Decimal("1234.57")), (3, None, None, Decimal("9.50")),
    ]  # fmt: skip
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        with pytest.raises(Exception, match="column cost: a value does not fit"):
            hoodoo.sql("INSERT INTO t (id, cost) VALUES (4, 12345.5)", names, spark=spark)
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    assert names["t"].read().count() == 3


def test_rows_in_a_query_on_spark_have_their_types(spark: Any) -> None:
    rows = pa.table(
        {
            "id": pa.array([1, 2], pa.int32()),
            "cost": pa.array([Decimal("1.25"), None], pa.decimal128(10, 2)),
            "place": [{"lat": 1.5, "name": "x"}, None],
            "note": pa.array([None, None], pa.string()),
            "naive": pa.array([dt.datetime(1500, 1, 1, 12), None], pa.timestamp("us")),
            "kind": pa.array(["a", None]).dictionary_encode(),
            "tags": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
            "size": pa.array([1, None], pa.uint32()),
        }
    )
    text = "SELECT *, place.name AS called FROM new"
    found = hoodoo.sql(text, {"new": rows}, spark=spark)
    assert [kind for _name, kind in found.dtypes] == [
        "int", "decimal(10,2)", "struct<lat:double,name:string>", "string", "timestamp_ntz", "string",
        "map<string,bigint>", "bigint", "string",
    ]  # fmt: skip
    first, second = sorted(found.collect())
    assert tuple(first) == (
        1, Decimal("1.25"), (1.5, "x"), None, dt.datetime(1500, 1, 1, 12), "a", {"k": 1}, 1, "x",
    )  # fmt: skip
    assert tuple(second) == (2, *[None] * 8)
    assert hoodoo.sql(text, {"new": rows.slice(0, 0)}, spark=spark).collect() == []
    with pytest.raises(SchemaError, match="type that Spark lacks"):
        odd = pa.table({"a": pa.array([None], pa.time32("s"))})
        hoodoo.sql("SELECT * FROM new", {"new": odd}, spark=spark)


# Of each type of table; with as many statements in each as a trial has they are 500.
SEEDS = 50


@pytest.mark.sampled
@pytest.mark.parametrize("table_type", TABLE_TYPES)
def test_some_random_statements_on_spark(spark: Any, tmp_path: Path, table_type: str) -> None:
    Trial(64, tmp_path / "t", spark, 2, table_type).run()


@pytest.mark.trial
@pytest.mark.parametrize("table_type", TABLE_TYPES)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_statements_on_spark(spark: Any, tmp_path: Path, seed: int, table_type: str) -> None:
    Trial(seed, tmp_path / "t", spark, table_type=table_type).run()


def test_a_read_takes_a_column_of_spark(tmp_path: Path, spark: Any) -> None:
    from pyspark.sql import functions as F

    schema = pa.schema([("ride", pa.int64()), ("city", pa.string()), ("fare", pa.float64())])
    made = hoodoo.create(str(tmp_path / "t"), schema, record_key="ride")
    made.insert(pa.table([[1, 2, 3], ["oslo", "rome", "oslo"], [1.0, 9.0, 12.5]], schema=schema))
    asked = (F.col("city") == "oslo") & (F.col("fare") > 10)
    assert made.read(["ride"], where=asked).to_pylist() == [{"ride": 3}]
    assert [
        r.ride for r in made.read(["ride"], where=F.col("ride") < 2.5).to_spark(spark).collect()
    ] == [1, 2]


@pytest.mark.sampled(2, among="long, on Spark")
def test_short_forms_take_data_frames(tmp_path: Path, spark: Any) -> None:
    path = str(tmp_path / "short")
    made = hoodoo.create(path, spark.range(5).selectExpr("id", "id * 2 AS v"), record_key="id")
    assert made.count() == 5
    commit = hoodoo.write(path, spark.range(3, 8).selectExpr("id", "id * 3 AS v"), record_key="id")
    assert (commit.inserted, commit.updated) == (3, 2)
    for number, count in (("1", 5), ("-1", 8)):
        frame = spark.read.format("hoodoo").option("as_of", number).load(path)
        assert frame.count() == made.count(as_of=int(number)) == count


@pytest.mark.sampled(1, among="long")
def test_a_session_of_sql(spark: Any, tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id", partition_by="city")
    table.upsert(
        [{"id": i, "city": ("oslo", "rome")[i % 2], "fare": i / 1, "n": i} for i in range(6)]
    )
    lake = hoodoo.catalog(str(tmp_path / "lake"))
    made = lake.create("db.c", {"city": "string", "of": "string"}, record_key="city")
    made.upsert([{"city": "oslo", "of": "no"}, {"city": "rome", "of": "it"}])
    spark.createDataFrame([(1, 10.0), (9, 90.0)], "id long, fare double").createOrReplaceTempView(
        "more"
    )
    before = {t.name for t in spark.catalog.listTables()}
    session = hoodoo.session(spark, lake, {"t": str(tmp_path / "t")})
    changed = session.sql(
        "MERGE INTO t USING more ON t.id = more.id WHEN MATCHED THEN UPDATE SET fare = more.fare "
        "WHEN NOT MATCHED THEN INSERT (id, city, fare) VALUES (more.id, :city, more.fare)",
        {"city": "oslo"},
    )
    assert (changed.commit.updated, changed.commit.inserted) == (1, 1)
    found = session.sql(
        "SELECT of, sum(t.fare) AS fare, max(m.fare) AS more FROM t JOIN db.c c USING (city) "
        "LEFT JOIN more m ON m.id = t.id WHERE t.id > ? GROUP BY of ORDER BY of",
        [0],
    )
    assert found.to_spark().columns == ["of", "fare", "more"]
    rows = [{"of": "it", "fare": 18.0, "more": 10.0}, {"of": "no", "fare": 96.0, "more": 90.0}]
    assert found.to_pylist() == rows and pa.table(found).num_rows == found.count() == 2
    old = session.sql(
        "SELECT count(*) AS n FROM t VERSION AS OF 1 WHERE fare < 10 AND id = :id", {"id": 1}
    )
    assert old.to_pylist() == [{"n": 1}]
    assert session.sql("SELECT * FROM t WHERE _hoodie_record_key = '1'").to_pylist() == [
        {"id": 1, "city": "rome", "fare": 10.0, "n": 1}
    ]
    done = session.sql("DELETE FROM t WHERE id IN (SELECT id FROM more WHERE id > 5)").commit
    assert (done.operation, done.deleted) == ("delete", 1)
    session.sql(
        "UPDATE t SET n = (SELECT max(id) FROM more), fare = fare + 1 "
        "WHERE EXISTS (SELECT 1 FROM more m WHERE m.id = t.id)"
    )
    found = session.sql("SELECT id, n, fare FROM t WHERE id < 3 ORDER BY id").to_arrow()
    assert [tuple(row.values()) for row in found.to_pylist()] == [
        (0, 0, 0.0), (1, 9, 11.0), (2, 2, 2.0),
    ]  # fmt: skip
    assert {t.name for t in spark.catalog.listTables()} == before
    with pytest.raises(ConfigError, match="not among the tables of the session"):
        session.sql("SELECT * FROM nowhere")


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_spark_itself_reads_the_files_of_a_query_with_a_filter(
    spark: Any, tmp_path: Path, kind: str
) -> None:
    table = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, record_key="id", partition_by="city", table_type=kind
    )
    table.insert([{"id": i, "city": ("oslo", "rome")[i % 2], "fare": i / 1} for i in range(40)])
    session = hoodoo.session(spark, tables={"t": table})

    def plan(text: str) -> tuple[str, list[Any]]:
        frame = session.sql(text).to_spark()
        rows = sorted(tuple(row) for row in frame.collect())
        return str(frame._jdf.queryExecution().optimizedPlan().toString()), rows

    def size(columns: str) -> int:
        frame = session.sql(f"SELECT {columns} FROM t").to_spark()
        found = frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()
        return int(str(found))

    few = "SELECT id FROM t WHERE city = 'oslo' AND fare > 35"
    text, rows = plan(few)
    assert "parquet" in text and "MapInArrow" not in text and rows == [(36,), (38,)]
    assert len(session.sql(few).to_spark().inputFiles()) == 1  # the filter leaves files out
    # Spark knows of how many bytes few columns are: it chooses joins by that.
    assert 0 < size("id") < size("id, fare") < size("*")
    table.upsert([{"id": 36, "city": "oslo", "fare": 1.0}])
    text, rows = plan(few)
    assert rows == [(38,)] and ("MapInArrow" in text) == (kind == "mor")


@pytest.mark.sampled(1, among="long")
def test_a_session_on_spark_creates_tables_and_runs_services(spark: Any, tmp_path: Path) -> None:
    session = hoodoo.session(spark, str(tmp_path / "lake"))
    session.sql(
        "CREATE TABLE db.trips (id BIGINT, fare DECIMAL(9, 2), city STRING) USING hudi PARTITIONED BY (city) "
        "TBLPROPERTIES (primaryKey = 'id', type = 'mor')"
    )
    session.sql(
        "INSERT INTO db.trips SELECT id, id + 0.5, if(id % 2 = 0, 'oslo', 'rome') FROM range(6)"
    )
    session.sql("UPDATE db.trips SET fare = fare * 2 WHERE city = 'rome'")
    session.sql(
        "CREATE TABLE dear USING hudi PARTITIONED BY (city) TBLPROPERTIES (primaryKey = 'id') "
        "AS SELECT city, id, round(fare) AS fare FROM db.trips WHERE fare > :least",
        {"least": 3},
    )
    assert session.table("dear").schema.names == ["id", "fare", "city"]
    rows = session.sql("SELECT id, CAST(fare AS INT) AS fare FROM dear ORDER BY id").to_pylist()
    assert rows == [{"id": 3, "fare": 7}, {"id": 4, "fare": 5}, {"id": 5, "fare": 11}]
    done = session.sql("CALL run_compaction(op => 'run', table => 'db.trips')").to_pylist()
    assert [(row["operation_size"], row["state"]) for row in done] == [(1, "COMPLETED")]
    assert session.sql("SHOW TABLES").to_spark(spark).count() == 2
    old = session.sql("SELECT max(fare) AS best FROM db.trips TIMESTAMP AS OF '2020-01-01'")
    assert old.to_pylist() == [{"best": None}]


@pytest.mark.sampled(1, among="long")
def test_partitions_and_functions_of_a_session_on_spark(spark: Any, tmp_path: Path) -> None:
    session = hoodoo.session(spark, str(tmp_path / "lake"))
    session.sql(
        "CREATE TABLE trips (id BIGINT, fare DOUBLE, city STRING) USING hudi "
        "PARTITIONED BY (city) TBLPROPERTIES (primaryKey = 'id')"
    )

    def rows() -> list[tuple[Any, ...]]:
        found = session.sql("SELECT id, city FROM trips ORDER BY id").to_pylist()
        return [tuple(row.values()) for row in found]

    session.sql("INSERT INTO trips PARTITION (city = 'oslo') SELECT id, 1.5 FROM range(2)")
    session.sql("INSERT INTO trips PARTITION (city) SELECT 2, 2.5, 'rome'")
    session.sql("INSERT OVERWRITE trips PARTITION (city = 'oslo') SELECT 3, 1.5")
    assert rows() == [(2, "rome"), (3, "oslo")]
    session.sql("INSERT OVERWRITE trips PARTITION (city = 'oslo') SELECT 3, 1.5 WHERE false")
    assert rows() == [(2, "rome")]
    key = "spark.sql.sources.partitionOverwriteMode"
    spark.conf.set(key, "dynamic")
    try:
        session.sql("INSERT OVERWRITE trips SELECT 4, 4.5, 'bonn'")
    finally:
        spark.conf.unset(key)
    assert rows() == [(2, "rome"), (4, "bonn")]
    session.sql("INSERT OVERWRITE trips SELECT 5, 5.5, 'bonn'")
    assert rows() == [(5, "bonn")]
    text = (
        "SELECT op, count(*) AS n FROM hudi_table_changes('trips', 'cdc', 'earliest') GROUP BY op"
    )
    assert {row["op"] for row in session.sql(text).to_pylist()} == {"i", "d"}
    text = "CALL show_timeline(table => 'trips', filter => \"action = 'replacecommit'\")"
    assert session.sql(text).count() == 4
