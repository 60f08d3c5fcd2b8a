"""hoodoo.session: statements over tables that have names."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, HoodooError, NotATableError, SchemaError

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
        "INSERT OVERWRITE trips SELECT id, city, 9D FROM trips WHERE city = 'oslo' AND id = 2"
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
    from hoodoo_statements.text.moments import _instant

    assert _instant("2026-01-31") == "20260131000000"
    assert _instant("2026-01-31 12:30:01.5") == "20260131123001500"
    assert _instant("2026-01-31 12:30:01.5+02:00") == "2026-01-31T12:30:01.5+02:00"
    assert _instant("20260131123001500") == "20260131123001500"


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
        ("CREATE VIEW v AS SELECT 1", None, ConfigError, "WITH v AS"),
        ("EXPLAIN SELECT 1", None, ConfigError, "explain"),
        ("SET a = b", None, ConfigError, "options"),
        ("CACHE TABLE trips", None, ConfigError, "to_arrow"),
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
    both = session.sql("SELECT x.of || y.of AS of FROM a.t x JOIN b.t y ON x.id = y.id")
    assert both.to_pylist() == [{"of": "aB"}]
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
