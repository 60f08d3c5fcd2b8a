"""DataFrames of a scan: odd partition names, files of several schemas, snapshots that stand still."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest

pytestmark = pytest.mark.spark

Rows = Callable[[Any], list[str]]
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("city", pa.string()),
        ("n", pa.int32()),
        ("s", pa.struct([("a", pa.int32())])),
    ]
)
CITIES = ["x y", "_u", None, "50% a", "{b}", "[c]*", "é", ".d", "e=f"]


def made(city: str | None, number: int) -> dict[str, Any]:
    return {"id": f"k{number}", "city": city, "n": number, "s": {"a": number}}


@pytest.fixture
def texts(collected: Callable[[Any], pa.Table]) -> Callable[[Any], list[str]]:
    return lambda frame: sorted(repr(row) for row in collected(frame).to_pylist())


def expected(scan: Any) -> list[str]:
    return sorted(repr(row) for row in scan.to_arrow().to_pylist())


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("options", [{}, {"url": "true", "hive": "true"}, {"url": "true"}])
def test_partition_names(options: dict[str, str], tmp_path: Path, texts: Rows, spark: Any) -> None:
    keys = {
        "url": "hoodie.datasource.write.partitionpath.urlencode",
        "hive": "hoodie.datasource.write.hive_style_partitioning",
    }
    table = hoodoo.create(
        str(tmp_path / "t"),
        SCHEMA,
        record_key="id",
        partition_by="city",
        options={keys[k]: v for k, v in options.items()},
    )
    table.upsert(pa.Table.from_pylist([made(c, i) for i, c in enumerate(CITIES)], SCHEMA))
    scan = table.read()
    assert scan.count() == len(CITIES)
    assert texts(scan.to_spark(spark)) == expected(scan)


@pytest.mark.sampled(1, among="long")
def test_partition_paths_below_others_that_spark_takes_for_hidden(
    tmp_path: Path, texts: Rows, spark: Any
) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id", partition_by="city")
    paths = ["a", "a/b", "a/_b", "a/.c", "_d", "a/b/_e/f"]
    table.upsert(pa.Table.from_pylist([made(c, i) for i, c in enumerate(paths)], SCHEMA))
    scan = table.read()
    assert scan.count() == len(paths)
    frame = scan.to_spark(spark)
    assert texts(frame) == expected(scan)
    assert texts(frame.where("id = 'k2'")) == [r for r in expected(scan) if "'k2'" in r]
    hoodoo.spark_view("hidden_below", table, spark)
    assert spark.sql("SELECT count(*) FROM hidden_below").first()[0] == len(paths)
    spark.catalog.dropTempView("hidden_below")
    copy = hoodoo.create(str(tmp_path / "copy"), SCHEMA, record_key="id")
    copy.upsert(table.read(SCHEMA.names).to_spark(spark))
    assert copy.read().count() == len(paths)


def test_a_base_file_without_a_byte_is_an_error(evolved: Any, spark: Any) -> None:
    """Spark's reader would pass over it."""
    scan = evolved.read(columns=["id"])
    (file, *_) = Path(evolved.path.removeprefix("file://")).glob("paris/*.parquet")
    file.write_bytes(b"")
    for wanted in (scan, evolved.read(columns=["id"])):
        with pytest.raises(Exception, match=file.name):
            wanted.to_spark(spark).collect()


@pytest.fixture
def evolved(tmp_path: Path) -> Any:
    """paris was written before n and s.a were widened and s.b and day came; rome after that."""
    path = str(tmp_path / "t")
    table = hoodoo.create(path, SCHEMA, record_key="id", partition_by="city")
    table.upsert(pa.Table.from_pylist([made("paris", 1), made("paris", 2)], SCHEMA))
    now = pa.schema(
        [
            ("id", pa.string()),
            ("city", pa.string()),
            ("n", pa.int64()),
            ("s", pa.struct([("a", pa.int64()), ("b", pa.string())])),
            ("day", pa.date32()),
        ]
    )
    day = dt.date(2026, 1, 2)
    row = {"id": "k3", "city": "rome", "n": 2**40, "s": {"a": 2**41, "b": "x"}, "day": day}
    table.upsert(pa.Table.from_pylist([row], now), add_columns=True)
    return table


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"columns": ["day", "id"]},
        {"columns": ["s"], "where": pc.field("n") >= 2},
        {"where": pc.field("city") == "paris"},
    ],
)
def test_files_of_two_schemas(
    evolved: Any, wanted: dict[str, Any], texts: Rows, spark: Any
) -> None:
    scan = evolved.read(**wanted)
    frame = scan.to_spark(spark)
    assert frame.columns == scan.schema.names
    assert texts(frame) == expected(scan)


def test_each_file_has_the_reader_it_needs(evolved: Any) -> None:
    from hoodoo_spark.dataframe import split_slices

    def native(columns: list[str] | None) -> list[str]:
        scan = evolved.read(columns=columns)
        return [s.partition_path for s in split_slices(scan).native]

    assert native(None) == ["rome"]
    assert native(["id", "n"]) == ["rome"]
    assert native(["id", "s"]) == ["rome"]
    assert native(["id", "day"]) == ["paris", "rome"]  # a missing column is null for Spark too


def test_a_dataframe_is_of_its_snapshot(evolved: Any, texts: Rows, spark: Any) -> None:
    scan = evolved.read(columns=["id"])
    frame = scan.to_spark(spark)
    evolved.upsert(pa.table({"id": ["k9"], "city": ["rome"]}))
    assert texts(frame) == expected(scan)
    assert evolved.read(columns=["id"]).to_spark(spark).count() == 4


def test_the_active_session_is_the_default(evolved: Any, spark: Any) -> None:
    assert evolved.read().to_spark().sparkSession.sparkContext is spark.sparkContext


def test_spark_expressions_on_top(evolved: Any, spark: Any) -> None:
    frame = evolved.read().to_spark(spark)
    found = frame.where("city = 'paris' and s.a > 1").select("id").collect()
    assert [row.id for row in found] == ["k2"]
