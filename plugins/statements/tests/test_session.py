"""hoodoo.session: statements over tables that have names."""

from __future__ import annotations

import datetime as dt
import os
import re
import sys
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import hoodoo
import numpy as np
import pyarrow as pa
import pytest
import sqlglot
from hoodoo.errors import (
    ConfigError,
    CorruptTableError,
    DataError,
    DuplicateKeyError,
    HoodooError,
    NotATableError,
    PluginError,
    SchemaError,
    TableExistsError,
)
from hoodoo_statements import evaluate
from hoodoo_statements.evaluate import Evaluator, _database
from hoodoo_statements.overwrite import _is_empty
from hoodoo_statements.query import Query
from hoodoo_statements.text.forms import bare

CITIES = [{"city": "oslo", "country": "no"}, {"city": "rome", "country": "it"}]


def trip(i: int, **more: Any) -> dict[str, Any]:
    return {"id": i, "city": ("oslo", "rome")[i % 2], "fare": i * 1.5, **more}


@pytest.fixture
def session(tmp_path: Path) -> Any:
    schema = {"id": "bigint", "city": "string", "fare": "double"}
    trips = hoodoo.create(tmp_path / "trips", schema, record_key="id", partition_by="city")
    trips.upsert([trip(i) for i in range(6)])
    lake = hoodoo.catalog(str(tmp_path / "lake"))
    lake.create("geo.Cities", {"city": "string", "country": "string"}, record_key="city").upsert(
        CITIES
    )
    new = [{"id": 1, "fare": 0.5}, {"id": 77, "fare": 7.0}]
    return hoodoo.session(catalogs=lake, tables={"Trips": str(tmp_path / "trips"), "new": new})


def test_queries_join_tables_of_all_places(session: Any) -> None:
    found = session.sql(
        "SELECT c.country, sum(t.fare) AS fare, count(*) AS n FROM trips t "
        "JOIN geo.cities c ON t.city = c.city LEFT JOIN new n ON n.id = t.id "
        "WHERE t.fare > :least GROUP BY c.country ORDER BY 1",
        {"least": 1.0},
    )
    assert found.to_pylist() == [
        {"country": "it", "fare": 13.5, "n": 3}, {"country": "no", "fare": 9.0, "n": 2},
    ]  # fmt: skip
    assert found.commit is None and found.count() == 2


def test_queries_within_queries(session: Any) -> None:
    found = session.sql(
        "WITH big AS (SELECT * FROM Trips WHERE fare > ?), cities AS (SELECT city FROM GEO.CITIES WHERE country = ?) "
        "SELECT id, (SELECT max(fare) FROM big) AS best FROM big WHERE city IN (SELECT city FROM cities) ORDER BY id",
        [2, "it"],
    )
    assert found.to_arrow().to_pydict() == {"id": [3, 5], "best": [7.5, 7.5]}


def test_results_in_every_form(session: Any) -> None:
    found = session.sql("SELECT id, fare FROM trips WHERE id < 2 ORDER BY id")
    rows = [{"id": 0, "fare": 0.0}, {"id": 1, "fare": 1.5}]
    assert found.to_pylist() == pa.table(found).to_pylist() == rows
    assert found.to_pandas().to_dict("records") == found.to_polars().to_dicts() == rows
    assert found.schema.names == ["id", "fare"] and found.head(1).to_pylist() == rows[:1]
    assert found.to_duckdb().aggregate("sum(fare)").fetchall() == [(1.5,)]
    assert sum(batch.num_rows for batch in found) == 2


def test_changes_are_commits(session: Any) -> None:
    changed = session.sql(
        "MERGE INTO trips t USING new n ON t.id = n.id WHEN MATCHED THEN UPDATE SET fare = n.fare "
        "WHEN NOT MATCHED THEN INSERT (id, city, fare) VALUES (n.id, 'kyiv', n.fare)"
    )
    counts = {"inserted": 1, "updated": 1, "deleted": 0}
    row = {"instant": changed.commit.instant, "action": "commit", "operation": "upsert", **counts}
    assert changed.to_pylist() == [row]
    assert (
        session.sql("UPDATE trips SET fare = fare + :by WHERE id = 77", {"by": 1}).commit.updated
        == 1
    )
    assert session.sql("DELETE FROM trips WHERE city = ?", ["rome"]).commit.deleted == 3
    session.sql("INSERT INTO geo.cities SELECT DISTINCT city, 'ua' FROM trips WHERE city = 'kyiv'")
    session.sql(
        "INSERT OVERWRITE trips PARTITION (city = 'oslo') "
        "SELECT id, 9D FROM trips WHERE city = 'oslo' AND id = 2"
    )
    session.sql("ALTER TABLE trips ADD COLUMNS (tip DOUBLE)")
    found = session.sql("SELECT t.*, country FROM trips t JOIN geo.cities USING (city) ORDER BY id")
    shown = [(r["id"], r["fare"], r["tip"], r["country"]) for r in found.to_pylist()]
    assert shown == [(2, 9.0, None, "no"), (77, 8.0, None, "ua")]


def test_a_merge_takes_a_query_and_a_table_of_a_catalog(session: Any) -> None:
    merged = session.sql(
        "MERGE INTO geo.cities c USING (SELECT city, max(fare) AS fare FROM trips GROUP BY city) s "
        "ON c.city = s.city WHEN MATCHED AND s.fare > 7 THEN DELETE"
    )
    assert merged.commit.deleted == 1
    merged = session.sql(
        "MERGE INTO trips t USING geo.cities c ON t.city = c.city WHEN MATCHED THEN UPDATE SET fare = 0"
    )
    assert merged.commit.updated == 3


def test_states_of_other_times(session: Any) -> None:
    first = session.table("trips").timeline().writes()[-1].requested
    session.sql("DELETE FROM trips WHERE id > 2")
    session.sql("ALTER TABLE trips RENAME COLUMN fare TO price")

    def count(text: str) -> Any:
        return session.sql(f"SELECT count(*) AS n FROM trips {text}").to_pylist()[0]["n"]

    second = dt.datetime.now(dt.timezone.utc) + dt.timedelta(seconds=5)
    assert count("") == 3
    assert count("VERSION AS OF 1") == count(f"VERSION AS OF '{first}'") == 6
    assert count(f"TIMESTAMP AS OF '{first}' AS t WHERE t.fare >= 0") == 6
    assert count(f"TIMESTAMP AS OF '{second:%Y-%m-%d %H:%M:%S}'") == 3
    assert count(f"TIMESTAMP AS OF '{second.isoformat()}'") == 3
    assert count("TIMESTAMP AS OF current_timestamp()") == 3
    assert count("TIMESTAMP AS OF '2020-01-01'") == count("VERSION AS OF 0") == 0
    assert count("VERSION AS OF -1 a JOIN trips VERSION AS OF 1 b ON a.id = b.id") == 3
    for wrong in ("TIMESTAMP AS OF date_sub(now(), 1)", "VERSION AS OF 9", "TIMESTAMP AS OF 'x'"):
        with pytest.raises(ConfigError):
            count(wrong)
    with pytest.raises(ConfigError, match="table new: has a time or version"):
        session.sql("SELECT * FROM new VERSION AS OF 1")


def test_hudis_times_are_of_the_tables_zone(session: Any) -> None:
    from hoodoo_statements.text.moments import instant_of

    assert instant_of("2026-01-31") == "20260131000000"
    assert instant_of("2026-01-31 12:30:01.5") == "20260131123001500"
    assert instant_of("2026-01-31 12:30:01.5+02:00") == "2026-01-31T12:30:01.5+02:00"
    assert instant_of("20260131123001500") == "20260131123001500"


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "value",
    [
        None, True, 5, -7, 3_000_000_000, -3_000_000_000, 1.5, 1e-7, "it's \\ :x ?", Decimal("-1.50"),
        dt.date(2026, 1, 31), dt.datetime(2026, 1, 31, 12, 30, 1, 5),
        dt.datetime(2026, 1, 31, 12, 30, tzinfo=dt.timezone(dt.timedelta(hours=2))), np.int64(4), pa.scalar("a"),
    ],
)  # fmt: skip
def test_parameters_are_values(session: Any, value: Any) -> None:
    wanted = value.as_py() if isinstance(value, pa.Scalar) else value
    assert session.sql("SELECT :x AS x", {"x": value}).to_pylist() == [{"x": wanted}]
    assert session.sql("SELECT ? AS x, '?' AS y", [value]).to_pylist() == [{"x": wanted, "y": "?"}]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("text", "args", "error", "says"),
    [
        ("SELECT :x", None, ConfigError, "parameter :x: has no value"),
        ("SELECT :x", {"y": 1}, ConfigError, "parameter :x: has no value"),
        ("SELECT :x", [1], ConfigError, "parameter :x: has no value"),
        ("SELECT ?, ?", [1], ConfigError, r"parameter \?2: has no value"),
        ("SELECT ?", {"1": 1}, ConfigError, r"parameter \?1: has no value"),
        ("SELECT 1", {"x": 1}, ConfigError, "args x: are not in the statement"),
        ("SELECT :x", {"x": object()}, ConfigError, "no literal"),
        ("SELECT :x", {"x": float("inf")}, ConfigError, "no literal"),
        ("SELECT * FROM trip", None, ConfigError, "Did you mean Trips"),
        ("DELETE FROM geo.city", None, ConfigError, "not among the tables of the session"),
        ("DELETE FROM new", None, ConfigError, "no table of Hoodoo"),
        ("SELECT nope FROM trips", None, SchemaError, "nope"),
        ("selec", None, HoodooError, "SELECT"),
        ("USE db", None, ConfigError, "whole name"),
        ("CREATE VIEW v AS SELECT 1", None, ConfigError, "views="),
        ("EXPLAIN SELECT 1", None, ConfigError, "explain"),
        ("SET a = b", None, ConfigError, "no option of a table"),
        ("RESET a", None, ConfigError, "no option of a table"),
        ("SET", None, ConfigError, "SET hoodie.key"),
        ("CACHE TABLE trips", None, ConfigError, "to_arrow"),
        ("OPTIMIZE trips", None, ConfigError, "optimize"),
        ("VACUUM trips", None, ConfigError, "vacuum"),
        ("RESTORE TABLE trips TO VERSION AS OF 1", None, ConfigError, r"restore\(1\)"),
        ("CONVERT TO DELTA parquet.`x`", None, ConfigError, r"hoodoo\.convert"),
        ("CREATE TABLE x SHALLOW CLONE trips", None, ConfigError, r"clone\(path\)"),
        ("SELECT * FROM table_changes('trips', 1)", None, ConfigError, "hudi_table_changes"),
        ("SELECT * FROM delta_scan('x')", None, ConfigError, r'hoodoo\.open\(path\)'),
        ("SELECT * FROM hudi_scan('x')", None, ConfigError, r'hoodoo\.open\(path\)'),
        ("SELECT * FROM read_parquet('x')", None, ConfigError, "pyarrow.dataset"),
        ("CALL system.expire_snapshots('trips')", None, ConfigError, "CALL run_clean"),
        ("DESCRIBE HISTORY trips", None, ConfigError, "history"),
        ("ALTER TABLE trips RENAME TO geo.cities", None, TableExistsError, "another name"),
        ("ALTER TABLE nope RENAME TO journeys", None, ConfigError, "table nope"),
        ("ALTER TABLE trips SET TBLPROPERTIES (a = 'b')", None, ConfigError, "nothing would"),
        ("ALTER TABLE trips UNSET TBLPROPERTIES (a", None, ConfigError, "not understood"),
        (
            "ALTER TABLE trips SET TBLPROPERTIES (hoodie.keep.max.commits = 'x')",
            None,
            ConfigError,
            "hoodie.keep.max.commits",
        ),
        ("ALTER TABLE trips ADD PARTITION (city = 'x')", None, ConfigError, "has rows"),
        ("ALTER TABLE trips DROP PARTITION (city = 'x')", None, DataError, "SHOW PARTITIONS"),
        ("ALTER TABLE trips DROP PARTITION (fare = 1)", None, ConfigError, "partitioned by city"),
        ("ALTER TABLE trips DROP PARTITION (city)", None, ConfigError, "has no value"),
        ("ALTER TABLE trips SET LOCATION 'nowhere'", None, NotATableError, "nowhere"),
        ("TRUNCATE TABLE trips PARTITION (city = 'x')", None, DataError, "no partition"),
        ("INSERT INTO trips PARTITION (fare) SELECT 1", None, ConfigError, "partitioned by city"),
        ("INSERT INTO trips PARTITION (city = 'a', city) SELECT 1", None, ConfigError, "twice"),
        ("INSERT INTO trips PARTITION (city = upper('a')) SELECT 1", None, ConfigError, "literal"),
        ("INSERT INTO trips PARTITION (city = 'a') SELECT 1", None, DataError, "1 columns for 2"),
        ("CREATE INDEX i ON trips USING lucene (fare)", None, ConfigError, "create_index"),
        ("CREATE INDEX i ON trips (fare) OPTIONS (a = 'b')", None, ConfigError, "would be lost"),
        ("CREATE INDEX i ON nope (fare)", None, ConfigError, "table nope"),
        ("CREATE INDEX i", None, ConfigError, "CREATE INDEX i ON t"),
        ("DROP INDEX i ON trips", None, ConfigError, "i"),
        ("SELECT * FROM hudi_filesystem_view('trips', 'x')", None, ConfigError, "literals"),
        ("SELECT * FROM hudi_table_changes('trips', 'x', 'earliest')", None, ConfigError, "cdc"),
        ("SELECT 1; SELECT 2", None, ConfigError, "2 statements"),
    ],
)  # fmt: skip
def test_what_can_not_be_right_is_refused(
    session: Any, text: str, args: Any, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        session.sql(text, args)


def test_tables_by_name(session: Any, tmp_path: Path) -> None:
    assert isinstance(session.table("TRIPS"), hoodoo.Table)
    assert session.table("geo.cities").count() == 2
    assert session.table("new")[1]["id"] == 77
    assert session.sql(f"SELECT count(*) AS n FROM hudi.`{tmp_path}/trips`").to_pylist() == [
        {"n": 6}
    ]
    with pytest.raises(ConfigError, match="Did you mean Trips"):
        session.table("tripz")


def test_catalogs_have_names(tmp_path: Path) -> None:
    lakes = {"a": str(tmp_path / "a"), "B": hoodoo.catalog(str(tmp_path / "b"))}
    for name, place in lakes.items():
        lake = hoodoo.catalog(place) if isinstance(place, str) else place
        lake.create("t", {"id": "int", "of": "string"}, record_key="id").insert(
            [{"id": 1, "of": name}]
        )
    session = hoodoo.session(catalogs=lakes)
    for name, of in (("t", "a"), ("a.t", "a"), ("b.t", "B")):
        assert session.sql(f"SELECT of FROM {name}").to_pylist() == [{"of": of}]
    for text in (
        "SELECT x.of || y.of AS of FROM a.t x JOIN b.t y ON x.id = y.id",
        "SELECT a.t.of || b.t.of AS of FROM a.t JOIN B.T ON a.t.id = b.t.id WHERE A.T.id > 0",
        "SELECT a.t.of || (SELECT max(b.t.of) FROM b.t) AS of FROM a.t",
    ):
        assert session.sql(text).to_pylist() == [{"of": "aB"}]
    assert session.sql("SELECT a.t.* FROM a.t WHERE a.t.id = 1").to_pylist() == [
        {"id": 1, "of": "a"}
    ]
    assert repr(session) == "<session on DuckDB, tables: none, catalogs: a, B>"


def test_wrong_arguments_of_a_session(tmp_path: Path) -> None:
    with pytest.raises(NotATableError):
        hoodoo.session(tables={"t": str(tmp_path)})
    with pytest.raises(ConfigError, match="is no SparkSession"):
        hoodoo.session(5)
    with pytest.raises(ConfigError, match="is no catalog"):
        hoodoo.session(catalogs=[5])
    with pytest.raises(ConfigError, match="one name"):
        hoodoo.session(tables={"t": [], "T": []})


def test_tables_are_created_and_dropped(tmp_path: Path) -> None:
    session = hoodoo.session(catalogs=str(tmp_path / "lake"))
    made = session.sql(
        "CREATE TABLE IF NOT EXISTS db.trips (id BIGINT NOT NULL, city STRING, ts BIGINT, fare DECIMAL(9, 2)) USING hudi "
        "PARTITIONED BY (city) TBLPROPERTIES (primaryKey = 'id', 'preCombineField' = 'ts', type = 'mor', "
        "hoodie.index.type = 'SIMPLE')"
    )
    assert made.to_arrow().num_rows == 0 and made.commit is None
    session.sql("CREATE TABLE IF NOT EXISTS db.Trips (x INT) USING hudi")
    table = session.table("db.trips")
    assert table.schema.names == ["id", "ts", "fare", "city"]
    assert (table.config.table_type, table.config.ordering_fields) == ("MERGE_ON_READ", ("ts",))
    session.sql("INSERT INTO db.trips VALUES (1, 1, 1.5, 'oslo'), (2, 1, 2.5, 'rome')")
    place = tmp_path / "cities"
    session.sql(
        f"CREATE TABLE cities USING hoodoo PARTITIONED BY (city) LOCATION '{place}' TBLPROPERTIES (primaryKey = 'id') "
        "AS WITH t AS (SELECT * FROM db.trips) SELECT city, id, fare * 2 AS twice FROM t WHERE id > 1"
    )
    assert session.sql("SELECT * FROM cities").to_pylist() == [
        {"id": 2, "twice": Decimal("5.00"), "city": "rome"}
    ]
    assert (place / "city=rome").is_dir()
    assert session.sql("DROP TABLE cities").count() == 0
    session.sql("DROP TABLE IF EXISTS cities")
    with pytest.raises(ConfigError, match="table cities: is not among"):
        session.sql("DROP TABLE cities")
    alone = hoodoo.session()
    alone.sql(f"CREATE TABLE again USING hudi LOCATION '{place}'")
    alone.sql(
        f"CREATE TABLE other (id INT, day DATE) USING hudi PARTITIONED BY (at STRING) LOCATION '{tmp_path}/o'"
    )
    assert alone.table("other").schema.names == ["id", "day", "at"]
    assert alone.sql("SELECT id FROM again").to_pylist() == [{"id": 2}]
    alone.sql("DROP TABLE again")
    assert hoodoo.open(place).count() == 1


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("CREATE TABLE x (id INT)", "USING hudi"),
        ("CREATE TABLE x (id INT) USING parquet", "is of parquet"),
        ("CREATE TABLE x (id INT) STORED AS PARQUET", "STORED AS PARQUET"),
        ("CREATE TABLE x (id INT) USING hudi PARTITIONED BY (years(id))", "key_generator="),
        ("CREATE TABLE x (id INT) USING hudi CLUSTERED BY (id) INTO 4 BUCKETS", "CLUSTERED BY"),
        ("CREATE TABLE x USING hudi", "nor the LOCATION"),
        ("CREATE OR REPLACE TABLE x (id INT) USING hudi", "OR REPLACE"),
        ("CREATE TABLE x (id INT PRIMARY KEY) USING hudi", "primaryKey = 'id'"),
        ("CREATE TABLE x (id INT COMMENT 'c') USING hudi", "comment"),
        ("CREATE TABLE x (id INT) USING hudi COMMENT 'c'", "COMMENT"),
        ("CREATE TABLE x (id INT) USING hudi TBLPROPERTIES (foo = 'x')", "property foo"),
        ("CREATE TABLE x (id INT) USING hudi AS SELECT 1 AS id", "beside AS SELECT"),
        ("CREATE TABLE x (id UUID) USING hudi", "uuid"),
        ("CREATE TABLE x (id INT) LIKE trips", "."),
        ("CREATE TEMPORARY TABLE x (id INT) USING hudi", "TEMPORARY"),
        ("CREATE TABLE TRIPS (id INT) USING hudi", "is in the session"),
        ("CREATE TABLE geo.cities USING hudi AS SELECT 1 AS id", "is in the session"),
        ("CREATE TABLE x USING hudi AS SELECT * FROM nope", "table nope"),
        ("DROP TABLE geo.cities PURGE", "PURGE"),
        ("TRUNCATE TABLE nope", "table nope"),
        ("SELECT * FROM hudi_table_changes('trips')", "takes the name of a table"),
        ("SELECT * FROM hudi_table_changes('nope', 'latest_state', 'earliest')", "table nope"),
        ("SELECT * FROM hudi_query_timeline()", "takes the name of a table"),
        ("SELECT * FROM hudi_query_times('trips', 'true')", "makes rows"),
        ("SHOW PARTITIONS new", "no table of Hoodoo"),
        ("DESCRIBE SELECT nope FROM trips", "nope"),
        ("DESCRIBE nope", "table nope"),
    ],
)  # fmt: skip
def test_definitions_that_would_lose_something_are_refused(
    session: Any, text: str, says: str
) -> None:
    before = list(session.names.listed())
    with pytest.raises(HoodooError, match=says):
        session.sql(text)
    assert list(session.names.listed()) == before


def test_a_new_table_without_a_place_is_refused() -> None:
    with pytest.raises(ConfigError, match="no LOCATION, and the session has no catalog"):
        hoodoo.session().sql("CREATE TABLE x (id INT) USING hudi")


def test_what_is_there_is_shown(session: Any) -> None:
    def shown(text: str) -> list[Any]:
        return [tuple(row.values()) for row in session.sql(text).to_pylist()]

    assert shown("SHOW TABLES") == [
        ("", "Trips", False),
        ("", "new", False),
        ("geo", "Cities", False),
    ]
    assert shown("SHOW TABLES IN geo LIKE 'c*|x'") == [("geo", "Cities", False)]
    assert shown("show tables from nowhere") == []
    assert shown("SHOW PARTITIONS trips") == [("oslo",), ("rome",)]
    assert shown("SHOW COLUMNS IN geo.cities") == [("city",), ("country",)]
    assert ("hoodie.table.recordkey.fields", "id") in shown("SHOW TBLPROPERTIES trips")
    columns = [("id", "bigint", None), ("city", "string", None), ("fare", "double", None)]
    info = [("# Partition Information", "", ""), ("# col_name", "data_type", "comment"), columns[1]]
    assert shown("DESCRIBE trips") == columns + info
    assert ("Location", session.table("trips").path, "") in shown("DESC TABLE EXTENDED trips")


def test_a_table_is_created_again_by_what_is_shown(session: Any, tmp_path: Path) -> None:
    session.sql(
        "CREATE TABLE a (id BIGINT, `A_b` ARRAY<STRUCT<x: INT, Y: MAP<STRING, TIMESTAMP>>>, d DECIMAL(9, 2), at TIMESTAMP_NTZ) "
        "USING hudi PARTITIONED BY (id) TBLPROPERTIES (type = 'mor', primaryKey = 'id', orderingFields = 'd', hoodie.table.version = '6')"
    )
    text = session.sql("SHOW CREATE TABLE a").to_pylist()[0]["createtab_stmt"]
    again = text.replace("TABLE a", "TABLE b").replace(session.table("a").path, str(tmp_path / "b"))
    session.sql(again)
    made = session.sql("SHOW CREATE TABLE b").to_pylist()[0]["createtab_stmt"]
    assert made.partition("LOCATION")[0] == text.partition("LOCATION")[0].replace(
        "TABLE a", "TABLE b"
    )
    assert made.partition("TBLPROPERTIES")[2] == text.partition("TBLPROPERTIES")[2]
    assert session.table("a").schema == session.table("b").schema
    assert session.table("b").config.version == 6


def test_a_query_reads_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hoodoo_rows.read.scan import Scan

    schema = {"id": "bigint", "city": "string", "fare": "double"}
    for name, kind in (("plain", "cow"), ("logs", "mor")):
        table = hoodoo.create(tmp_path / name, schema, record_key="id", table_type=kind)
        table.insert([trip(i) for i in range(6)])
        table.upsert([trip(1, fare=float("nan"))])
    session = hoodoo.session(tables={n: tmp_path / n for n in ("plain", "logs")})
    monkeypatch.setattr(Scan, "to_arrow", None)  # which would read all rows
    text = "SELECT p.id FROM plain p JOIN logs l ON p.id = l.id WHERE l.fare > 3 AND p.fare > 4 ORDER BY 1"
    assert [row["id"] for row in session.sql(text).to_pylist()] == [1, 3, 4, 5]


def test_a_table_that_a_query_names_twice_is_read_at_one_moment(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit between two reads of it would show one side of a query rows that the other lacks."""
    table, read = session.table("trips"), Query._read

    def beside_a_writer(self: Query, *given: Any) -> Any:
        found = read(self, *given)
        table.upsert([trip(1000 + len(table.history()))])
        return found

    monkeypatch.setattr(Query, "_read", beside_a_writer)
    text = "SELECT count(*) AS n, count(b.id) AS m FROM trips a FULL JOIN trips b ON a.id = b.id"
    assert session.sql(text).to_pylist() == [{"n": 6, "m": 6}]
    text = "SELECT count(*) AS n, (SELECT count(*) FROM trips) AS m FROM trips VERSION AS OF 1"
    assert session.sql(text).to_pylist() == [{"n": 6, "m": 8}]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("SELECT * FROM trips WHERE _hoodie_record_key = '3'", [3]),
        ("SELECT t.* FROM trips AS t WHERE t._HOODIE_RECORD_KEY IN ('3', '4') ORDER BY id", [3, 4]),
        ("SELECT * FROM trips ORDER BY _hoodie_record_key DESC LIMIT 1", [5]),
        ("SELECT * FROM (SELECT * FROM trips WHERE _hoodie_record_key = '2') AS x", [2]),
        ("SELECT t.* FROM trips t JOIN new n ON t._hoodie_record_key = cast(n.id AS STRING)", [1]),
        ("WITH x AS (SELECT * FROM trips WHERE _hoodie_record_key = '5') SELECT * FROM x", [5]),
    ],
)
def test_a_star_has_hudis_columns_only_where_they_are_named(
    session: Any, text: str, ids: list[int]
) -> None:
    found = session.sql(text).to_arrow()
    assert found.column_names == ["id", "city", "fare"]
    assert found.column("id").to_pylist() == ids
    joined = "SELECT * FROM trips JOIN new n ON trips._hoodie_record_key = cast(n.id AS STRING)"
    found = session.sql(joined).to_arrow()
    assert found.column_names == session.sql("SELECT * FROM trips, new").to_arrow().column_names
    assert found.num_rows == 1
    named = session.sql("SELECT *, _hoodie_record_key AS k FROM trips WHERE id = 1").to_pylist()
    assert named == [{**trip(1), "k": "1"}]
    with pytest.raises(SchemaError, match="_hoodie_record_key"):  # it would be joined by them
        session.sql("SELECT * FROM trips NATURAL JOIN trips AS b WHERE _hoodie_record_key = '1'")


def remembered(evaluator: Evaluator) -> int:
    asked = "SELECT sum(memory_usage_bytes) FROM duckdb_memory() WHERE tag = 'OBJECT_CACHE'"
    return int(evaluator._opened().execute(asked).fetchone()[0] or 0)


def test_footers_of_few_files_are_read_once(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """They hold bloom filters, and DuckDB reads them for each view and query that names a file."""
    _database.cache_clear()
    text, here = "SELECT count(*) AS n FROM trips WHERE fare > 1", Evaluator(os.cpu_count() or 1)
    assert session.sql(text).to_pylist() == [{"n": 5}]
    assert remembered(here) > 0
    monkeypatch.setattr(evaluate, "_MUCH", 1)  # past it, a new database takes its place
    assert session.sql(text).to_pylist() == [{"n": 5}]
    assert remembered(Evaluator(os.cpu_count() or 1)) == 0
    monkeypatch.setattr(evaluate, "_FEW_FILES", 1)  # the table has two
    assert session.sql(text).to_pylist() == [{"n": 5}]
    assert remembered(Evaluator(os.cpu_count() or 1)) == 0


def left(session: Any, column: str = "id") -> list[Any]:
    return session.sql(f"SELECT {column} FROM trips ORDER BY id").to_arrow().column(0).to_pylist()


@pytest.mark.parametrize(
    ("where", "gone"),
    [
        ("id IN (SELECT id FROM new)", [1]),
        ("id NOT IN (SELECT id FROM new)", [0, 2, 3, 4, 5]),
        ("id NOT IN (SELECT id FROM new UNION ALL SELECT NULL)", []),
        ("id > 3 OR id IN (SELECT id FROM new)", [1, 4, 5]),
        ("EXISTS (SELECT 1 FROM new WHERE id = 77)", [0, 1, 2, 3, 4, 5]),
        ("NOT EXISTS (SELECT 1 FROM new WHERE id = 77)", []),
        ("EXISTS (SELECT 1 FROM new n WHERE n.id = trips.id)", [1]),
        ("NOT EXISTS (SELECT 1 FROM new n WHERE n.id = trips.id) AND id < 3", [0, 2]),
        ("fare > (SELECT avg(fare) FROM trips)", [3, 4, 5]),
        ("city IN (SELECT city FROM geo.cities WHERE country = 'no')", [0, 2, 4]),
        ("fare = (SELECT max(b.fare) FROM trips b WHERE b.city = trips.city)", [4, 5]),
        ("id IN (WITH m AS (SELECT max(id) AS k FROM trips) SELECT k FROM m)", [5]),
    ],
)
def test_rows_that_a_query_finds_are_deleted(session: Any, where: str, gone: list[int]) -> None:
    commit = session.sql(f"DELETE FROM trips WHERE {where}").commit
    assert left(session) == [n for n in range(6) if n not in gone]
    assert (commit.operation, commit.deleted) == ("delete", len(gone)) and bool(gone) == bool(
        commit.instant
    )


@pytest.mark.parametrize(
    ("said", "fares"),
    [
        ("fare = fare + 1 WHERE id IN (SELECT id FROM new)", [0.0, 2.5, 3.0, 4.5, 6.0, 7.5]),
        ("fare = (SELECT max(fare) FROM new)", [7.0] * 6),
        ("fare = t.fare + (SELECT count(*) FROM new) WHERE t.id < 2", [2.0, 3.5, 3, 4.5, 6, 7.5]),
        (
            "fare = (SELECT n.fare FROM new n WHERE n.id = t.id) WHERE id < 3",
            [None, 0.5, None, 4.5, 6.0, 7.5],
        ),
        ("fare = (SELECT 9), city = 'rome' WHERE id IN (0, 5)", [9.0, 1.5, 3.0, 4.5, 6.0, 9.0]),
    ],
)
def test_rows_that_a_query_finds_are_updated(session: Any, said: str, fares: list[Any]) -> None:
    session.sql(f"UPDATE trips AS t SET {said}")
    assert left(session, "fare") == fares


def test_what_queries_in_changes_refuse(session: Any) -> None:
    for text, error, said in (
        ("DELETE FROM trips WHERE id IN (SELECT id FROM nope)", ConfigError, "table nope"),
        ("DELETE FROM trips WHERE id IN (SELECT ids FROM new)", SchemaError, "ids"),
        ("UPDATE trips SET fare = (SELECT fare FROM new)", DataError, "More than one row"),
        ("UPDATE trips SET fare = (SELECT 'much')", DataError, "much"),
        ("UPDATE trips SET fares = (SELECT 1)", SchemaError, "fares"),
    ):
        with pytest.raises(error, match=said):
            session.sql(text)
    assert len(session.table("trips").history()) == 1


def test_rows_without_hudis_columns_are_found_by_their_keys(tmp_path: Path) -> None:
    schema = {"a": "bigint", "b": "string", "n": "int"}
    plain = {"hoodie.populate.meta.fields": "false"}
    table = hoodoo.create(tmp_path / "t", schema, record_key=["a", "b"], options=plain)
    table.insert([{"a": a, "b": b, "n": a} for a in range(3) for b in "xy"])
    session = hoodoo.session(tables={"t": table, "s": [{"a": 1}, {"a": 2}]})
    session.sql("UPDATE t SET n = 7 WHERE a IN (SELECT a FROM s) AND b = 'x'")
    session.sql("DELETE FROM t WHERE EXISTS (SELECT 1 FROM s WHERE s.a = t.n)")
    found = session.sql("SELECT a, b, n FROM t ORDER BY a, b").to_arrow()
    assert [tuple(row.values()) for row in found.to_pylist()] == [
        (0, "x", 0), (0, "y", 0), (1, "x", 7), (2, "x", 7),
    ]  # fmt: skip


def test_a_path_is_no_rows_of_a_query(session: Any) -> None:
    """To follow what is said about paths of rows would read files of all ages."""
    path = session.table("trips").path
    with pytest.raises(ConfigError, match=r"hoodoo\.open\(path\)"):
        hoodoo.sql("SELECT * FROM t", tables={"t": path})
    assert hoodoo.session(tables={"t": path}).sql("SELECT count(*) AS n FROM t").to_pylist() == [
        {"n": 6}
    ]


def test_a_number_is_no_condition_of_a_change(session: Any) -> None:
    for text in (
        "DELETE FROM trips WHERE (SELECT 1)",
        "UPDATE trips SET fare = (SELECT 1) WHERE id",
    ):
        with pytest.raises(ConfigError, match="neither true nor false"):
            session.sql(text)
    assert left(session) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "on", ["1", "b.id", "(SELECT 1)", "((SELECT 1))", "(SELECT max(id) FROM new)"]
)
def test_a_number_is_no_condition_of_a_join(session: Any, on: str) -> None:
    with pytest.raises(ConfigError, match="neither true nor false"):
        session.sql(f"SELECT * FROM trips t JOIN trips b ON {on}")
    found = session.sql("SELECT count(*) AS n FROM trips t JOIN new b ON (SELECT t.id = b.id)")
    assert found.to_pylist() == [{"n": 1}]


def test_default_is_null(tmp_path: Path) -> None:
    """No table of Hudi stores another one."""
    columns = {"id": "bigint", "n": "int", "default": "int"}
    table = hoodoo.create(tmp_path / "t", columns, record_key="id")
    table.insert([{"id": n, "n": n, "default": 8} for n in range(4)])
    session = hoodoo.session(tables={"t": table})
    session.sql("UPDATE t SET n = DEFAULT WHERE id = 0")
    session.sql("UPDATE t SET n = default WHERE id IN (SELECT 1)")
    session.sql("UPDATE t SET n = `default` WHERE id = 2")
    session.sql("INSERT INTO t VALUES (4, DEFAULT, 1)")
    session.sql(
        "MERGE INTO t USING (SELECT id + 3 AS id FROM t) s ON t.id = s.id "
        "WHEN MATCHED AND s.id = 3 THEN UPDATE SET n = DEFAULT "
        "WHEN NOT MATCHED AND s.id = 5 THEN INSERT (id, n) VALUES (s.id, DEFAULT)"
    )
    found = session.sql("SELECT n FROM t ORDER BY id").to_pylist()
    assert [row["n"] for row in found] == [None, None, 8, None, None, None]


def test_an_unknown_column_of_a_change_by_query_names_those_of_the_table(session: Any) -> None:
    with pytest.raises(SchemaError, match=r"It has id, city, fare\.$"):
        session.sql("UPDATE trips SET fare = zzz WHERE id IN (SELECT id FROM new)")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", "true"),
        ("double", "NULL IS NULL"),
        ("decimal(5,2)", "true"),
        ("boolean", "1"),
        ("boolean", "1.5"),
        ("bigint", "TIMESTAMP '2026-01-01 00:00:00'"),
        ("int", "DATE '2026-01-01'"),
        ("timestamp", "1"),
        ("date", "true"),
    ],
)
def test_a_truth_and_a_time_are_no_numbers(tmp_path: Path, kind: str, value: str) -> None:
    """As by Spark's rules for assigned values; what casts between the two is taken."""
    table = hoodoo.create(tmp_path / "t", {"id": "bigint", "c": kind}, record_key="id")
    table.insert([{"id": 1, "c": None}])
    merge = f"MERGE INTO t USING (SELECT 1 AS id, {value} AS v) s ON t.id = s.id"
    for text in (
        f"INSERT INTO t VALUES (2, {value})",
        f"INSERT INTO t SELECT 2, {value}",
        f"UPDATE t SET c = {value}",
        f"UPDATE t SET c = (SELECT {value})",
        f"{merge} WHEN MATCHED THEN UPDATE SET c = s.v",
    ):
        with pytest.raises(SchemaError, match=r"Spark assigns none to the other\. Fix: Cast it"):
            hoodoo.sql(text, tables={"t": table})
    if kind == "int" and value == "true":
        hoodoo.sql("UPDATE t SET c = CAST(true AS INT)", tables={"t": table})
        assert table.read(columns=["c"]).to_arrow().column(0).to_pylist() == [1]
    assert table.read().to_arrow().num_rows == 1


def test_a_query_tells_rows_with_the_same_key_apart(tmp_path: Path) -> None:
    """A change of one of them is refused, as it is without a query."""
    table = hoodoo.create(tmp_path / "t", {"id": "bigint", "n": "int"}, record_key="id")
    table.bulk_insert([{"id": 1, "n": 10}, {"id": 1, "n": 11}, {"id": 2, "n": 3}])
    session = hoodoo.session(tables={"t": table, "s": [{"n": 10}]})
    for text in (
        "DELETE FROM t WHERE n IN (SELECT n FROM s)",
        "UPDATE t SET n = 0 WHERE n IN (SELECT n FROM s)",
    ):
        with pytest.raises(DuplicateKeyError, match="share their record key"):
            session.sql(text)
    assert session.sql("SELECT count(*) AS n FROM t").to_pylist() == [{"n": 3}]
    assert session.sql("DELETE FROM t WHERE id IN (SELECT 1)").commit.deleted == 2


@pytest.mark.parametrize("name", ["trips", "all_of_them"])
def test_a_query_of_a_statement_may_be_called_as_the_table_it_reads(
    session: Any, name: str
) -> None:
    views = {"all_of_them": "SELECT * FROM trips"}
    session = hoodoo.session(tables={"trips": session.table("trips")}, views=views)
    one = f"WITH {name} AS (SELECT * FROM {name} WHERE id > 3) SELECT id FROM {name} ORDER BY id"
    assert session.sql(one).to_pylist() == [{"id": 4}, {"id": 5}]
    inner = (
        f"SELECT id FROM {name} WHERE id IN (WITH {name} AS (SELECT 2 AS id) SELECT id FROM {name})"
    )
    assert session.sql(inner).to_pylist() == [{"id": 2}]
    session.sql(
        "DELETE FROM trips WHERE id IN (WITH trips AS (SELECT 2 AS id) SELECT id FROM trips)"
    )
    assert left(session) == [0, 1, 3, 4, 5]


def test_a_row_that_another_writer_changes_meanwhile_is_left(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the other writer had come after the statement."""
    ask = Query.run

    def asked(self: Query, tree: Any) -> Any:
        found = ask(self, tree)
        session.table("trips").upsert([trip(3, fare=100.0)])
        return found

    monkeypatch.setattr(Query, "run", asked)
    done = session.sql("DELETE FROM trips WHERE fare > (SELECT 4.0)").commit
    monkeypatch.undo()
    assert done.deleted == 2 and left(session) == [0, 1, 2, 3]


def test_an_insert_names_the_column_that_does_not_fit(session: Any) -> None:
    with pytest.raises(DataError, match="column fare of the insert: .*(oslo|rome) is no DOUBLE"):
        session.sql("INSERT INTO trips SELECT id, city, city FROM trips")
    with pytest.raises(DataError, match="column id of the insert: .*x"):
        session.sql("INSERT INTO trips (fare, id) VALUES (1.5, 'x')")


def test_errors_of_a_read_are_its_own(tmp_path: Path) -> None:
    table = hoodoo.create(
        tmp_path / "t", {"id": "bigint", "x": "int"}, record_key="id", table_type="mor"
    )
    table.insert([{"id": 1, "x": 1}])
    table.upsert([{"id": 1, "x": 2}])
    base = next(one for one in (tmp_path / "t").glob("*.parquet"))
    base.write_bytes(base.read_bytes()[:4] + bytes(base.stat().st_size - 8) + b"PAR1")
    with pytest.raises(CorruptTableError, match="base file"):
        hoodoo.session(tables={"t": table}).sql("SELECT a.x FROM t a JOIN t b ON a.id = b.id")


def test_procedures_of_hudi(tmp_path: Path) -> None:
    schema = {"id": "bigint", "city": "string", "x": "int"}
    table = hoodoo.create(
        tmp_path / "t", schema, record_key="id", partition_by="city", table_type="mor"
    )
    for x in range(3):
        table.upsert([{"id": i, "city": ("oslo", "rome")[i % 2], "x": x} for i in range(4)])
    session = hoodoo.session(tables={"db.t": table})

    def call(text: str) -> list[dict[str, Any]]:
        return session.sql(f"CALL {text}").to_pylist()

    shown = call("show_commits(table => 'db.t', limit => 2)")
    assert [row["commit_time"] for row in shown] == [
        i.requested for i in table.timeline().writes()[:0:-1]
    ]
    assert (shown[0]["action"], shown[0]["total_files_updated"], shown[0]["total_files_added"]) == (
        "deltacommit",
        2,
        0,
    )
    assert (shown[0]["total_records_written"], shown[0]["total_partitions_written"]) == (4, 2)
    assert call("create_savepoint('db.t', user => 'me', comments => 'it''s')") == [
        {"create_savepoint_result": True}
    ]
    assert (table.savepoints()[0].user, table.savepoints()[0].comment) == ("me", "it's")
    planned = call("run_compaction(op => 'schedule', table => 'db.t')")
    assert [(row["operation_size"], row["state"]) for row in planned] == [(2, "REQUESTED")]
    done = call("run_compaction('execute', 'db.t')")
    assert done == [{**planned[0], "state": "COMPLETED"}]
    assert call("run_compaction(op => 'run', table => 'db.t')") == []
    made = call(
        f"system.run_clustering(path => '{tmp_path}/t', order => 'x,id', show_involved_partition => true)"
    )
    assert [(r["input_group_size"], r["state"], r["involved_partitions"]) for r in made] == [
        (2, "COMPLETED", "oslo,rome")
    ]
    cleaned = call(
        "run_clean(table => 'db.t', clean_policy => 'KEEP_LATEST_FILE_VERSIONS', file_versions_retained => 1)"
    )
    assert cleaned == [] or cleaned[0]["total_files_deleted"] > 0
    last = session.sql("INSERT INTO db.t VALUES (9, 'kyiv', 9)").commit.instant
    assert call(f"rollback_to_instant('db.t', '{last}')") == [{"rollback_result": True}]
    session.sql("DELETE FROM db.t")
    assert call("rollback_to_savepoint('db.t')") == [{"rollback_savepoint_result": True}]
    assert table.count() == 4
    assert call("delete_savepoint(table => 'db.t')") == [{"delete_savepoint_result": True}]
    assert table.savepoints() == ()


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("show_commit(table => 'trips')", "Did you mean show_commits"),
        ("hive_sync(table => 'trips')", r"table.sync\(\)"),
        ("help(cmd => 'show_comits')", "Did you mean show_commits"),
        ("show_commits()", "lacks its argument table"),
        ("show_commits(table => 'trips', nope => 1)", "It takes table, limit"),
        ("show_commits('trips', 1, 2)", "argument number 3"),
        ("show_commits('trips', table => 'trips')", "given twice"),
        ("show_commits(table => concat('a', 'b'))", "no literal"),
        ("show_commits(table => 'nope')", "not among the tables"),
        ("show_commits", "is no call"),
        ("create_savepoint()", "needs one table"),
        ("run_clean(table => 'trips', skip_locking => true)", "skip_locking"),
        ("run_compaction(op => 'go', table => 'trips')", "op 'go'"),
        ("run_compaction(op => 'execute', table => 'trips', instants => '1')", "no pending compaction"),
        ("rollback_to_savepoint(table => 'trips')", "table.restore"),
    ],
)  # fmt: skip
def test_procedures_that_can_not_run_are_refused(session: Any, text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        session.sql(f"CALL {text}")


def test_changed_rows(session: Any) -> None:
    first = session.table("trips").timeline().writes()[-1].requested
    second = session.sql("UPDATE trips SET fare = 100 WHERE id < 2").commit.completed
    session.sql("UPDATE trips SET fare = 200 WHERE id = 5")
    session.sql("INSERT INTO geo.cities VALUES ('bonn', 'de')")

    def ids(text: str) -> list[Any]:
        return [row["id"] for row in session.sql(f"SELECT id FROM {text} ORDER BY id").to_pylist()]

    assert ids("hudi_table_changes('trips', 'latest_state', 'earliest') WHERE fare >= 100") == [
        0,
        1,
        5,
    ]
    assert ids(f"hudi_table_changes('trips', 'latest_state', '{second}') t") == [5]
    assert ids(
        f"hudi_table_changes('trips', 'latest_state', '{first}', '{second}') WHERE fare > 100 OR fare = 100"
    ) == [0, 1]
    assert ids(
        f"hudi_table_changes('{session.table('trips').path}', 'latest_state', '{second}')"
    ) == [5]
    text = f"SELECT * FROM hudi_table_changes('trips', 'latest_state', '{second}')"
    assert session.sql(text).schema.names[:2] == ["_hoodie_commit_time", "_hoodie_commit_seqno"]
    both = (
        "SELECT a.id FROM hudi_table_changes('trips', 'latest_state', 'earliest') a LEFT ANTI JOIN "
    )
    both += f"hudi_table_changes('trips', 'latest_state', '{second}') b ON a.id = b.id"
    assert session.sql(both).count() == 5


def test_a_table_is_emptied(session: Any) -> None:
    assert session.sql("TRUNCATE TABLE trips").commit.deleted == 6
    assert session.table("trips").count() == 0
    assert session.sql("TRUNCATE TABLE trips").commit.instant == ""


def test_without_duckdb_it_is_named(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(PluginError, match="DuckDB, which is not installed.*pip install"):
        session.sql("SELECT count(*) FROM trips")


def test_a_count_of_all_rows_needs_no_column(session: Any) -> None:
    text = "SELECT _hoodie_commit_time AS at, count(*) AS n FROM trips GROUP BY _hoodie_commit_time"
    assert [row["n"] for row in session.sql(text).to_pylist()] == [6]
    assert session.sql("SELECT count(*) AS n FROM trips").to_pylist() == [{"n": 6}]
    found = session.sql("SELECT *, count(*) OVER () AS n FROM trips WHERE id = 1").to_pylist()
    assert found == [{**trip(1), "n": 1}]


def test_rows_without_a_table(session: Any) -> None:
    found = session.sql("VALUES (1, 'a'), (2, :b)", {"b": "x"}).to_pylist()
    assert found == [{"col1": 1, "col2": "a"}, {"col1": 2, "col2": "x"}]


def test_a_table_gets_another_name(session: Any) -> None:
    session.sql("ALTER TABLE trips RENAME TO journeys")
    session.sql("ALTER TABLE geo.cities RENAME TO places")
    found = session.sql("SELECT count(*) AS n FROM journeys JOIN geo.places USING (city)")
    assert found.to_pylist() == [{"n": 6}]
    tables = session.sql("SHOW TABLES").to_pylist()
    assert {row["tableName"] for row in tables} == {"journeys", "new", "places"}
    with pytest.raises(ConfigError, match="table trips"):
        session.table("trips")


def test_a_name_means_another_place(session: Any, tmp_path: Path) -> None:
    session.sql(f"CREATE TABLE other (id BIGINT) USING hudi LOCATION '{tmp_path}/other'")
    session.sql(f"ALTER TABLE geo.cities SET LOCATION '{tmp_path}/other'")
    session.sql(f"ALTER TABLE trips SET LOCATION '{tmp_path}/other'")
    assert session.table("geo.cities").schema.names == session.table("trips").schema.names == ["id"]


def test_options_last_as_long_as_the_session(session: Any) -> None:
    key, of_all = "hoodie.keep.max.commits", "hoodie.parquet.small.file.limit"

    def options() -> Any:
        return session.table("trips").handle.options

    session.sql(f"ALTER TABLE trips SET TBLPROPERTIES ({key} = '41')")
    session.sql(f"SET {of_all} = 0")
    assert (options()[key], options()[of_all]) == ("41", "0")
    assert of_all in session.table("geo.cities").handle.options
    session.sql("ALTER TABLE trips RENAME TO journeys")
    assert session.table("journeys").handle.options[key] == "41"
    session.sql("ALTER TABLE journeys RENAME TO trips")
    session.sql(f"ALTER TABLE trips UNSET TBLPROPERTIES IF EXISTS ({key}, 'note')")
    session.sql(f"RESET {of_all}")
    assert key not in options() and of_all not in options()
    session.sql(f"SET {of_all} = '0'")
    session.sql("RESET")
    assert of_all not in options()


def test_options_of_a_new_table_count_in_its_session(session: Any) -> None:
    session.sql(
        "CREATE TABLE geo.kept (id INT) USING hudi TBLPROPERTIES (hoodie.keep.max.commits = '41')"
    )
    assert session.table("geo.kept").handle.options["hoodie.keep.max.commits"] == "41"


def test_partitions_in_statements(session: Any) -> None:
    session.sql("INSERT INTO trips PARTITION (city = 'kyiv') VALUES (7, 7D), (8, 8D)")
    session.sql("INSERT INTO trips PARTITION (city) SELECT 9L, 9D, 'bonn'")
    session.sql("INSERT INTO trips PARTITION (city = 'kyiv') (fare, id) SELECT 1D, 10L")
    found = session.sql("SELECT id, city, fare FROM trips WHERE id > 6 ORDER BY id").to_pylist()
    assert [tuple(row.values()) for row in found] == [
        (7, "kyiv", 7.0),
        (8, "kyiv", 8.0),
        (9, "bonn", 9.0),
        (10, "kyiv", 1.0),
    ]
    assert session.sql("SHOW PARTITIONS trips PARTITION (city = 'kyiv')").count() == 1
    dropped = session.sql("ALTER TABLE trips DROP PARTITION (city = 'kyiv')")
    assert dropped.commit.action == "replacecommit"
    session.sql("TRUNCATE TABLE trips PARTITION (city = 'bonn')")
    assert session.sql("SELECT id FROM trips WHERE id > 6").count() == 0


def test_what_an_overwrite_replaces(session: Any) -> None:
    def cities() -> list[tuple[str, int]]:
        text = "SELECT city, count(*) AS n FROM trips GROUP BY city ORDER BY city"
        return [tuple(row.values()) for row in session.sql(text).to_pylist()]

    session.sql("INSERT OVERWRITE trips PARTITION (city = 'oslo') VALUES (2, 2D)")
    assert cities() == [("oslo", 1), ("rome", 3)]
    session.sql("INSERT OVERWRITE trips PARTITION (city = 'oslo') SELECT 2, 2D WHERE false")
    assert cities() == [("rome", 3)]
    session.sql("INSERT OVERWRITE trips PARTITION (city = 'nope') SELECT 2, 2D WHERE false")
    session.sql("SET hoodie.datasource.overwrite.mode=dynamic")
    session.sql("INSERT OVERWRITE trips VALUES (1, 'bonn', 1D)")
    assert cities() == [("bonn", 1), ("rome", 3)]
    session.sql("RESET")
    session.sql("INSERT OVERWRITE trips VALUES (1, 'bonn', 1D)")
    assert cities() == [("bonn", 1)]


def test_reads_by_name(session: Any) -> None:
    found = session.read("trips", ["id"], "fare > 5").to_pylist()
    assert sorted(row["id"] for row in found) == [4, 5]
    assert session.read("geo.cities", as_of=0).count() == 0
    with pytest.raises(ConfigError, match="no table of Hoodoo"):
        session.read("new")


def test_changes_as_hudis_change_data(session: Any) -> None:
    first = session.table("trips").timeline().writes()[-1].requested
    session.sql("UPDATE trips SET fare = 100 WHERE id = 1")
    session.sql("DELETE FROM trips WHERE id = 2")
    text = f"SELECT * FROM hudi_table_changes('trips', 'cdc', '{first}') ORDER BY op"
    rows = session.sql(text).to_pylist()
    assert [(row["op"], row["before"], row["after"]) for row in rows] == [
        ("d", '{"id":2,"city":"oslo","fare":3.0}', None),
        ("u", '{"id":1,"city":"rome","fare":1.5}', '{"id":1,"city":"rome","fare":100.0}'),
    ]


def test_a_table_like_another(session: Any) -> None:
    session.sql("CREATE TABLE geo.more LIKE trips")
    made = session.table("geo.more")
    assert made.schema.names == ["id", "fare", "city"]  # as Spark orders them
    assert made.config.record_key_fields == ("id",) and made.config.partition_fields == ("city",)


def test_a_view_is_read_as_its_query(session: Any) -> None:
    lake = session.names.catalogs
    views = {
        "geo.North": "WITH c AS (SELECT * FROM geo.cities) "
        "SELECT city, country AS land FROM c WHERE country = 'no'",
        "dear": "SELECT t.id, n.land FROM trips t JOIN geo.north n ON t.city = n.city "
        "WHERE t.fare > 2",
    }
    here = hoodoo.session(catalogs=lake, tables=session.names.own, views=views)
    assert here.sql("SELECT * FROM dear ORDER BY id").to_pylist() == [
        {"id": 2, "land": "no"},
        {"id": 4, "land": "no"},
    ]
    found = here.sql("SELECT geo.north.land FROM geo.north JOIN dear AS d ON d.land = north.land")
    assert found.to_pylist() == [{"land": "no"}] * 2
    assert here.sql("WITH dear AS (SELECT 1 AS a) SELECT a FROM dear").to_pylist() == [{"a": 1}]
    merged = here.sql(
        "MERGE INTO trips t USING dear s ON t.id = s.id WHEN MATCHED THEN UPDATE SET fare = 0"
    )
    assert merged.commit is not None and merged.commit.updated == 2
    assert {"geo.north", "dear"} <= {
        ".".join(filter(None, (row["namespace"], row["tableName"])))
        for row in here.sql("SHOW TABLES").to_pylist()
    }


@pytest.mark.parametrize(
    ("views", "text", "says"),
    [
        ({"v": "SELECT 1 AS a"}, "INSERT INTO v SELECT 2", "table v: is a view of the session"),
        ({"v": "DELETE FROM t"}, "SELECT * FROM v", "view v: is no query"),
        (
            {"v": "SELECT * FROM w", "w": "SELECT * FROM v"},
            "SELECT * FROM v",
            "view v: reads itself: v, w, v.",
        ),
        (
            {"v": "SELECT 1 AS a"},
            "SELECT * FROM v VERSION AS OF 1",
            "view v: has a time or version",
        ),
    ],
)
def test_views_that_can_not_be_right(views: dict[str, str], text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(says)) as raised:
        hoodoo.session(views=views).sql(text)
    assert raised.value.fix


def test_views_are_texts() -> None:
    with pytest.raises(ConfigError, match="view v: is a int"):
        hoodoo.session(views={"v": 1})  # type: ignore[dict-item]
    with pytest.raises(ConfigError, match="have one name"):
        hoodoo.session(views={"v": "SELECT 1", "V": "SELECT 1"})


def test_columns_of_a_query(session: Any) -> None:
    found = session.sql("DESCRIBE SELECT id, city, n.fare FROM trips JOIN new n USING (id)")
    assert [(row["col_name"], row["data_type"]) for row in found.to_pylist()] == [
        ("id", "bigint"),
        ("city", "string"),
        ("fare", "double"),
    ]


class ConnectFrame:
    """As a DataFrame of Spark Connect, which answers a column for each name that it is asked for."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def __getattr__(self, name: str) -> Any:
        return object()

    def createOrReplaceTempView(self, name: str) -> None:
        raise AssertionError("frames travel with the query")

    def limit(self, most: int) -> ConnectFrame:
        return self

    def count(self) -> int:
        return self.rows


class ConnectSession:
    def sql(self, text: str, **frames: Any) -> tuple[str, dict[str, Any]]:
        return text, frames


def test_frames_of_spark_connect() -> None:
    frame = ConnectFrame(1)
    query = SimpleNamespace(spark=ConnectSession())
    tree = sqlglot.parse_one("SELECT * FROM news", dialect="spark")
    text, frames = Query._on_spark(cast(Any, query), tree, {"news": frame}, ())
    assert text == "SELECT * FROM {news}" and frames == {"news": frame}
    assert _is_empty(ConnectFrame(0)) and not _is_empty(frame)
    assert _is_empty(pa.table({"a": pa.array([], pa.int8())}))


def test_names_of_other_libraries_lead_on(tmp_path: Path) -> None:
    session = hoodoo.session(tables={"t": hoodoo.create(tmp_path / "t", "id bigint")})
    with pytest.raises(AttributeError, match=r"no attribute 'execute'\. Fix: session\.sql\(text\)"):
        session.execute("SELECT 1")
    result = session.sql("SELECT * FROM t")
    with pytest.raises(AttributeError, match=r"no attribute 'fetchall'\. Fix: .*to_pylist\(\)"):
        result.fetchall()
    with pytest.raises(AttributeError, match="no attribute 'wave'$"):
        session.wave  # noqa: B018


def test_text_after_the_last_semicolon_is_left_out_in_time() -> None:
    """Neither a semicolon within a text ends a statement, nor does what looks like a comment there."""
    assert bare("-- why\n/* and */ SELECT 1 ; -- done\n ;  /* really */ ") == "SELECT 1 "
    assert bare("DELETE FROM t WHERE city = ';--x'") == "DELETE FROM t WHERE city = ';--x'"
    for tail in ("\n" + " " * 2000 + "x", "-" * 2000 + "\nx", "/*" * 500 + "*/x"):
        assert bare(f"SELECT 1;{tail}") == f"SELECT 1;{tail}"


def test_a_table_may_have_the_name_of_what_describe_takes(tmp_path: Path) -> None:
    names = ("history", "detail", "Extended", "schema")
    rows = pa.table({"id": [1]})
    made = {}
    for name in names:
        made[name] = hoodoo.create(tmp_path / name, rows.schema, name=name, record_key="id")
    own = hoodoo.session(tables=made)
    for name in names:
        for text in ("DESCRIBE {}", "desc {};", "DESCRIBE TABLE {}", "DESC EXTENDED {}"):
            found = own.sql(text.format(name)).to_arrow()
            assert found["col_name"][0].as_py() == "id", (text, name)
    with pytest.raises(ConfigError, match="DESCRIBE HISTORY history.*Fix: Write CALL show_commits"):
        own.sql("DESCRIBE HISTORY history")


@pytest.mark.parametrize(
    "part",
    [
        "SORT BY fare",
        "CLUSTER BY fare",
        "DISTRIBUTE BY id SORT BY fare",
    ],
)
def test_sorts_within_tasks_are_of_spark(session: Any, part: str) -> None:
    both = "SELECT id, fare FROM trips UNION ALL SELECT id, fare FROM trips"
    for text in (
        f"{both} {part.removeprefix('DISTRIBUTE BY id ')}",
        f"SELECT id FROM trips {part}",
        f"SELECT * FROM (SELECT id, fare FROM trips {part}) q",
        f"INSERT INTO trips SELECT * FROM trips {part}",
    ):
        with pytest.raises(ConfigError, match=r"has (SORT|CLUSTER) BY.*Fix: Write ORDER BY"):
            session.sql(text)
    rows = session.sql("SELECT id FROM trips DISTRIBUTE BY id").to_arrow()
    assert rows.num_rows == session.sql("SELECT id FROM trips").to_arrow().num_rows


def test_rows_of_lists_are_of_spark(session: Any) -> None:
    for outer in ("", "OUTER "):
        text = f"SELECT id, x FROM trips LATERAL VIEW {outer}explode(array(1, 2)) v AS x"
        with pytest.raises(ConfigError, match=f"has LATERAL VIEW {outer}.*Fix: Give a session"):
            session.sql(text)


def test_numbers_with_a_letter_have_sparks_names(session: Any) -> None:
    found = session.sql("SELECT 1L, 2S, 3Y, 1.5D, 2.5BD, 1F, -4L, CAST(1 AS BIGINT), 5L AS five")
    assert found.to_arrow().column_names == [
        *("1", "2", "3", "1.5", "2.5", "1.0", "-4", "CAST(1 AS BIGINT)", "five")
    ]


@pytest.mark.parametrize(
    "text", ["SELEC * FROM trips", "SELECT * FROM trips WHERE id =", "SELEC 1"]
)
def test_an_error_of_the_text_names_no_class(session: Any, text: str) -> None:
    with pytest.raises(ConfigError, match="is no SQL") as caught:
        session.sql(text)
    assert "sqlglot" not in str(caught.value) and "Token " not in str(caught.value)
