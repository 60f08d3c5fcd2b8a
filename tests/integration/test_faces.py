"""What a user meets first: reads in other libraries, calls that can't be right, paths that are no tables."""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import (
    CallError,
    ConfigError,
    DataError,
    HoodooError,
    NotATableError,
    PluginError,
    SchemaError,
)
from hoodoo_cli.testing.command import run_command
from hoodoo_rows.api import Rows

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("day", pa.date32())])
ROWS = pa.table([[1, 2, 3], ["oslo", "rome", None], [date(2024, 1, 1)] * 3], schema=SCHEMA)


@pytest.fixture
def table(tmp_path: Path) -> hoodoo.Table:
    made = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    made.upsert(ROWS)
    return made


# --- reads ----------------------------------------------------------------------------------------
def test_fault_c_a_read_becomes_what_others_have(table: hoodoo.Table) -> None:
    import pandas as pd
    import polars as pl

    scan = table.read(["id", "city"], where=pc.field("id") > 1)
    expected = [{"id": 2, "city": "rome"}, {"id": 3, "city": None}]
    assert scan.to_pylist() == expected
    assert scan.to_pandas().to_dict("list")["id"] == [2, 3]
    assert scan.to_polars().to_dicts() == expected
    assert pl.LazyFrame(scan).collect().to_dicts() == expected
    assert [batch.num_rows for batch in scan] == [2]
    assert pa.table(scan).to_pylist() == expected
    for wrong in (lambda: pd.DataFrame(scan), lambda: len(scan), lambda: bool(scan)):
        with pytest.raises(TypeError) as caught:
            wrong()
        assert isinstance(caught.value, HoodooError)
        assert "count()" in str(caught.value) or "to_pandas()" in str(caught.value)
    lazy = pl.scan_pyarrow_dataset(scan)  # type: ignore[arg-type]
    with pytest.raises(Exception, match="to_dataset"):
        lazy.collect()


def test_head_reads_as_far_as_it_takes(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA)
    for _ in range(30):
        table.append(ROWS)
    opened: list[Any] = []

    class Counted:
        def __getattr__(self, name: str) -> Any:
            return getattr(table.handle.storage, name)

        def open(self, path: str) -> Any:
            opened.append(path)
            return table.handle.storage.open(path)

    from attrs import evolve

    scan = table.read(["id"])
    scan = evolve(scan, source=evolve(scan.source, storage=Counted()))
    assert scan.head(2).to_pylist() == [{"id": 1}, {"id": 2}]
    assert scan.head(4).num_rows == 4
    assert 0 < len(opened) < 30
    assert scan.head(1000).num_rows == 90
    assert scan.head(0).schema == scan.schema
    assert table.read([]).head(2).num_rows == 2
    with pytest.raises(CallError, match="number of rows"):
        scan.head(-1)
    assert table.changes("earliest").head(3).num_rows == 3


def test_fault_c_what_is_printed_is_short(table: hoodoo.Table) -> None:
    for _ in range(5):
        table.upsert(ROWS)
    wide = pa.schema([(f"a_column_with_a_long_name_{n}", pa.int64()) for n in range(200)])
    other = hoodoo.create(table.path + "wide", wide)
    other.append(wide.empty_table())
    where = pc.field("id").isin(list(range(1000)))
    shown = [
        table, table.read(), table.read(where=where), table.read().plan, table.timeline(), table.config,
        table.changes("earliest"), table.changes("earliest").plan, table.file_slices()[0],
        table.upsert(ROWS), table.stats(), table.verify(), table.clean(commits_retained=1),
        table.archive(), other.read(), other.config,
    ]  # fmt: skip
    table.savepoint()
    shown += table.savepoints()
    for one in shown:
        assert len(repr(one)) < 300, repr(one)
        assert "\n" not in repr(one)
    assert "t: 1 of 1 file slices" in repr(table.read())
    assert "id, city, day" in repr(table.read())


def test_notebooks_show_tables_and_no_html_of_others(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    schema = pa.schema([("id", pa.int64()), ("s", pa.string())])
    table = hoodoo.create(str(tmp_path / "a<b>c"), schema, record_key="id")
    commit = table.upsert(pa.table([[1], ["x"]], schema=schema))
    where = pc.field("s") == evil
    shown = {
        "table": table, "scan": table.read(where=where), "commit": commit, "timeline": table.timeline(),
        "changes": table.changes("earliest"), "limited": table.read().limit(3),
    }  # fmt: skip
    for name, one in shown.items():
        text = one._repr_html_()
        assert text.startswith("<table>") and "<script" not in text and "<b>" not in text, name
        assert len(text) < 3000, name
    assert "&lt;script" in shown["scan"]._repr_html_()
    assert "a&lt;b&gt;c" in table._repr_html_() or "a%3Cb%3Ec" in table._repr_html_()
    assert commit.instant in commit._repr_html_() and "1 inserted" in commit._repr_html_()
    assert commit.instant in shown["timeline"]._repr_html_()
    for _ in range(16):
        table.upsert(pa.table([[1], ["x"]], schema=schema))
    assert "more</td>" in table.timeline()._repr_html_()


def test_dir_lists_what_there_is() -> None:
    assert {"create", "open", "Table"} <= set(dir(hoodoo))


# --- calls ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda t: hoodoo.create("x", SCHEMA, partitionby="id"), "Did you mean 'partition_by'"),
        (lambda t: hoodoo.create("x"), "lacks 'schema'"),
        (lambda t: hoodoo.create("x", SCHEMA, "name"), "2 positional arguments, and 3"),
        (lambda t: hoodoo.open("x", storage_options={}), "Did you mean 'options'"),
        (lambda t: t.upsert(ROWS, options={}), "hoodoo.open\\(path, options"),
        (lambda t: t.upsert(), "Table.upsert: lacks 'data'"),
        (lambda t: t.upsert(ROWS, data=ROWS), "argument 'data' twice"),
        (lambda t: t.read(filter=None), "Did you mean 'where'"),
        (lambda t: t.cluster(column="id"), "Did you mean 'columns'"),
        (lambda t: t.compact(1, 2), "1 positional argument, and 2"),
        (lambda t: t.read().head(rows=3), "there is no argument 'rows'"),
        (lambda t: t.verify(fast=True), "It is called as Table.verify\\(\\*, quick=..."),
    ],
)
def test_fault_c_a_misspelt_argument(
    table: hoodoo.Table, call: Callable[[Any], Any], says: str
) -> None:
    with pytest.raises(TypeError, match=says) as caught:
        call(table)
    assert isinstance(caught.value, CallError)
    assert caught.value.fix


def test_a_type_error_from_within_stays_what_it_is(table: hoodoo.Table) -> None:
    class Merger:
        merge_mode = property(lambda self: {}["x"])

    def broken(*args: Any, **kwargs: Any) -> Any:
        return len(None)  # type: ignore[arg-type]

    table.handle.plan_read = broken  # type: ignore[method-assign]
    with pytest.raises(TypeError, match="NoneType") as caught:
        table.read()
    assert not isinstance(caught.value, HoodooError)


def test_signatures_stay(table: hoodoo.Table) -> None:
    arguments = ["data", "engine", "batch", "add_columns"]
    assert list(inspect.signature(table.upsert).parameters) == arguments
    assert next(iter(inspect.signature(hoodoo.open).parameters)) == "path"
    assert (hoodoo.create.__name__, hoodoo.create.__module__) == ("create", "hoodoo.table.table")
    assert "Create a table" in (hoodoo.create.__doc__ or "")
    assert "Update rows" in (hoodoo.Table.upsert.__doc__ or "")
    assert pickle.loads(pickle.dumps(hoodoo.create)) is hoodoo.create
    for kind in (hoodoo.Table, Rows):
        for name, member in inspect.getmembers(kind, inspect.isfunction):
            assert name.startswith("_") or member.__doc__ or name in ("to_batches", "count"), name


def test_fault_c_an_engine_that_is_none_is_refused_before_anything_is_written(
    tmp_path: Path, table: hoodoo.Table
) -> None:
    with pytest.raises(PluginError, match=r"engine 'duckdb'.*local, spark"):
        hoodoo.create(str(tmp_path / "new"), SCHEMA, engine="duckdb")
    assert not (tmp_path / "new").exists()
    with pytest.raises(PluginError, match="engine 'duckdb'"):
        hoodoo.open(table.path, engine="duckdb")
    with pytest.raises(PluginError, match="lacks"):
        hoodoo.open(table.path, engine=object())  # type: ignore[arg-type]
    assert hoodoo.open(table.path, engine="Local").read().count() == 3


# --- data -----------------------------------------------------------------------------------------
def test_fault_c_python_rows_and_columns(table: hoodoo.Table) -> None:
    table.upsert(
        [{"id": 1, "city": "bonn"}, {"id": 9, "day": date(2025, 5, 5), "new": 1.5}],
        add_columns=True,
    )
    found = {row["id"]: row for row in table.read(["id", "city", "day", "new"]).to_pylist()}
    assert found[1] == {"id": 1, "city": "bonn", "day": None, "new": None}
    assert found[9] == {"id": 9, "city": None, "day": date(2025, 5, 5), "new": 1.5}
    table.upsert({"id": [2, 3], "city": pa.array(["a", None])})
    assert table.read(["city"], where=pc.field("id") == 2).to_pylist() == [{"city": "a"}]
    before = table.timeline().instants
    assert table.upsert([]).inserted == 0
    assert table.delete([{"id": 2}, {"id": 3}]).deleted == 2
    assert table.delete([1]).deleted == 1
    assert len(table.timeline().instants) > len(before)
    assert table.schema.field("id").type == pa.int64()


@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        ([{"id": "one"}], SchemaError, "column id: the table's type is int64"),
        ([{"id": 1, "day": "2024-01-01"}], SchemaError, "column day: the table's type is date32"),
        ([{"id": 1}, 7], DataError, "one is a int"),
        ({"id": 1, "city": "a"}, DataError, r"\[row\]"),
        ({"id": [1, 2], "city": ["a"]}, DataError, "id 2, city 1"),
        ([{1: 2}], DataError, "is not a column name"),
        ([(1, "a")], DataError, "a list of tuple, which names no columns"),
        ([ROWS], DataError, "concat_tables"),
        (ROWS.to_batches(), DataError, "Table.from_batches"),
        (ROWS["id"], DataError, "is a single column"),
        (iter([{"id": 1}]), DataError, "RecordBatchReader.from_batches"),
        ("rows.parquet", DataError, "pyarrow.dataset.dataset"),
        (None, DataError, "is no data"),
        (7, DataError, "is not Arrow"),
    ],
)
def test_fault_c_data_that_is_not_arrow_says_how(
    table: hoodoo.Table, data: Any, error: type[HoodooError], says: str
) -> None:
    with pytest.raises(error, match=says):
        table.upsert(data)
    assert table.read().count() == 3


def test_fault_c_data_of_other_libraries_says_how(table: hoodoo.Table) -> None:
    import pandas as pd
    import polars as pl

    for data, says in (
        (pl.Series("id", [1]), r"to_frame\(\)"),
        (pd.Series([1]), r"to_frame\(\)"),
    ):
        with pytest.raises(DataError, match=says):
            table.upsert(data)
    assert table.upsert(table).updated == 3  # a table is a stream of its rows


def test_rows_of_other_libraries_are_taken(table: hoodoo.Table) -> None:
    import duckdb
    import polars as pl

    frame = pl.DataFrame({"id": [7, 8], "city": ["bonn", None]})
    relation = duckdb.sql("SELECT 14::BIGINT AS id, 'rome' AS city")
    given: list[Any] = [
        frame,
        frame.lazy().with_columns(pl.col("id") + 2),
        frame.lazy().filter(pl.col("id") > 100),
        (batch for batch in pa.table({"id": [11, 12]}).to_batches(max_chunksize=1)),
        iter([pa.table({"id": [13]})]),
        relation,
        table.read().limit(1),
        table.read(["id", "city"]).to_dataset(),
        [{"id": 15, "city": "oslo"}, {"id": 16}],
    ]
    for data in given:
        table.upsert(data)
    ids = [1, 2, 3, *range(7, 17)]
    assert sorted(table.read().to_arrow()["id"].to_pylist()) == ids
    with pytest.raises(DataError, match="list\\(data\\)"):
        table.upsert(row for row in [{"id": 1}])
    with pytest.raises(pl.exceptions.PolarsError):
        table.upsert(frame.lazy().select("nothing"))
    assert not table.timeline().pending()


def test_fault_c_delete_by_keys_without_a_key(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA)
    with pytest.raises(DataError, match="the table has no record key"):
        table.delete([1])


# --- paths ----------------------------------------------------------------------------------------
def foreign(home: Path) -> Iterator[tuple[str, str]]:
    """Paths that are no tables, and what is said of them."""
    (home / "file").write_text("x")
    yield "file", "it is a file"
    pq.write_table(ROWS, home / "one.parquet")
    yield "one.parquet", r"it is a Parquet file.*pyarrow.dataset.dataset"
    ds.write_dataset(
        ROWS, home / "pq", format="parquet", partitioning=["city"], partitioning_flavor="hive"
    )
    yield "pq", r"directory of Parquet files.*hoodoo\.convert.*hoodoo\.bootstrap"
    (home / "delta/_delta_log").mkdir(parents=True)
    yield "delta", r"it is a Delta Lake table.*hoodoo\.convert"
    (home / "ice/metadata").mkdir(parents=True)
    (home / "ice/metadata/v9.metadata.json").write_text("{}")
    yield "ice", r"it is an Iceberg table.*hoodoo\.convert"
    (home / "lance/_versions").mkdir(parents=True)
    yield "lance", r"it is a Lance dataset.*lance.dataset"
    hoodoo.create(str(home / "all/trips"), SCHEMA, record_key="id", partition_by="city").insert(
        ROWS
    )
    yield "all", r"a directory of Hudi tables: trips.*all/trips"
    yield "all/trips/oslo", "the directory oslo of the Hudi table .*/all/trips"
    yield "all/trips/.hoodie/timeline", "the directory .hoodie/timeline of the Hudi table"
    (home / "other").mkdir()
    yield "other", "it is empty"
    (home / "other/a.csv").write_text("")
    yield "other", "it holds a.csv"
    yield "nowhere", "the path does not exist"


def test_fault_c_open_says_what_it_found(tmp_path: Path) -> None:
    for path, says in foreign(tmp_path):
        with pytest.raises(NotATableError, match=rf"no \.hoodie directory; .*{says}"):
            hoodoo.open(str(tmp_path / path))


def test_the_fix_for_parquet_files_can_be_copied(tmp_path: Path) -> None:
    source = tmp_path / "pq"
    ds.write_dataset(
        ROWS, source, format="parquet", partitioning=["city"], partitioning_flavor="hive"
    )
    with pytest.raises(NotATableError) as raised:
        hoodoo.open(source)
    for call in re.findall(r"hoodoo\.\w+\([^)]*\)", raised.value.fix):
        text = call.replace("NEW_PATH", "new").replace("...", '"id"')
        new = str(tmp_path / call.partition("(")[0])
        table = eval(text, {"hoodoo": hoodoo, "new": new})
        assert table.read().count() == ROWS.num_rows


@pytest.mark.parametrize("partitioned", [False, True])
def test_a_table_hides_no_rows_of_others(tmp_path: Path, partitioned: bool) -> None:
    source = tmp_path / "pq"
    how = {"partitioning": ["city"], "partitioning_flavor": "hive"} if partitioned else {}
    ds.write_dataset(ROWS, source, format="parquet", **how)
    for make in (
        lambda: hoodoo.create(source, SCHEMA, record_key="id"),
        lambda: hoodoo.create(source, SCHEMA, record_key="id", exist_ok=True),
        lambda: hoodoo.write(source, ROWS, record_key="id"),
    ):
        with pytest.raises(ConfigError, match="nobody would see its rows") as raised:
            make()
        assert "hoodoo.convert(" in raised.value.fix and "hoodoo.bootstrap(" in raised.value.fix
    assert not (source / ".hoodie").exists()


def test_fault_c_create_on_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="is a file, but a table is a directory"):
        hoodoo.create(str(tmp_path / "file"), SCHEMA)
    assert (tmp_path / "file").read_text() == "x"


def test_fault_c_commands_look_before_they_ask(
    table: hoodoo.Table, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (
        ["restore", table.path, "123"], ["rollback", table.path, "123"],
        ["cluster", table.path, "--cancel", "123"],
    ):  # fmt: skip
        code = run_command(*command)
        said = capsys.readouterr().err
        assert code == 2
        assert "123: is no" in said and "[y/N]" not in said
