"""DataFrames out of files, and out of tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo.testing import engine_steps as steps
from hoodoo.testing.contracts.engine import ROWS, rows

pytestmark = pytest.mark.spark

DIRS = ["day=1", "day=1/hour=2", "a b", "x*y", "z?[1]{2,3}", "back\\slash", "p%2Fq", ""]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two files in each folder, 10 rows each: f<i>-new.parquet and f<i>-old.parquet."""
    base = tmp_path / "t*b{le"
    for i, name in enumerate(DIRS):
        (base / name).mkdir(parents=True, exist_ok=True)
        pq.write_table(rows(10, 10 * i), base / name / f"f{i}-new.parquet")
        pq.write_table(rows(10, 1000), base / name / f"f{i}-old.parquet")
    (base / ".hoodie").mkdir()
    pq.write_table(rows(10, 2000), base / ".hoodie" / "f0-new.parquet")
    (base / "xzy").mkdir()  # what x*y would match as a pattern
    pq.write_table(rows(10, 3000), base / "xzy" / "f3-new.parquet")
    return base


@pytest.mark.parametrize("number", range(len(DIRS)))
def test_one_folder(spark: Any, root: Path, number: int) -> None:
    from hoodoo_spark.native_read import read_parquet_paths

    found = read_parquet_paths(
        spark, f"file://{root}", ROWS, [DIRS[number]], [f"f{number}-new.parquet"]
    )
    assert found.columns == ROWS.names
    wanted = set(range(10 * number, 10 * number + 10))
    if DIRS[number] == "":
        wanted -= set()
    assert {row.key for row in found.collect()} == wanted


def test_folders_within_folders_are_read_once(spark: Any, root: Path) -> None:
    from hoodoo_spark.native_read import read_parquet_paths

    names = ["f0-new.parquet", "f1-new.parquet"]
    found = read_parquet_paths(spark, str(root), ROWS, ["day=1/hour=2", "day=1"], names)
    assert sorted(row.key for row in found.collect()) == list(range(20))


def test_no_files(spark: Any, root: Path) -> None:
    from hoodoo_spark.native_read import read_parquet_paths

    found = read_parquet_paths(spark, str(root), ROWS, [], [])
    assert found.columns == ROWS.names and found.count() == 0


def test_projection_reaches_the_reader(spark: Any, root: Path) -> None:
    from hoodoo_spark.native_read import read_parquet_paths

    found = read_parquet_paths(spark, str(root), ROWS, ["day=1"], ["f0-new.parquet"])
    plan = found.select("key").where("key > 3")._jdf.queryExecution().executedPlan().toString()
    assert "ReadSchema: struct<key:bigint>" in plan
    assert "GreaterThan(key,3)" in plan


def test_a_column_that_is_called_as_what_spark_knows_of_a_file(spark: Any, tmp_path: Path) -> None:
    """``SELECT *, _metadata`` over files makes such a table, with the names of other files in it."""
    import hoodoo

    kind = pa.struct([("file_name", pa.string())])
    schema = pa.schema([("id", pa.int64()), ("_metadata", kind)])
    table = hoodoo.create(str(tmp_path / "t"), schema, record_key="id")
    table.insert([{"id": 1, "_metadata": {"file_name": "a.parquet"}}, {"id": 2, "_metadata": None}])
    found = table.read().to_spark(spark)
    assert sorted(tuple(row) for row in found.collect()) == [(1, ("a.parquet",)), (2, None)]
    assert table.read(["id"]).to_spark(spark).where("id = 2").count() == 1


def test_times_of_day(spark: Any, tmp_path: Path) -> None:
    """Spark takes them from tasks in one unit only, which is not that of tables."""
    import datetime as dt

    import hoodoo
    from pyspark.sql import types

    if not hasattr(types, "TimeType"):
        pytest.skip("this version of Spark has no times of day")
    spark.conf.set("spark.sql.timeType.enabled", "true")
    schema = pa.schema(
        [("id", pa.int64()), ("at", pa.time64("us")), ("all", pa.list_(pa.time32("ms")))]
    )
    table = hoodoo.create(str(tmp_path / "t"), schema, record_key="id")
    early, late = dt.time(1, 2, 3, 456000), dt.time(23, 59, 59)
    table.insert([{"id": 1, "at": early, "all": [late, None]}, {"id": 2, "at": None, "all": None}])
    found = table.read().to_spark(spark)
    assert sorted(tuple(row) for row in found.collect()) == [
        (1, early, [late, None]),
        (2, None, None),
    ]


def test_old_dates(spark: Any, tmp_path: Path) -> None:
    """Dates before 1582 in files without Spark's own marks are what they say."""
    import datetime as dt

    from hoodoo_spark.native_read import read_parquet_paths

    day, at = dt.date(1500, 1, 1), dt.datetime(1500, 1, 1, tzinfo=dt.timezone.utc)
    schema = pa.schema([("day", pa.date32()), ("at", pa.timestamp("us", "UTC"))])
    pq.write_table(pa.table([[day], [at]], schema=schema), tmp_path / "a.parquet")
    found = read_parquet_paths(spark, str(tmp_path), schema, [""], ["a.parquet"])
    row = found.selectExpr("cast(day as string) day", "unix_micros(at) at").collect()[0]
    assert (row.day, row.at) == ("1500-01-01", int(at.timestamp()) * 10**6)


def test_arrow_scan(spark: Any) -> None:
    from hoodoo_spark.native_read import arrow_scan

    frame = arrow_scan(spark, [b"a", b"b", b"c"], steps.Upper())
    assert frame.columns == ["text", "task"]
    assert frame.rdd.getNumPartitions() == 3
    assert [tuple(row) for row in frame.orderBy("task").collect()] == [("A", 0), ("B", 1), ("C", 2)]
    assert arrow_scan(spark, [], steps.Upper()).count() == 0


def test_errors_of_arrow_scan_are_readable(spark: Any) -> None:
    from hoodoo_spark.native_read import arrow_scan

    schema = pa.schema([("payload", pa.binary())])
    with pytest.raises(Exception, match="step Drop: does not return column 'payload'"):
        arrow_scan(spark, [b"a"], steps.Drop(schema, "payload")).collect()
