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
    made.upsert([{"id": 1, "city": "oslo", "fare": 1.0}])
    yield made
    assert len(made.timeline().instants) == 1


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("selec * from t", ConfigError, "is no SQL"),
        ("drop table t", ConfigError, "of another kind"),
        ("delete from t; delete from t", ConfigError, "2 statements"),
        ("delete from u", ConfigError, "table u: is not among tables="),
        ("delete from s", ConfigError, "no table of Hoodoo"),
        ("delete from t where idd = 1", SchemaError, "Did you mean id"),
        ("update t set fare = rand()", ConfigError, "another value each time"),
        ("update t set fare = (select 1)", ConfigError, "has a query"),
        ("update t set fare = 1, fare = 2", ConfigError, "twice"),
        ("update t set s.fare = 1", HoodooError, "fare"),
        ("insert into t values (1, 'a')", DataError, "2 columns for 3"),
        ("insert into t (id, nope) values (1, 2)", SchemaError, "nope"),
        ("insert overwrite t partition (city = 'a') values (1, 1.0)", ConfigError, "PARTITION"),
        ("insert into t by name select 1 as id, 2 as idd", SchemaError, "idd"),
        ("insert into t by name select 1 as id, 2 as id", ConfigError, "twice"),
        ("insert into t by name values (1, 'a', 1.0)", ConfigError, "BY NAME"),
        ("merge into t using nope on t.id = nope.id when matched then delete", ConfigError, "nope"),
        ("merge into t using s on id = id when matched then delete", SchemaError, "target.id or source.id"),
        ("merge into t using s on t.id = s.id when matched then update set *", SchemaError, "lacks columns"),
        ("merge into t using s on t.id = s.id when not matched then insert (id, fare) values (1)", ConfigError, "1 values for 2"),
        ("select nope from t", SchemaError, "nope"),
        ("select id from t timestamp as of '2024-01-01'", ConfigError, "as_of="),
        ("select x from path", DataError, "is a path"),
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
    hoodoo.sql("INSERT OVERWRITE t SELECT 4 AS id, 'oslo' AS city, 4.5 AS fare", tables)
    found = sorted(tuple(row.values()) for row in made.read().to_pylist())
    assert found == [(2, "rome", 2.5), (4, "oslo", 4.5)]
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
