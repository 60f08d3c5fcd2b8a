"""hoodoo.sql: statements that are none, or mean what is not there. What it does is on the page of statements."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hoodoo.errors import ConfigError, DataError, HoodooError, SchemaError

pytestmark = pytest.mark.sampled(3)

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("fare", pa.float64())])


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    made = hoodoo.create(str(tmp_path_factory.mktemp("sql") / "t"), SCHEMA, record_key="id")
    made.upsert([{"id": 1, "city": "oslo", "fare": 1.0}, {"id": 5, "city": "kyiv", "fare": 0.25}])
    yield made
    assert len(made.timeline().instants) == 1


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("selec * from t", ConfigError, "is no SQL"),
        ("drop table t", ConfigError, "of another kind"),
        ("call show_commits(table => 't')", ConfigError, "hoodoo.session"),
        ("select * from t@v1", ConfigError, "@v1 .*VERSION AS OF 1"),
        ("select a.id from t a join t@20240101000000000 on true", ConfigError, "VERSION AS OF 1"),
        ("update t@v0 set fare = 1", ConfigError, "VERSION AS OF 1"),
        ("delete from t; delete from t", ConfigError, "2 statements"),
        ("delete from u", ConfigError, "table u: is not among tables="),
        ("delete from s", ConfigError, "no table of Hoodoo"),
        ("delete from t where idd = 1", SchemaError, "Did you mean id"),
        ("update t set fare = rand()", ConfigError, "another value each time"),
        ("update t set fare = 1, fare = 2", ConfigError, "twice"),
        ("update t set s.fare = 1", HoodooError, "fare"),
        ("insert into t values (1, 'a')", DataError, "2 columns for 3"),
        ("insert into t (id, nope) values (1, 2)", SchemaError, "nope"),
        ("insert overwrite t partition (fare = 1) values (1, 'a')", ConfigError, "PARTITION"),
        ("insert into t by name select 1 as id, 2 as idd", SchemaError, "idd"),
        ("insert into t by name select 1 as id, 2 as id", ConfigError, "twice"),
        ("insert into t by name values (1, 'a', 1.0)", ConfigError, "BY NAME"),
        ("merge into t using nope on t.id = nope.id when matched then delete", ConfigError, "nope"),
        ("merge into t using s on id = id when matched then delete", SchemaError, "target.id or source.id"),
        ("merge into t using s on t.id = s.id when matched then update set *", SchemaError, "lacks columns"),
        ("merge into t using s on t.id = s.id when not matched then insert (id, fare) values (1)", ConfigError, "1 values for 2"),
        ("merge into t using s on t.id = s.id when not matched then delete", ConfigError, "is not possible"),
        ("merge into t using s on t.id = s.id when not matched by target then update set fare = 1", ConfigError, "is not possible"),
        ("merge into t using s on t.id = s.id when not matched by source then insert *", ConfigError, "is not possible"),
        ("merge into t using s on t.id = s.id when matched then insert *", ConfigError, "is not possible"),
        ("merge into t using s as T on t.id = t.id when matched then delete", ConfigError, "one name for"),
        ("merge into t using s when matched then delete", ConfigError, "lacks ON"),
        ("merge into t using s on t.id = s.id when not matched then insert (id, id) values (s.id, 2)", ConfigError, "twice"),
        ("merge into t using s on t.id = s.id when not matched then insert default values", ConfigError, "0 values for 1"),
        ("insert into t (id, ID) values (1, 2)", ConfigError, "twice"),
        ("delete from t join s on t.id = s.id", ConfigError, "JOINS"),
        ("delete from t, s where id = 1", ConfigError, "JOINS"),
        ("delete from t tablesample (1 rows)", ConfigError, "SAMPLE"),
        ("delete from t version as of 1", ConfigError, "VERSION"),
        ("delete from t as r (city, id) where id = 1", ConfigError, "COLUMNS"),
        ("update t join s on t.id = s.id set fare = 1", ConfigError, "JOINS"),
        ("update t set fare = 1 from s where t.id = s.id", ConfigError, "FROM"),
        ("insert or ignore into t values (1, 'a', 1.0)", ConfigError, "ALTERNATIVE"),
        ("insert into t replace using (id) select 1, 'a', 1.0", ConfigError, "USING"),
        ("delete from (select 1) where id = 1", ConfigError, "the name of a table"),
        ("insert overwrite directory 'd' select 1", ConfigError, "the name of a table"),
        ("insert into t", ConfigError, "no rows that are known"),
        ("select nope from t", SchemaError, "nope"),
        ("select id from t timestamp as of nope", ConfigError, "as_of="),
        ("select x from path", ConfigError, "is the path"),
        (None, ConfigError, "takes a text, not NoneType"),
    ],
)  # fmt: skip
def test_what_can_not_be_right_is_refused(
    table: Any, text: str, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        hoodoo.sql(text, {"t": table, "s": [{"id": 1, "x": 2}], "path": "/tmp/t"})


def test_names_without_a_dictionary_are_refused(table: Any) -> None:
    with pytest.raises(ConfigError, match="a dict with texts as keys or None, not list"):
        hoodoo.sql("select * from t", [table])


def test_sources_and_inserts_of_values(tmp_path: Path) -> None:
    made = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    made.upsert([{"id": 1, "city": "oslo", "fare": 1.0}])
    commit = hoodoo.sql(
        "MERGE INTO t USING (VALUES (1, 2.5), (2, 3.5)) AS v(ride, fare) ON t.id = v.ride "
        "WHEN MATCHED THEN UPDATE SET fare = v.fare WHEN NOT MATCHED THEN INSERT VALUES (v.ride, 'rome', v.fare)",
        {"t": made},
    )
    assert (commit.updated, commit.inserted) == (1, 1)
    rows = sorted(made.read().to_pylist(), key=lambda r: r["id"])
    assert [tuple(r.values()) for r in rows] == [(1, "oslo", 2.5), (2, "rome", 3.5)]


def test_inserts_by_name_and_in_place_of_what_is_there(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    made = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id", partition_by="city")
    tables = {"t": made}
    hoodoo.sql("INSERT INTO t BY NAME SELECT 1.5 AS fare, 'oslo' AS city, 1 AS id", tables)
    hoodoo.sql("INSERT INTO t VALUES (2, 'rome', 2.5), (3, 'oslo', 3.5)", tables)
    hoodoo.sql("INSERT OVERWRITE t PARTITION (city = 'oslo') SELECT 4, 4.5", tables)
    found = sorted(tuple(row.values()) for row in made.read().to_pylist())
    assert found == [(2, "rome", 2.5), (4, "oslo", 4.5)]
    hoodoo.sql("INSERT OVERWRITE t SELECT 5 AS id, 'bonn' AS city, 5.5 AS fare", tables)
    assert [tuple(row.values()) for row in made.read().to_pylist()] == [(5, "bonn", 5.5)]
    with pytest.raises(ConfigError):
        hoodoo.sql("alter system flush everything", tables)
    assert capfd.readouterr().err == ""


def test_delta_spells_clauses_otherwise(table: Any) -> None:
    merge = table.merge([{"id": 1}], on="id")
    with pytest.raises(AttributeError, match="when_matched_update"):
        merge.whenMatchedUpdate(set={"fare": "1"})
    assert not hasattr(merge, "when_met")


def test_queries_take_lazy_frames_and_datasets(table: Any) -> None:
    polars = pytest.importorskip("polars")
    given = {
        "t": table,
        "lazy": polars.LazyFrame({"id": [1]}),
        "ds": ds.dataset(pa.table({"id": [1]})),
    }
    found = hoodoo.sql("SELECT t.city FROM t JOIN lazy USING (id) JOIN ds USING (id)", given)
    assert found.to_pylist() == [{"city": "oslo"}]


def test_queries_read_what_they_need(table: Any) -> None:
    names = {"db.t": table, "s": pa.table({"id": [1, 2], "x": ["a", "b"]})}
    found = hoodoo.sql(
        "WITH w AS (SELECT id, x FROM s) SELECT w.x, r.city FROM db.t AS r JOIN w ON r.id = w.id WHERE r.fare <= 1",
        names,
    )
    assert found.to_pylist() == [{"x": "a", "city": "oslo"}]
    assert hoodoo.sql("SELECT count(*) AS n FROM db.t WHERE city = 'rome'", names).to_pylist() == [
        {"n": 0}
    ]


NOT_ITS_ROWS = [
    # A condition after an outer join is one of the joined rows.
    "SELECT v.id FROM (VALUES (1), (99)) AS v(id) LEFT JOIN t ON v.id = t.id WHERE t.id IS NULL",
    "SELECT v.id FROM t RIGHT JOIN (VALUES (1), (99)) AS v(id) ON v.id = t.id WHERE t.fare IS NULL",
    "SELECT EXISTS(SELECT 1 FROM t WHERE t.id = 1) AS a FROM (VALUES (2)) AS v(id) WHERE id = 2",
    # Columns that are used, and not named.
    "SELECT id, x FROM t NATURAL JOIN s",
    "SELECT r.a AS a, r.city AS b FROM t AS r (a, city) ORDER BY 1",
    "SELECT id FROM t AS r (fare, id) ORDER BY 1",
    "SELECT * FROM t AS r (fare, city, id) WHERE fare = 5",
    "SELECT oslo FROM t PIVOT (max(fare) FOR city IN ('oslo', 'kyiv')) ORDER BY 1",
    "SELECT t FROM t WHERE id = 1",
    "SELECT count(r) AS n, min(r) AS least FROM t r",
]


@pytest.mark.parametrize("text", NOT_ITS_ROWS)
def test_queries_of_a_table_answer_what_they_do_of_its_rows(table: Any, text: str) -> None:
    rows = table.read().to_arrow()
    other = pa.table({"id": [1, 2], "city": ["nowhere", "oslo"], "x": ["a", "b"]})
    found, expected = (hoodoo.sql(text, {"t": t, "s": other}) for t in (table, rows))
    assert found.to_pylist() == expected.to_pylist()


def test_names_of_which_sql_makes_one_are_refused(table: Any) -> None:
    """The statement would change one of the two, and nobody would know which."""
    for names in ({"Trips": table, "trips": table}, {1: table}):
        with pytest.raises(ConfigError, match="one name|texts as keys"):
            hoodoo.sql("DELETE FROM trips", names)


@pytest.mark.parametrize(
    "text", ["DELETE FROM t WHERE *", "UPDATE t SET fare = 1 WHERE *", "UPDATE t SET fare = *"]
)
def test_a_star_is_no_condition(table: Any, text: str) -> None:
    with pytest.raises(ConfigError, match="has a star"):
        hoodoo.sql(text, {"t": table})


@pytest.mark.parametrize(
    "using",
    [
        "(SELECT fare, id FROM s) AS q (id, fare)",
        "s AS q (id, city, fare)",
        "(VALUES (7, 1), (8, 2)) AS q (fare, id)",
    ],
)
def test_a_source_whose_columns_get_names(tmp_path: Path, using: str) -> None:
    """The names after AS are the columns in their order, whatever they were called."""
    made = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    made.upsert([{"id": n, "city": "oslo", "fare": 0.0} for n in (1, 2, 7, 8)])
    other = pa.table({"fare": [1, 2], "city": ["a", "b"], "id": [7, 8]})
    text = f"MERGE INTO t USING {using} ON t.id = q.id WHEN MATCHED THEN UPDATE SET fare = q.fare"
    assert hoodoo.sql(text, {"t": made, "s": other}).updated == 2
    found = {row["id"]: row["fare"] for row in made.read().to_pylist()}
    assert found == {1: 7, 2: 8, 7: 0, 8: 0}


def test_a_source_is_of_the_time_that_a_statement_says(table: Any) -> None:
    text = "MERGE INTO t USING t VERSION AS OF 0 AS q ON t.id = q.id WHEN MATCHED THEN DELETE"
    assert hoodoo.sql(text, {"t": table}).instant == ""
    with pytest.raises(ConfigError, match="as_of="):
        hoodoo.sql(text.replace("0 AS q", "nope AS q"), {"t": table})


def test_with_before_insert_is_of_the_query(tmp_path: Path) -> None:
    made = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    other = pa.table({"id": [1], "city": ["other"], "fare": [0.0]})
    text = "WITH s AS (SELECT 7 AS id, 'with' AS city, 1 AS fare) INSERT INTO t SELECT * FROM s"
    hoodoo.sql(text, {"t": made, "s": other})
    assert made.read(["id", "city"]).to_pylist() == [{"id": 7, "city": "with"}]
