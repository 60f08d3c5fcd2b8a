"""Libraries that speak Arrow read a scan with nothing in between."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import hoodoo
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

TABLE = "cow_v9_txns_simple_nometa"


@pytest.fixture
def scan(golden: Callable[[str], Path]) -> Any:
    table = hoodoo.open(str(golden(TABLE)))
    return table.read(columns=["txn_id", "amount", "txn_datetime", "region"])


def test_polars(scan: Any) -> None:
    frame = pl.DataFrame(scan)
    assert frame.to_dicts() == scan.to_arrow().to_pylist()
    assert frame.height == scan.count() == 12


def test_polars_with_nested_columns(golden: Callable[[str], Path]) -> None:
    scan = hoodoo.open(str(golden("cow_v6_nonpartitioned"))).read()
    frame = pl.DataFrame(scan)
    assert frame.schema["structField"] == pl.Struct(
        {
            "field1": pl.String,
            "field2": pl.Int32,
            "child_struct": pl.Struct({"child_field1": pl.Float64, "child_field2": pl.Boolean}),
        }
    )
    assert frame.columns == scan.schema.names


def test_duckdb(scan: Any) -> None:
    reader = scan.to_reader()  # duckdb finds the variable by its name
    found = duckdb.sql("select count(*), sum(amount) from reader")
    assert found is not None
    assert found.fetchall() == [(12, pc.sum(scan.to_arrow().column("amount")).as_py())]
    del reader


def test_duckdb_takes_the_scan_itself(scan: Any) -> None:
    found = duckdb.sql("select region, count(*) as n from scan group by all order by all")
    assert found is not None
    expected = scan.to_arrow().group_by("region").aggregate([([], "count_all")]).sort_by("region")
    assert found.fetchall() == [tuple(row.values()) for row in expected.to_pylist()]


def test_pyarrow(scan: Any) -> None:
    assert pa.table(scan).equals(scan.to_arrow())
    assert pa.RecordBatchReader.from_stream(scan).schema == scan.schema
    assert ds.Scanner.from_batches(scan.to_reader()).count_rows() == 12


def test_a_requested_schema_is_cast_to(scan: Any) -> None:
    wanted = pa.schema(
        [f.with_type(pa.large_string()) if f.name == "region" else f for f in scan.schema]
    )
    assert pa.table(scan, schema=wanted).schema.field("region").type == pa.large_string()


def test_pandas(scan: Any) -> None:
    assert len(scan.to_reader().read_pandas()) == 12
