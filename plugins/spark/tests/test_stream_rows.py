"""Rows of PySpark 4.0 as Arrow batches: all forms of values, and times in any zone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hoodoo_spark.datasource.rows import batches

TIME = pa.timestamp("us", "UTC")


@pytest.fixture(params=["UTC", "America/New_York", "Asia/Kolkata"])
def zone(request: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def test_naive_times_are_those_of_the_process(zone: str) -> None:
    struct = pa.struct([("at", TIME), ("local", pa.timestamp("us"))])
    schema = pa.schema(
        [
            ("at", TIME),
            ("local", pa.timestamp("us")),
            ("day", pa.date32()),
            ("both", struct),
            ("list", pa.list_(struct)),
            ("map", pa.map_(pa.string(), TIME)),
        ]
    )
    at = datetime(2024, 7, 1, 12, 30, tzinfo=UTC)
    naive = at.astimezone().replace(tzinfo=None)  # as PySpark makes it
    local = datetime(2024, 1, 2, 3, 4, 5)
    both = {"at": naive, "local": local}
    row = (naive, local, date(2024, 1, 2), both, [both, None], {"a": naive, "b": None})
    (batch,) = batches(iter([row, (None,) * 6]), schema)
    good = {"at": at, "local": local}
    assert batch.schema == schema
    first, second = batch.to_pylist()
    assert first == {
        "at": at,
        "local": local,
        "day": date(2024, 1, 2),
        "both": good,
        "list": [good, None],
        "map": [("a", at), ("b", None)],
    }
    assert set(second.values()) == {None}


def test_rows_within_rows() -> None:
    pyspark = pytest.importorskip("pyspark.sql")
    kind = pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.string())]))])
    schema = pa.schema([("row", kind), ("rows", pa.list_(kind))])
    row = pyspark.Row(a=1, b=pyspark.Row(c="x"))
    (batch,) = batches(iter([(row, [row, row])]), schema)
    value = {"a": 1, "b": {"c": "x"}}
    assert batch.to_pylist() == [{"row": value, "rows": [value, value]}]


def test_many_rows_are_several_batches() -> None:
    schema = pa.schema([("n", pa.int64()), ("at", TIME)])
    start = datetime(2024, 1, 1, tzinfo=UTC)
    rows = ((n, start + timedelta(seconds=n)) for n in range(10_001))
    found = list(batches(rows, schema))
    assert [batch.num_rows for batch in found] == [10_000, 1]
    assert pa.Table.from_batches(found)["n"].to_pylist() == list(range(10_001))
