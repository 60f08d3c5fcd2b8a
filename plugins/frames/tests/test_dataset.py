"""Reads as pyarrow Datasets: DuckDB and polars push columns and filters into them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import hoodoo
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from hoodoo.errors import CallError, SchemaError
from hoodoo_frames import dataset

ID, DAY = pc.field("id"), pc.field("day")


def test_duckdb_pushes_columns_and_filters(counted: Any) -> None:
    scan, storage = counted
    trips = scan.to_dataset()  # DuckDB finds it by the name of the variable
    assert duckdb.sql("SELECT note FROM trips WHERE id = 5").fetchall() == [("note 5",)]
    # The footers of all files tell that the rows are in one of them; its rows are read once.
    assert len(storage.opened) <= 8
    storage.opened.clear()
    found = duckdb.sql("SELECT count(*) FROM trips WHERE day = 'tue' AND id < 450").fetchall()
    assert found == [(50,)]
    assert storage.opened and all(path.startswith("tue/") for path in storage.opened)
    assert duckdb.sql("SELECT count(*), count(fare) FROM trips").fetchall() == [(800, 685)]
    del trips


def test_a_record_index_opens_one_file(tmp_path: Path, count: Any) -> None:
    schema = pa.schema([("id", pa.string()), ("x", pa.int64())])
    table = hoodoo.create(
        str(tmp_path / "t"), schema, record_key="id", index="record_index",
        options={"hoodie.parquet.small.file.limit": "0"},
    )  # fmt: skip
    for n in range(4):
        table.upsert(pa.table([[f"k{n}{i}" for i in range(9)], list(range(9))], schema=schema))
    scan, storage = count(table.read())
    trips = scan.to_dataset()
    assert duckdb.sql("SELECT x FROM trips WHERE id = 'k23'").fetchall() == [(3,)]
    assert len(storage.opened) == 1
    del trips


def test_polars_pushes_into_it(counted: Any) -> None:
    scan, storage = counted
    lazy = pl.scan_pyarrow_dataset(scan.to_dataset())
    found = lazy.filter((pl.col("day") == "mon") & (pl.col("id") > 398)).select("note").collect()
    assert found["note"].to_list() == ["note 399"]
    assert all(path.startswith("mon/") for path in storage.opened)


def test_what_a_dataset_answers(table: hoodoo.Table) -> None:
    scan = table.read(["id", "day", "note"], where=ID < 500)
    dataset = scan.to_dataset()
    plain = ds.dataset(scan.to_arrow())
    assert isinstance(dataset, ds.Dataset) and dataset.schema == plain.schema
    assert dataset.to_table() == plain.to_table()
    where = (ID > 250) & (DAY == "mon")
    assert dataset.to_table(["day"], where) == plain.to_table(["day"], where)
    assert dataset.filter(where).to_table(filter=ID < 300).num_rows == 49
    assert dataset.count_rows() == 500 and dataset.count_rows(where) == 149
    assert dataset.head(3, ["id"]).num_rows == 3
    assert dataset.take([4, 2], ["id"]) == plain.take([4, 2], ["id"])
    assert sum(b.num_rows for b in dataset.to_batches(filter=where, batch_size=10)) == 149
    shown = dataset.scanner({"twice": ID + ID}, where)
    assert min(shown.to_table()["twice"].to_pylist()) == 502
    assert shown.projected_schema == pa.schema([("twice", pa.int64())])
    assert shown.head(2).num_rows == 2 and shown.count_rows() == 149
    assert pa.table(dataset.scanner(["id"])).num_rows == 500
    assert dataset.scanner(["id"]).to_table() == dataset.scanner(["id"]).to_reader().read_all()
    assert dataset.sort_by([("id", "descending")]).head(1)["id"].to_pylist() == [499]
    joined = dataset.join(table.read(["id", "fare"]).to_dataset(), "id").to_table()
    assert joined.num_rows == 500 and "fare" in joined.schema.names
    pieces = list(dataset.get_fragments())
    assert len(pieces) == 8 and sum(one.count_rows() for one in pieces) == 500
    mon = list(dataset.get_fragments(where))
    assert sum(one.count_rows(where) for one in mon) == 149 and len(mon) <= 4
    with pytest.raises(CallError, match="types of the table"):
        dataset.replace_schema(plain.schema)
    with pytest.raises(SchemaError, match="not in the table"):
        dataset.to_table(["nothing"])


def test_changes_are_a_dataset_too(table: hoodoo.Table) -> None:
    changes = table.changes("earliest").to_dataset()
    assert changes.count_rows() == 800
    assert changes.to_table(["op"], pc.field("after", "id") == 7).to_pylist() == [{"op": "insert"}]
    assert duckdb.sql("SELECT count(*) FROM changes WHERE op = 'insert'").fetchall() == [(800,)]


def test_what_is_scanned_is_of_one_moment(table: hoodoo.Table) -> None:
    connection = duckdb.connect()
    connection.register("trips", table.read().to_dataset())
    table.append(table.read(["id", "day", "fare", "note"], where=ID == 1).to_arrow())
    for _ in range(2):
        found = connection.execute("SELECT count(*) FROM trips WHERE id = 1").fetchall()
        assert found == [(1,)]
    assert table.read(where=ID == 1).count() == 2


def test_limit(counted: Any) -> None:
    scan, storage = counted
    few = scan.limit(3)
    assert few.count() == 3 and few.to_arrow().num_rows == 3 and len(few.to_pylist()) == 3
    assert few.limit(2).to_pandas().shape[0] == 2
    assert len(set(storage.opened)) < 8
    assert scan.limit(0).to_arrow().num_rows == 0 and scan.limit(10_000).count() == 800
    assert duckdb.sql("SELECT count(*) FROM few").fetchall() == [(3,)]
    assert "first 3 rows" in repr(few) and "first 3 rows" in few.explain()
    for wrong in (-1, True, "3"):
        with pytest.raises(CallError, match="number of rows|whole number"):
            scan.limit(wrong)


@pytest.mark.sampled(1, among="long")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # ibis calls older names of duckdb's
def test_data_fusion_and_ibis(table: hoodoo.Table) -> None:
    """Where they are installed."""
    datafusion = pytest.importorskip("datafusion")
    ibis = pytest.importorskip("ibis")
    dataset = table.read().to_dataset()
    context = datafusion.SessionContext()
    context.register_dataset("trips", dataset)
    asked = "SELECT count(*) AS n FROM trips WHERE day = 'tue' AND id < 450"
    assert context.sql(asked).to_pylist() == [{"n": 50}]
    con = ibis.duckdb.connect()
    con.con.register("trips", dataset)
    trips = con.table("trips")
    assert trips.filter((trips.day == "tue") & (trips.id < 450)).count().execute() == 50


def test_large_plain_files_are_scanned_by_arrow(
    table: hoodoo.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without Python between its threads and DuckDB's: the same rows, and never fewer."""
    asked: list[Any] = []
    of_files = dataset._of_files

    def noted(rows: Any) -> Any:
        asked.append(of_files(rows))
        return asked[-1]

    monkeypatch.setattr(dataset, "_of_files", noted)
    queries = (
        "SELECT count(*), count(fare), min(note), max(id) FROM trips",
        "SELECT id, note FROM trips WHERE day = 'tue' AND id < 450 ORDER BY id",
        "SELECT fare FROM trips WHERE id IN (3, 700) ORDER BY id",
        "SELECT count(*) FROM trips WHERE fare > 3",
    )

    def answers() -> list[Any]:
        connection = duckdb.connect()
        connection.register("trips", table.read().to_dataset())
        asked.clear()
        return [connection.execute(query).fetchall() for query in queries]

    by_hoodoo = answers()
    assert asked and not any(asked)
    monkeypatch.setattr(dataset, "_LARGE", 0)
    assert answers() == by_hoodoo
    assert len(asked) == len(queries) and all(asked)
    # Of a filter by floating numbers, Arrow would leave out NaN by statistics.
    found = table.read().to_dataset().scanner(["id"], ~(pc.field("fare") < 3)).to_reader()
    assert asked[-1] is None
    assert found.read_all().num_rows == table.read(where=~(pc.field("fare") < 3)).count()
    reader = table.read(["id"]).to_dataset().scanner(["id"], ID < 7).to_reader()
    assert reader.schema == pa.schema([table.schema.field("id")])
    assert sorted(reader.read_all()["id"].to_pylist()) == list(range(7))
