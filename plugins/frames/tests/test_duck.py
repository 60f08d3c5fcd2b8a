"""scan.to_duckdb: plain files are DuckDB's own to read, other rows come through Arrow; the rows are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import hoodoo
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.errors import EngineError
from hoodoo_rows.testing.tables import Maker

pytestmark = pytest.mark.sampled(3)

SCHEMA = pa.schema(
    [
        ("id", pa.int64()), ("day", pa.string()), ("x", pa.float64()), ("at", pa.timestamp("us", tz="UTC")),
        ("price", pa.decimal128(10, 2)), ("tags", pa.list_(pa.string())), ("p", pa.struct([("a", pa.int32())])),
    ]
)  # fmt: skip

rows = Maker(
    SCHEMA, day="mon", x=lambda i: i / 2, at=lambda i: i * 10**9, price=int, tags=lambda i: [str(i)],
    p=lambda i: {"a": i},
).of  # fmt: skip


def made(path: Path, **more: Any) -> hoodoo.Table:
    table = hoodoo.create(str(path), SCHEMA, record_key="id", **more)
    table.upsert(rows(1, 2, 3))
    return table


def reads_files(relation: Any) -> bool:
    text = relation.explain().upper()
    return ("PARQUET_SCAN" in text or "READ_PARQUET" in text) and "ARROW" not in text


def by_id(relation: Any) -> list[tuple[Any, ...]]:
    return sorted(relation.fetchall())


def test_plain_files_are_read_by_duckdb(tmp_path: Path) -> None:
    table = made(tmp_path / "t", partition_by="day")
    table.upsert(rows(4, 5, day="tue"))
    with duckdb.connect() as connection:
        found = table.read().to_duckdb(connection)
        assert reads_files(found) and found.columns == SCHEMA.names
        assert by_id(found) == by_id(connection.from_arrow(table.read().to_arrow()))
        found.create_view("trips")
        asked = "SELECT x, p.a FROM trips WHERE id = 5"
        assert connection.execute(asked).fetchall() == [(2.5, 5)]
        meta = table.read(meta=True).to_duckdb(connection)
        assert reads_files(meta) and meta.columns[-1] == "_hoodie_file_name"
        few = table.read(["day", "id"]).to_duckdb(connection)
        assert few.columns == ["day", "id"] and len(few.fetchall()) == 5
    assert table.read(["id"]).to_duckdb().aggregate("sum(id)").fetchall() == [(15,)]


@pytest.mark.parametrize(
    "condition",
    ["isnan(x)", "x = 'nan'::double", "abs(x) > 100", "isnan(p.y)", "isnan(l[1])", "isnan(m['a'])", "not x <= 1.5", "x > 1"],
)  # fmt: skip
def test_rows_with_nan_are_found_in_plain_files(tmp_path: Path, condition: str) -> None:
    """DuckDB's own reader takes statistics, which leave NaN out, to be of all values."""
    nan = float("nan")
    found = pa.table(
        {
            "id": [1, 2, 3],
            "x": [1.5, nan, None],
            "p": pa.array([{"y": 1.5}, {"y": nan}, None], pa.struct([("y", pa.float32())])),
            "l": pa.array([[1.5], [nan], None], pa.list_(pa.float64())),
            "m": pa.array([[("a", 1.5)], [("a", nan)], None], pa.map_(pa.string(), pa.float64())),
        }
    )
    table = hoodoo.create(str(tmp_path / "t"), found.schema, record_key="id")
    table.upsert(found)
    with duckdb.connect() as connection:
        own = table.read().to_duckdb(connection)
        assert reads_files(own) and own.types == connection.from_arrow(found).types
        expected = by_id(connection.from_arrow(found).filter(condition).project("id"))
        assert (2,) in expected and by_id(own.filter(condition).project("id")) == expected


@pytest.mark.parametrize("why", ["filter", "logs", "virtual", "grown", "name"])
def test_other_rows_come_through_arrow(tmp_path: Path, why: str) -> None:
    day = "m[o]n" if why == "name" else "mon"
    kind = "MERGE_ON_READ" if why == "logs" else "COPY_ON_WRITE"
    options = {"hoodie.recordkey.virtual.enabled": "true"} if why == "virtual" else {}
    parted = "day" if why == "name" else ()
    table = made(tmp_path / "t", table_type=kind, options=options, partition_by=parted)
    if why == "logs":
        table.upsert(rows(2, day="sun"))
    elif why == "grown":
        more = rows(8, day=day)
        table.append(more.append_column("new", pa.array([1])), add_columns=True)
    elif why == "name":
        table.upsert(rows(9, day=day))
    scan = (
        table.read(where=pc.field("id") > 1)
        if why == "filter"
        else table.read(meta=why == "virtual")
    )
    with duckdb.connect() as connection:
        found = scan.to_duckdb(connection)
        assert not reads_files(found)
        assert by_id(found) == by_id(connection.from_arrow(scan.to_arrow()))


def test_an_empty_table_and_limits(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    assert table.read().to_duckdb().fetchall() == []
    table.upsert(rows(1, 2, 3))
    assert len(table.read().limit(2).to_duckdb().fetchall()) == 2


def test_without_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    with pytest.raises(EngineError, match="needs duckdb"):
        made(tmp_path / "t").read().to_duckdb()


def test_a_table_is_an_arrow_stream(tmp_path: Path) -> None:
    """Of all its rows, each time as they are then."""
    rows = pa.table({"id": [1, 2], "v": ["a", "b"]})
    hoodoo.write(str(tmp_path / "t"), rows, record_key="id")
    trips = hoodoo.open(str(tmp_path / "t"))
    assert duckdb.sql("SELECT v FROM trips ORDER BY v").fetchall() == [("a",), ("b",)]
    trips.upsert(pa.table({"id": [3], "v": ["c"]}))
    assert pl.DataFrame(trips).height == 3 == pa.table(trips).num_rows
    copy = hoodoo.create(str(tmp_path / "u"), trips, record_key="id")
    copy.upsert(trips)
    assert copy.to_arrow().sort_by("id").equals(trips.to_arrow().sort_by("id"))
    assert not hasattr(trips, "__arrow_c_schema__") and not hasattr(trips, "__len__")
