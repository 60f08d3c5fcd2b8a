"""The data source in Spark: found without a word, read, written, in SQL, and at both ends of streams."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import HoodooError

pytest.importorskip("pyspark.sql.datasource")
pytestmark = [pytest.mark.spark, pytest.mark.sampled(2, among="data source in Spark")]

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


def test_errors_begin_with_one_sentence(spark: Any, tmp_path: Path) -> None:
    """Without Python's traceback, which Spark shows for the errors of other sources."""
    path = str(tmp_path / "t")
    rides = spark.range(3).selectExpr(*COLUMNS)
    rides.write.format("hoodoo").options(**KEYS).mode("append").save(path)
    spark.sql(f"CREATE TABLE altered USING hoodoo LOCATION '{path}'")
    spark.sql("ALTER TABLE altered ADD COLUMN tip DOUBLE")
    one = rides.write.format("hoodoo").mode("append")
    try:
        for said, call in {
            "there is no .hoodie directory": lambda: load(spark, f"{path}/nowhere").count(),
            "Did you mean as_of": lambda: load(spark, path, as_off="1").count(),
            "is one of reads": lambda: one.option("columns", "id").save(path),
            "changes the entry alone": lambda: spark.sql("SELECT * FROM altered").collect(),
        }.items():
            with pytest.raises(Exception, match=said) as caught:
                call()
            lines = str(caught.value).splitlines()
            assert said in lines[0] and "Traceback" not in str(caught.value), lines[:5]
    finally:
        spark.sql("DROP TABLE altered")


def test_what_spark_does_not_pass_on(spark: Any, tmp_path: Path) -> None:
    """What the page on the source says can't be refused, because Spark asks no source. Where a new version of Spark
    makes this test fail, it can be."""
    path, other = str(tmp_path / "t"), str(tmp_path / "other")
    for rows, where in ((3, path), (5, other)):
        rides = spark.range(rows).selectExpr(*COLUMNS)
        rides.write.format("hoodoo").options(**KEYS).mode("append").save(where)
    spark.sql(f"CREATE TABLE columns (id BIGINT) USING hoodoo LOCATION '{tmp_path / 'none'}'")
    spark.sql(f"CREATE TABLE moved USING hoodoo LOCATION '{path}'")
    try:
        with pytest.raises(
            Exception, match=r"was given no path.*columns of its own.*make the table first"
        ):
            spark.sql("SELECT * FROM columns").collect()
        spark.sql(f"ALTER TABLE moved SET LOCATION '{other}'")
        assert spark.sql("SELECT count(*) FROM moved").first()[0] == 3
        with pytest.raises(Exception, match="was given no path"):
            rides.write.format("hoodoo").options(**KEYS).mode("overwrite").saveAsTable("moved")
        assert not spark.catalog.tableExists("moved")
    finally:
        for name in ("columns", "moved"):
            spark.sql(f"DROP TABLE IF EXISTS {name}")
    assert hoodoo.open(path).read().count() == 3
    stream = spark.readStream.format("hoodoo").load(path).writeStream.format("hoodoo")
    stream = stream.options(**KEYS, checkpointLocation=str(tmp_path / "checkpoint"))
    query = stream.partitionBy("ts").trigger(availableNow=True).start(str(tmp_path / "copy"))
    query.awaitTermination()
    copy = hoodoo.open(str(tmp_path / "copy"))
    assert copy.read().count() == 3 and copy.config.partition_fields == ("city",)


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


def test_sql_writes_into_the_table_that_it_names(spark: Any, tmp_path: Path) -> None:
    """Where columns come with the names and types of the table, Spark hands on what it knows of the table read."""
    spark.sql("SELECT 7L AS id, 'c1' AS city, 1D AS fare, 1L AS ts").createOrReplaceTempView(
        "plain"
    )
    texts = pa.table({"id": [1, 2], "city": ["c1", "c2"], "fare": [1.0, 2.0], "ts": [1, 1]})
    for name, rows in (("one", texts), ("other", texts), ("bare", texts.select(["id", "ts"]))):
        table = hoodoo.create(str(tmp_path / name), rows.schema, record_key="id")
        table.insert(rows)
        spark.sql(f"CREATE TABLE {name} USING hoodoo LOCATION '{tmp_path / name}'")
    hoodoo.create(str(tmp_path / "bare2"), rows.schema, record_key="id")
    spark.sql(f"CREATE TABLE bare2 USING hoodoo LOCATION '{tmp_path / 'bare2'}'")

    def ids(name: str) -> list[int]:
        return sorted(hoodoo.open(str(tmp_path / name)).read(["id"]).to_arrow()["id"].to_pylist())

    try:
        spark.sql("INSERT OVERWRITE one SELECT * FROM other WHERE id = 2")
        assert (ids("one"), ids("other")) == ([2], [1, 2])
        spark.sql("INSERT INTO one SELECT * FROM plain")
        spark.sql(
            "INSERT INTO one SELECT a.id + 9 AS id, a.city, a.fare, b.ts FROM other a JOIN one b USING (id)"
        )
        assert (ids("one"), ids("other")) == ([2, 7, 11], [1, 2])
        spark.sql("INSERT OVERWRITE one SELECT * FROM one WHERE id > 2")
        assert ids("one") == [7, 11]
        with pytest.raises(Exception, match="is not said by Spark"):
            spark.sql("INSERT INTO bare2 SELECT * FROM bare")
        spark.sql("INSERT INTO bare2 SELECT id + 1, ts FROM bare")
        assert (ids("bare"), ids("bare2")) == ([1, 2], [2, 3])
        said = f"WITH ('path' = '{tmp_path / 'bare2'}')"
        spark.sql(f"INSERT OVERWRITE bare2 {said} SELECT * FROM bare")
        assert (ids("bare"), ids("bare2")) == ([1, 2], [1, 2])
    finally:
        for name in ("one", "other", "bare", "bare2"):
            spark.sql(f"DROP TABLE IF EXISTS {name}")


def test_sql_writes_into_no_table_that_it_only_reads(spark: Any, tmp_path: Path) -> None:
    rows = pa.table({"id": [1, 2], "city": ["c1", "c2"], "ts": [1, 1]})
    path = str(tmp_path / "t")
    hoodoo.create(path, rows.schema, record_key="id").insert(rows)
    spark.sql(f"CREATE TABLE kept USING hoodoo LOCATION '{path}'")
    spark.sql(f"CREATE TABLE gone USING hoodoo OPTIONS (operation 'delete') LOCATION '{path}'")

    def ids() -> list[int]:
        return sorted(hoodoo.open(path).read(["id"]).to_arrow()["id"].to_pylist())

    more = "SELECT id + 10 AS id, city, ts FROM kept"
    try:
        with pytest.raises(Exception, match="meant for another one"):
            spark.sql(f"CREATE TABLE fresh USING hoodoo AS {more}")
        with pytest.raises(Exception, match="meant for another one"):
            spark.sql(more).write.format("hoodoo").mode("append").save()
        with pytest.raises(Exception, match="meant for another one"):
            spark.sql(f"INSERT INTO kept {more}")
        assert ids() == [1, 2]
        spark.sql(f"INSERT INTO kept WITH ('path' = '{path}') {more}")
        assert ids() == [1, 2, 11, 12]
        # The same table with other options is another one.
        spark.sql("INSERT INTO gone SELECT * FROM kept WHERE id > 10")
        assert ids() == [1, 2]
        spark.sql("INSERT INTO kept SELECT * FROM gone")
        assert ids() == [1, 2]
        # Options of a statement are not passed over.
        spark.sql("INSERT INTO kept WITH ('operation' = 'delete') SELECT 2L, 'c2', 1L")
        assert ids() == [1]
        with pytest.raises(Exception, match="operatoin"):
            spark.sql("INSERT INTO kept WITH ('operatoin' = 'delete') SELECT 1L, 'c1', 1L")
        with pytest.raises(Exception, match="another format"):
            spark.sql("INSERT OVERWRITE kept WITH ('replaceWhere' = 'id = 2') SELECT 2L, 'c2', 1L")
        with pytest.raises(Exception, match="as_off"):
            spark.read.option("as_off", "1").table("kept").collect()
        assert ids() == [1]
        then = hoodoo.open(path).timeline().writes()[0].requested
        found = spark.sql(f"SELECT id FROM kept WITH ('as_of' = '{then}') ORDER BY id")
        assert [row["id"] for row in found.collect()] == [1, 2]
    finally:
        for name in ("kept", "gone", "fresh"):
            spark.sql(f"DROP TABLE IF EXISTS {name}")


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


def test_a_view_is_made_again_by_tasks_and_stands_in_no_others_way(
    spark: Any, tmp_path: Path
) -> None:
    session = spark.newSession()
    rows = pa.table({"id": [1, 2], "ts": [1, 1]})
    table = hoodoo.create(
        str(tmp_path / "t"), rows.schema, record_key="id", table_type="MERGE_ON_READ"
    )
    table.insert(rows)
    view = hoodoo.spark_view("logged", table, session)
    table.upsert(
        rows.slice(1).set_column(1, "ts", pa.array([9]))
    )  # a log file, which one task reads
    assert session.sql("SELECT max(ts) FROM logged").first()[0] == 9
    other = hoodoo.create(
        str(tmp_path / "u"), rows.schema, record_key="id", options={"hoodoo.spark.small.bytes": "0"}
    )
    shutil.rmtree(tmp_path / "t")
    assert other.upsert(session.createDataFrame([(1, 1)], "id long, ts long")).inserted == 1
    assert other.upsert(session.createDataFrame([(1, 2)], "id long, ts long")).updated == 1
    view.drop()


def test_a_view_that_can_not_be_refreshed_ends_no_other_statement(
    spark: Any, tmp_path: Path
) -> None:
    session, schema = spark.newSession(), pa.schema([("id", pa.int64()), ("p", pa.string())])
    tables = {}
    for name in ("bad", "good"):
        tables[name] = hoodoo.create(
            str(tmp_path / name), schema, record_key="id", partition_by="p"
        )
        tables[name].upsert([{"id": 1, "p": "x"}])
        hoodoo.spark_view(name, tables[name], session)
    (file,) = (tmp_path / "bad/x").glob("*.parquet")
    rows = file.read_bytes()
    file.unlink()
    tables["bad"].upsert([{"id": 2, "p": "y"}])
    assert session.sql("SELECT 1").first()[0] == 1
    for number in (1, 2):
        tables["good"].upsert([{"id": number, "p": "x"}])
        assert session.sql("SELECT count(*) FROM good").first()[0] == number
        for statement in ("SELECT count(*) FROM bad", "SELECT 1 FROM good JOIN bad USING (id)"):
            with pytest.raises(HoodooError, match=file.name):
                session.sql(statement).collect()
    with pytest.raises(HoodooError, match=file.name):
        session.table("bad")
    with pytest.raises(Exception, match=file.name):
        session.sql("CACHE TABLE of_bad AS SELECT * FROM bad")
    file.write_bytes(rows)
    assert session.sql("SELECT count(*) FROM bad").first()[0] == 2


def test_a_view_of_one_state_stays_as_it_is(spark: Any, tmp_path: Path) -> None:
    """Also where the table has got a column since, which that state lacks."""
    session, schema = spark.newSession(), pa.schema([("id", pa.int64()), ("v", pa.int64())])
    table = hoodoo.create(str(tmp_path / "t"), schema, record_key="id")
    first = table.upsert([{"id": 1, "v": 1}]).instant
    hoodoo.spark_view("before", table, session, as_of=first)
    table.alter(add={"w": "double"})
    table.upsert([{"id": 2, "v": 2, "w": 2.0}])
    assert [tuple(row) for row in session.sql("SELECT * FROM before").collect()] == [(1, 1)]
    hoodoo.spark_view("again", table, session, as_of=first)
    assert [tuple(row) for row in session.sql("SELECT * FROM again").collect()] == [(1, 1)]


def test_a_view_of_a_deleted_table_stands_in_no_others_way(spark: Any, tmp_path: Path) -> None:
    """It failed each statement of the session; it comes back with the table."""
    session = spark.newSession()
    path = tmp_path / "t"

    def made(number: int) -> None:
        rows = pa.table({"id": pa.array([number], pa.int64())})
        hoodoo.create(str(path), rows.schema, record_key="id").append(rows)

    made(1)
    hoodoo.spark_view("lost", str(path), session)
    shutil.rmtree(path)
    assert session.sql("SELECT 1").first()[0] == 1
    assert session.sql("SELECT 2").first()[0] == 2
    with pytest.raises(Exception, match="lost"):
        session.sql("SELECT * FROM lost")
    made(3)
    assert session.sql("SELECT id FROM lost").first()[0] == 3


def test_a_view_that_was_dropped_by_sql_stays_away(spark: Any, tmp_path: Path) -> None:
    session = spark.newSession()
    rows = pa.table({"id": [1, 2], "ts": [1, 1]})
    table = hoodoo.create(str(tmp_path / "t"), rows.schema, record_key="id")
    table.insert(rows)
    hoodoo.spark_view("dropped", table, session)
    session.sql("DROP VIEW dropped")
    table.delete([1])
    with pytest.raises(Exception, match="dropped"):
        session.sql("SELECT * FROM dropped")
    old = hoodoo.spark_view("dropped", table, session)
    hoodoo.spark_view("dropped", table, session)
    old.drop()  # there is another one of that name
    table.delete([2])
    assert session.sql("SELECT count(*) FROM dropped").first()[0] == 0
    shutil.rmtree(tmp_path / "t")
    session.catalog.dropTempView("dropped")
    assert session.sql("SELECT 1").first()[0] == 1
