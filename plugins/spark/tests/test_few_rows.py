"""Queries that name values of a column, of which this process reads the rows."""

from __future__ import annotations

import datetime as dt
import decimal
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo_spark import dataframe, few_rows

pytestmark = pytest.mark.spark

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("small", pa.int16()),
        ("flag", pa.bool_()),
        ("half", pa.float32()),
        ("price", pa.decimal128(12, 3)),
        ("city", pa.string()),
        ("raw", pa.binary()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("local", pa.timestamp("us")),
    ]
)


def made(count: int) -> pa.Table:
    ids = range(count)
    moment = dt.datetime(1890, 1, 1, 3, 4, 5, 678901)
    columns: list[list[Any]] = [
        list(ids),
        [n % 100 for n in ids],
        [None if n % 3 == 0 else n % 2 == 0 for n in ids],
        [float("nan") if n % 5 == 0 else n / 4 for n in ids],
        [decimal.Decimal(n) / 8 if n % 7 else None for n in ids],
        [f"é {n % 10}" for n in ids],
        [bytes([n % 256]) for n in ids],
        [dt.date(1500, 1, 1) + dt.timedelta(days=n) for n in ids],
        [(moment + dt.timedelta(hours=n)).replace(tzinfo=dt.timezone.utc) for n in ids],
        [moment + dt.timedelta(hours=n) for n in ids],
    ]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


@pytest.fixture
def table(tmp_path: Path) -> hoodoo.Table:
    found = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    found.bulk_insert(made(3_000))
    return found


def is_local(frame: Any) -> bool:
    """Whether Spark has the rows, and reads no file and runs no task of ours for them."""
    plan = frame._jdf.queryExecution().analyzed().toString()
    return "MapInArrow" not in plan and " parquet" not in plan


@pytest.mark.parametrize(
    "condition",
    [
        "id = 17",
        "id IN (3, 2999, 5000) AND half > 1",
        "id = 5000",
        "city = 'é 3' AND day < DATE '1501-01-01'",
        "small = 7 AND price IS NULL",
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles"])
def test_rows_are_those_that_spark_reads(
    spark: Any, table: hoodoo.Table, condition: str, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if spark.version < "4":
        pytest.skip("PySpark 3.5 makes no DataFrame of Arrow data")
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        session = hoodoo.session(spark, tables={"t": table})
        text = f"SELECT *, date_format(at, 'yyyy-MM-dd HH:mm') FROM t WHERE {condition}"
        here = session.sql(text).to_spark()
        assert is_local(here)
        monkeypatch.setattr(dataframe, "few_rows", lambda scan, spark: None)
        native = session.sql(text).to_spark()
        assert not is_local(native)
        assert [f.dataType for f in here.schema] == [f.dataType for f in native.schema]
        one, other = (sorted(map(str, frame.collect())) for frame in (here, native))
        assert one == other
        assert here.count() == len(other)
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_a_side_of_a_join_may_have_few_rows(spark: Any, table: hoodoo.Table) -> None:
    session = hoodoo.session(spark, tables={"t": table})
    text = (
        "SELECT count(*) AS n FROM t JOIN (SELECT * FROM t WHERE id = 3) f ON t.city = f.city "
        "WHERE t.id > 100"
    )
    assert session.sql(text).to_arrow()["n"].to_pylist() == [290]


@pytest.mark.parametrize("limit", ["MOST_ROWS", "MOST_BYTES", "MOST_FILES", "MOST_STORED"])
def test_many_rows_are_left_to_spark(
    spark: Any, table: hoodoo.Table, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(few_rows, limit, 0 if limit == "MOST_FILES" else 10)
    session = hoodoo.session(spark, tables={"t": table})
    found = session.sql("SELECT id FROM t WHERE city = 'é 3'").to_spark()
    assert not is_local(found)
    assert found.count() == 300


@pytest.mark.parametrize(
    "condition", ["id > 2990", "id % 2 = 0 OR id = 3", "price IS NULL", "part = 1"]
)
def test_filters_without_values_are_left_to_spark(
    spark: Any, tmp_path: Path, condition: str
) -> None:
    rows = made(3_000).append_column("part", pa.array([n % 2 for n in range(3_000)]))
    table = hoodoo.create(str(tmp_path / "t"), rows, record_key="id", partition_by="part")
    session = hoodoo.session(spark, tables={"t": table})
    assert not is_local(session.sql(f"SELECT id FROM t WHERE {condition}").to_spark())


def test_a_read_of_its_own_stays_lazy(spark: Any, table: hoodoo.Table) -> None:
    assert not is_local(table.read(where="id = 3").to_spark(spark))
