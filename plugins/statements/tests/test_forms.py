"""Statements as the pages of Spark, Delta Lake, Iceberg and Flink spell them: they work, or the error
says what to write in their place, and that works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import ConfigError, HoodooError, SchemaError

ROWS = [{"id": n, "city": ("oslo", "rome")[n % 2], "fare": n * 1.5} for n in range(4)]


@pytest.fixture
def session(tmp_path: Path) -> Any:
    return made(tmp_path)


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A session that nothing changes."""
    return made(tmp_path_factory.mktemp("refusing"))


def made(tmp_path: Path) -> Any:
    schema = {"id": "bigint", "city": "string", "fare": "double"}
    trips = hoodoo.create(tmp_path / "t", schema, record_key="id", partition_by="city")
    trips.upsert(ROWS)
    new = pa.table({"id": [1, 9], "city": ["rome", "oslo"], "fare": [7.0, 9.0]})
    return hoodoo.session(tables={"t": trips, "s": new}, catalogs={"lake": str(tmp_path / "lake")})


def fares(session: Any) -> dict[int, float]:
    return {row["id"]: row["fare"] for row in session.sql("SELECT id, fare FROM t").to_pylist()}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) AS n FROM t; -- the end",
        "-- the begin\n/* of a\nquery */ SELECT count(*) AS n FROM t ; /* the */ -- end\n",
        "SELECT /*+ BROADCAST(x), MERGE(y) */ count(*) AS n FROM t x JOIN t y ON x.id = y.id",
        "SELECT /*+ REPARTITION(3) */ count(*) AS n FROM T",
        "FROM t SELECT count(*) AS n",
    ],
)
def test_comments_and_hints_change_no_rows(refusing: Any, text: str) -> None:
    assert refusing.sql(text).to_pylist() == [{"n": 4}]


def test_a_comment_before_each_kind_of_statement(session: Any) -> None:
    session.sql("-- one\nSET hoodie.keep.max.commits = 40; -- two")
    session.sql("/* one */ CREATE INDEX record_index ON t (id); -- two")
    assert session.sql("-- one\nSHOW CATALOGS").to_pylist() == [{"catalog": "lake"}]
    assert len(session.sql("-- one\nCALL show_commits(table => 't'); -- two").to_pylist()) == 1


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("INSERT INTO t TABLE s", {9: 9.0}),
        ("FROM s INSERT INTO t SELECT * WHERE id > 5", {9: 9.0}),
        ("WITH n AS (SELECT * FROM s) INSERT INTO t SELECT * FROM n WHERE id = 9", {9: 9.0}),
        (
            "WITH s AS (SELECT 9 AS id, 'x' AS city, 9.0 AS fare) FROM s INSERT INTO t SELECT *",
            {9: 9.0},
        ),
        (
            "WITH n AS (SELECT * FROM s) MERGE INTO t USING n ON t.id = n.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
            {1: 7.0, 9: 9.0},
        ),
        (
            "WITH n AS (SELECT * FROM s) MERGE INTO t a USING (SELECT * FROM n WHERE id = 1) AS b "
            "ON a.id = b.id WHEN MATCHED THEN UPDATE SET a.fare = b.fare",
            {1: 7.0},
        ),
        ("WITH n AS (SELECT * FROM s) DELETE FROM t WHERE id IN (SELECT id FROM n)", {1: None}),
        (
            "WITH n AS (SELECT max(fare) AS f FROM s) UPDATE t SET fare = (SELECT f FROM n) "
            "WHERE EXISTS (SELECT 1 FROM n WHERE n.f > t.id) AND id = 2",
            {2: 9.0},
        ),
    ],
)
def test_changes_as_spark_spells_them(session: Any, text: str, changed: dict[int, Any]) -> None:
    wanted = {**{row["id"]: row["fare"] for row in ROWS}, **changed}
    if text.startswith("INSERT INTO t TABLE"):  # an insert does not look for keys that are there
        session.sql("DELETE FROM t WHERE id = 1")
        wanted[1] = 7.0
    session.sql(text)
    assert fares(session) == {key: fare for key, fare in wanted.items() if fare is not None}


def test_rows_of_a_table_as_a_query(refusing: Any) -> None:
    assert refusing.sql("TABLE t").count() == refusing.sql("table `t`;").count() == 4
    shown = refusing.sql("DESC QUERY SELECT 1 AS a, 'x' AS b").to_pylist()
    assert [(row["col_name"], row["data_type"]) for row in shown] == [("a", "int"), ("b", "string")]


def test_databases_and_catalogs(session: Any) -> None:
    for name in ("geo.cities", "geo.rivers", "sales.orders"):
        session.sql(f"CREATE TABLE {name} (id BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'id')")
    shown = [{"namespace": "geo"}, {"namespace": "sales"}]
    assert session.sql("SHOW DATABASES").to_pylist() == shown
    assert session.sql("SHOW SCHEMAS LIKE 'S*'").to_pylist() == shown[1:]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * EXCEPT (fare)",
            "UPDATE SET a",
        ),
        (
            "MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT * EXCEPT (fare)",
            "INSERT .a, b",
        ),
        ("MERGE INTO t USING s ON t.id = s.id", "Say what to do: WHEN MATCHED"),
        (
            "MERGE WITH SCHEMA EVOLUTION INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",
            "ADD COLUMNS",
        ),
        ("INSERT WITH SCHEMA EVOLUTION INTO t SELECT * FROM s", "ADD COLUMNS"),
        ("INSERT INTO t REPLACE WHERE city = 'oslo' SELECT * FROM s", "NOT MATCHED BY SOURCE"),
        ("INSERT INTO t REPLACE USING (id) SELECT * FROM s", "NOT MATCHED BY SOURCE"),
        ("FROM s INSERT INTO t SELECT * INSERT INTO t SELECT *", "for each"),
        (
            "WITH a AS (SELECT 1) MERGE INTO t USING (WITH b AS (SELECT 1) SELECT * FROM b) x ON true "
            "WHEN MATCHED THEN DELETE",
            "USING \\(...\\) alone",
        ),
        ("UPDATE t SET *", "SET column = expression"),
        ("UPDATE t SET fare = s.fare FROM s WHERE t.id = s.id", "MERGE INTO t USING s"),
        ("DELETE t WHERE id = 1", "DELETE FROM t"),
        ("-- x\nCOPY INTO t FROM '/x' FILEFORMAT = PARQUET", "pyarrow.dataset"),
        ("LOAD DATA INPATH '/x' INTO TABLE t", "pyarrow.dataset"),
        ("optimize t ZORDER BY (city)", "run_clustering"),
        ("VACUUM t RETAIN 168 HOURS DRY RUN", "run_clean"),
        ("RESTORE TABLE t TO VERSION AS OF 1", r"restore\(1\)"),
        ("DESC HISTORY t LIMIT 1", "show_commits"),
        ("DESCRIBE DETAIL t", "DESCRIBE EXTENDED"),
        ("SHOW TABLE EXTENDED LIKE 't'", "DESCRIBE EXTENDED"),
        ("SHOW VIEWS", "SHOW TABLES"),
        ("REPAIR TABLE t", "partitions are found"),
        ("COMMENT ON TABLE t IS 'x'", "no comments"),
        ("CREATE SCHEMA IF NOT EXISTS n", "file catalog"),
        ("DROP DATABASE n CASCADE", "own tools"),
        ("DESCRIBE SCHEMA n", "SHOW TABLES IN"),
        ("CREATE TABLE n (id BIGINT, PRIMARY KEY (id)) USING hudi", "primaryKey = 'id'"),
        ("CREATE TABLE n (id BIGINT, CONSTRAINT c CHECK (id > 0)) USING hudi", "does not store"),
        ("SELECT FROM", "It takes SELECT"),
        ("BEGIN TRANSACTION", "one commit"),
        ("UNCACHE TABLE t", "newest state"),
        ("ALTER TABLE t ADD CONSTRAINT c CHECK (fare > 0)", "before they are written"),
        ("ALTER TABLE t DROP CONSTRAINT c", "before they are written"),
        ("ALTER TABLE t ADD PARTITION FIELD bucket(16, id)", "keeps its partitions"),
        ("ALTER TABLE t DROP PARTITION FIELD city", "keeps its partitions"),
        ("ALTER TABLE `t` WRITE ORDERED BY city", "run_clustering"),
        ("ALTER TABLE t CLUSTER BY (city)", "run_clustering"),
        ("ALTER TABLE t CREATE TAG x AS OF VERSION 1", "VERSION AS OF 'name'"),
        ("ALTER TABLE t SET FILEFORMAT parquet", "the format of base files"),
        ("ALTER TABLE t REPLACE COLUMNS (id BIGINT)", "DROP COLUMNS"),
        ("SELECT * FROM t.history", "hudi_query_timeline"),
        ("SELECT * FROM t.partitions", "SHOW PARTITIONS t"),
        ("SELECT * FROM t/*+ OPTIONS('read.start-commit'='earliest')*/", "hudi_table_changes"),
        (
            "INSERT INTO t/*+ OPTIONS('write.operation'='upsert')*/ SELECT * FROM s",
            "SET hoodie.key",
        ),
    ],
)
def test_what_others_spell_is_refused(refusing: Any, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as raised:
        refusing.sql(text)
    assert re.search(says, raised.value.fix), raised.value
    assert len(refusing.table("t").history()) == 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT fair FROM t",
        "SELECT t.fair FROM t",
        "SELECT id FROM t JOIN s USING (id) WHERE fair = 1",
    ],
)
def test_a_column_that_is_not_there(refusing: Any, text: str) -> None:
    with pytest.raises(SchemaError, match="'fair' of the query") as raised:
        refusing.sql(text)
    assert raised.value.fix == "Did you mean fare?"


def test_what_the_errors_name_works(session: Any, tmp_path: Path) -> None:
    table = session.table("t")
    for text in (
        "MERGE INTO t USING (SELECT * FROM s WHERE city = 'oslo') s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE AND city = 'oslo' THEN DELETE",
        "CALL run_clustering(table => 't', order => 'city')",
        "CALL run_clustering(table => 't', order => 'city', order_strategy => 'z-order')",
        "CALL run_clean(table => 't', hours_retained => 168)",
        "CALL show_fsview_latest(table => 't')",
        "CALL show_savepoints(table => 't')",
        "CALL show_commits(table => 't', limit => 10)",
        "DESCRIBE EXTENDED t",
        "ALTER TABLE t ADD COLUMNS (extra INT)",
    ):
        session.sql(text)
    assert fares(session) == {1: 1.5, 3: 4.5, 9: 9.0}
    pq.write_table(pa.table({"id": [5], "city": ["rome"], "fare": [1.0]}), tmp_path / "x.parquet")
    table.insert(ds.dataset(tmp_path / "x.parquet"))
    table.tag("named")
    session.sql("DELETE FROM t WHERE id = 5")
    assert session.sql("SELECT * FROM t VERSION AS OF 'named'").count() == 4
    table.untag("named")
    assert 5 not in fares(session)
    table.restore(1)
    assert fares(session) == {row["id"]: row["fare"] for row in ROWS}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["cow", "mor"])
@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("index", ["bucket", "record"])
def test_an_option_makes_upserts_of_inserts(
    tmp_path: Path, kind: str, version: int, index: str
) -> None:
    """As in Spark Hudi (tests/hudi_sql.py)."""
    options = {
        "bucket": {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"},
        "record": {"hoodie.metadata.record.index.enable": "true"},
    }[index]
    table = hoodoo.create(
        tmp_path / "t",
        {"id": "bigint", "fare": "double", "ts": "bigint"},
        record_key="id",
        ordering="ts",
        table_type=kind,
        table_version=version,
        options=options,
    )
    session = hoodoo.session(tables={"t": table})
    session.sql("INSERT INTO t VALUES (1, 1.0, 10), (2, 2.0, 10)")
    session.sql("SET hoodie.spark.sql.insert.into.operation = upsert")
    done = session.sql("INSERT INTO t VALUES (1, 9.0, 9), (2, 8.0, 11), (3, 3.0, 1)").commit
    assert done.operation == "upsert" and fares(session) == {1: 1.0, 2: 8.0, 3: 3.0}
    session.sql("RESET hoodie.spark.sql.insert.into.operation")
    done = session.sql("INSERT INTO t VALUES (4, 4.0, 1)").commit
    assert done.operation == "insert" and len(fares(session)) == 4


# Of each, both engines have the rows, or refuse it.
ON_BOTH = (
    "SELECT /*+ BROADCAST(x) */ x.id, x.city FROM t x JOIN s ON x.id = s.id -- the end",
    "TABLE t",
    "SELECT p.x, q.x AS y FROM (WITH a AS (SELECT 1 AS x) SELECT * FROM a) p "
    "JOIN (WITH a AS (SELECT 2 AS x) SELECT * FROM a) q",
    "WITH t AS (SELECT 1 AS id) SELECT * FROM t JOIN (WITH t AS (SELECT 1 AS id, 2 AS n) SELECT * FROM t) u "
    "ON t.id = u.id",
    "WITH n AS (SELECT * FROM s) MERGE INTO t USING n ON t.id = n.id WHEN MATCHED THEN UPDATE SET * "
    "WHEN NOT MATCHED THEN INSERT *",
    "INSERT INTO t VALUES ('11', 'oslo', '1.5')",
    "INSERT INTO d VALUES ('1', '2026-01-31', '2026-01-31 12:30:00', 'true', '1.25')",
    "INSERT INTO d SELECT '2', '2026-02-01', '2026-01-31 12:30:00', 'false', '-1.25'",
    "INSERT INTO d VALUES ('x', '2026-01-31', '2026-01-31 12:30:00', 'true', '1.25')",
    "INSERT INTO d VALUES ('3', 'never', '2026-01-31 12:30:00', 'true', '1.25')",
    "INSERT INTO t FROM s SELECT id + 20, city, fare",
    "WITH n AS (SELECT 9 AS id) DELETE FROM t WHERE id IN (SELECT id FROM n)",
    "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * EXCEPT (fare)",
    "OPTIMIZE t ZORDER BY (city)",
    "SHOW DATABASES",
    "DESCRIBE QUERY SELECT id, fare FROM t",
)


@pytest.mark.spark
@pytest.mark.sampled(1, among="long, on Spark")
@pytest.mark.parametrize("kind", ["cow", "mor"])
@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("index", ["bucket", "record"])
def test_both_engines_have_the_same(
    spark: Any, tmp_path: Path, kind: str, version: int, index: str
) -> None:
    options = {
        "bucket": {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"},
        "record": {"hoodie.metadata.record.index.enable": "true"},
    }[index]
    rows = {"s": pa.table({"id": [1, 9], "city": ["rome", "oslo"], "fare": [7.0, 9.0]})}
    columns = {
        "t": {"id": "bigint", "city": "string", "fare": "double"},
        "d": {
            "id": "bigint",
            "day": "date",
            "at": "timestamp",
            "ok": "boolean",
            "price": "decimal(9,2)",
        },
    }
    sessions = []
    for name, engine in (("duckdb", None), ("spark", spark)):
        tables = {
            table: hoodoo.create(
                tmp_path / name / table,
                schema,
                record_key="id",
                partition_by="city" if table == "t" and index == "record" else (),
                table_type=kind,
                table_version=version,
                options=options,
            )
            for table, schema in columns.items()
        }
        tables["t"].upsert(ROWS)
        sessions.append(hoodoo.session(engine, tables={**tables, **rows}))
    for text in ON_BOTH:
        found = [outcome(session, text) for session in sessions]
        assert found[0] == found[1], text
        for table in "td":
            shown = [outcome(session, f"SELECT * FROM {table}") for session in sessions]
            assert shown[0] == shown[1], text


def outcome(session: Any, text: str) -> Any:
    """The rows of an answer without an order and without instants, or that it is refused."""
    try:
        answer = session.sql(text).to_pylist()
    except HoodooError:
        return "refused"
    except Exception as error:  # Spark's own, where it computes
        assert "pyspark" in type(error).__module__, error
        return "refused"
    return sorted(repr({**row, "instant": ""}) for row in answer)
