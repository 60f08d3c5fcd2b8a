"""The workspace of the adapter of dbt; it needs no dbt."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, CorruptTableError, DuplicateKeyError, HoodooError
from hoodoo_dbt.statements import Create, Drop, Rename, Schema, known, split
from hoodoo_dbt.workspace import Workspace, arrow_of

KEYED = "using hudi tblproperties (primaryKey = 'id')"


@pytest.fixture
def here(tmp_path: Path) -> Workspace:
    return Workspace.at(str(tmp_path / "lake"))


def answer(here: Workspace, text: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in here.execute(text).to_pylist()]


def test_what_statements_say() -> None:
    assert known("create or replace table `a`.`b`.`c` using hudi as\nselect 1 as x") == Create(
        "table", "a.b.c", "using hudi", "select 1 as x", replace=True
    )
    assert known("CREATE TEMPORARY TABLE t AS -- so\nWITH a AS (SELECT 1) SELECT * FROM a") == (
        Create("table", "t", "", "-- so\nWITH a AS (SELECT 1) SELECT * FROM a", temporary=True)
    )
    assert known("create view v as (select 1 as as_of)") == Create(
        "view", "v", "", "(select 1 as as_of)"
    )
    assert known("drop table if exists a.b") == Drop("table", "a.b", spared=True)
    assert known("drop schema if exists `lake`.`s` cascade") == Schema("drop", "lake.s")
    assert known("alter table a.b rename to a.c") == Rename("a.b", "a.c")
    assert known("create table t (id bigint) using hudi") is None
    assert split("/* head */ select ';' as a; -- end\n\nselect 2;") == [
        "select ';' as a",
        "select 2",
    ]
    with pytest.raises(ConfigError, match=r"statement: is no SQL.*Fix: Close its quotes"):
        split("select 'a")


def test_a_table_that_stays_what_it_is_is_overwritten_in_one_commit(here: Workspace) -> None:
    for n in (1, 2):
        here.execute(f"create or replace table s.t {KEYED} as select {n} as id, 'a' as city")
    assert answer(here, "select * from lake.s.t") == [(2, "a")]
    table = here.session().table("s.t")
    assert [one["operation"] for one in table.history()] == ["insert_overwrite_table", "upsert"]
    assert table.read(as_of=1).to_arrow()["id"].to_pylist() == [1]
    here.execute(f"create or replace table s.t {KEYED} as select 3 as id, 'a' as city where false")
    assert answer(here, "select * from s.t") == []


def test_a_table_that_becomes_another_takes_the_name(here: Workspace, tmp_path: Path) -> None:
    here.execute(f"create table s.t {KEYED} as select 1 as id, 'a' as city")
    before = here.lake.entry("s.t").location
    here.execute(
        "create or replace table s.t partitioned by (city) as select 'x' as n, 'b' as city"
    )
    after = here.lake.entry("s.t").location
    assert answer(here, "select n, city from s.t") == [("x", "b")] and before != after
    assert not (tmp_path / "lake/s/t").exists() and after.endswith("/t")
    assert hoodoo.open(after).config.name == "t"


def test_two_rows_of_one_key_change_nothing(here: Workspace, tmp_path: Path) -> None:
    twice = "select 1 as id, 'a' as city union all select 1, 'b'"
    for _ in range(2):
        with pytest.raises(DuplicateKeyError, match="does not tell the rows apart"):
            here.execute(f"create or replace table s.t {KEYED} as {twice}")
        here.execute(f"create or replace table s.t {KEYED} as select 1 as id, 'a' as city")
        assert answer(here, "select * from s.t") == [(1, "a")]
    assert [path.parent.name for path in (tmp_path / "lake/s").rglob(".hoodie")] == ["t"]
    ordered = "using hudi tblproperties (primaryKey = 'id', orderingFields = 'city')"
    here.execute(f"create or replace table s.o {ordered} as {twice}")
    here.execute(f"create or replace table s.o {ordered} as {twice}")
    assert answer(here, "select * from s.o") == [(1, "b")]


def test_views_are_stored_and_read_each_other(here: Workspace, tmp_path: Path) -> None:
    here.execute(f"create table s.t {KEYED} as select 1 as id, 'a' as city")
    here.execute("create view s.V as (select id + 1 as n from s.t)")
    here.execute(
        "create view lake.s.w as with a as (select n from lake.s.v) select n * 2 as m from a"
    )
    other = Workspace.at(str(tmp_path / "lake"))
    assert answer(other, "select m from s.w") == [(4,)]
    assert other.relations("s") == [("t", "table"), ("v", "view"), ("w", "view")]
    assert other.columns("s.w") == [("m", "int")]
    here.execute("alter view s.w rename to u; drop view s.v")
    assert here.relations("s") == [("t", "table"), ("u", "view")]
    here.execute("create or replace view s.t as select 5 as five")
    assert answer(here, "select * from s.t") == [(5,)] and not (tmp_path / "lake/s/t").exists()
    here.execute("create or replace table s.t as select 6 as six")
    assert here.relations("s") == [("t", "table"), ("u", "view")]
    (tmp_path / "lake/.hoodoo-dbt/s/u.json").write_text("{}")
    with pytest.raises(CorruptTableError, match=r"u.json: is no view.*Fix: Delete the file"):
        here.execute("select * from s.u")


def test_temporary_rows_are_of_one_workspace(here: Workspace, tmp_path: Path) -> None:
    here.hold("lake.s.held", arrow_of({"a": [1, 2], "b": [None, None]}))
    here.execute("create temporary table lake.s.twice as select a * 2 as a from lake.s.held")
    assert answer(here, "select a from s.twice") == [(2,), (4,)]
    assert here.columns("s.held") == [("a", "bigint"), ("b", "string")] and here.has("s.held")
    assert here.relations("s") == [] and not Workspace.at(str(tmp_path / "lake")).has("s.held")
    assert here.drop("lake.s.held") and not here.has("s.held")


def test_schemas(here: Workspace, tmp_path: Path) -> None:
    here.execute("create schema if not exists lake.empty")
    here.execute("create table s.t as select 1 as a; create view s.v as select 2 as b")
    assert here.schemas() == ["empty", "s"]
    here.execute("drop schema s cascade")
    assert here.schemas() == ["empty"] and here.relations("s") == []
    assert not list((tmp_path / "lake/s").rglob("*.parquet"))


def test_names_stay_when_files_do(here: Workspace) -> None:
    here.execute("create table s.a as select 1 as x")
    here.execute("alter table s.a rename to s.b")
    here.execute("create table s.a as select 2 as x")
    assert answer(here, "select * from s.b union all select * from s.a") == [(1,), (2,)]


def test_files_elsewhere_are_not_deleted(here: Workspace, tmp_path: Path) -> None:
    far = hoodoo.create(tmp_path / "far", pa.table({"id": [1]}), record_key="id")
    here.lake.register("s.far", str(tmp_path / "far"))
    assert here.drop("s.far") and far.read().count() == 1


def test_settings_count_for_what_comes_after(here: Workspace) -> None:
    here.execute(
        "create table s.t partitioned by (c) as select 1 as a, 'x' as c union all select 2, 'y'"
    )
    here.execute(
        "set hoodie.datasource.overwrite.mode = dynamic; insert overwrite s.t select 3, 'y'"
    )
    assert answer(here, "select a from s.t order by a") == [(1,), (3,)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "create table far.s.t as select 1 as a",
            "name far.s.t: is of the database far, and only lake",
        ),
        ("create table s.there as select 1 as a", "table s.there: is there already."),
        ("create view s.there as select 1 as a", "table s.there: is there already."),
        ("drop table s.nowhere", "table s.nowhere: is not there (its schema has there)."),
        ("create view s.v as select * from s.nowhere", "table s.nowhere: is not among the tables"),
        ("insert into s.seen select 1", "table s.seen: is a view of the session"),
    ],
)
def test_what_can_not_be_is_refused(here: Workspace, text: str, says: str) -> None:
    here.execute("create table s.there as select 1 as a")
    if "seen" in text:
        here.execute("create view s.seen as select 1 as a")
    with pytest.raises(HoodooError, match=re.escape(says)) as raised:
        here.execute(text)
    assert raised.value.fix


def test_a_catalog_without_a_folder_needs_one(monkeypatch: pytest.MonkeyPatch) -> None:
    class Elsewhere:
        class place:
            plugin, uri = "glue", "glue://"

    monkeypatch.setattr(hoodoo, "catalog", lambda *_: Elsewhere())
    with pytest.raises(ConfigError, match="does not say where new tables and views lie"):
        Workspace.at("glue://")
    assert Workspace.at("glue://", location_root="/tmp/far").root == "file:///tmp/far"


@pytest.mark.spark
def test_spark_computes_the_same(tmp_path: Path, spark: Any) -> None:
    here = Workspace.at(str(tmp_path / "lake"), spark=spark)
    for n in (1, 2):
        here.execute(
            f"create or replace table s.t {KEYED} as select {n} as id, 'a' as city "
            "union all select 5, reverse('cba')"
        )
    assert sorted(answer(here, "select * from s.t")) == [(2, "a"), (5, "abc")]
    assert len(here.session().table("s.t").history()) == 2
    here.execute("create view s.v as select id from s.t where id > 2")
    here.execute("create temporary table s.new as select id + 1 as id, 'b' as city from s.v")
    here.execute(
        "merge into s.t using s.new as n on t.id = n.id when matched then update set city = n.city "
        "when not matched then insert (id, city) values (n.id, n.city)"
    )
    assert sorted(answer(here, "select * from s.t")) == [(2, "a"), (5, "abc"), (6, "b")]
    assert here.columns("s.v") == [("id", "int")]
    twice = "select 1 as id, 'a' as city union all select 1, 'b'"
    for name in ("first", "t"):
        with pytest.raises(DuplicateKeyError, match="1 of 2 have the key of another"):
            here.execute(f"create or replace table s.{name} {KEYED} as {twice}")
    assert here.relations("s") == [("t", "table"), ("v", "view")]
    assert sorted(answer(here, "select id from s.t")) == [(2,), (5,), (6,)]
    ordered = "using hudi tblproperties (primaryKey = 'id', orderingFields = 'city')"
    here.execute(f"create or replace table s.o {ordered} as {twice}")
    assert answer(here, "select * from s.o") == [(1, "b")]
