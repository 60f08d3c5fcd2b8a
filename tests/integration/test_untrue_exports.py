"""Frames that hold what Arrow has no type for: refused by their own types, as what they export says something else."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import hoodoo
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import SchemaError

UUID = uuid.UUID(int=5)
_OBJECT = pl.Series([UUID], dtype=pl.Object)


def _polars(kind: Any, value: Any) -> Callable[[], Any]:
    return lambda: pl.DataFrame({"id": [1], "x": pl.Series([value], dtype=kind)})


def _duckdb(expression: str) -> Callable[[], Any]:
    return lambda: duckdb.connect().sql(f"SELECT 1::BIGINT AS id, {expression} AS x")


def _pandas(values: Any) -> Callable[[], Any]:
    return lambda: pd.DataFrame({"id": [1], "x": values})


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "polars Object": (_polars(pl.Object, UUID), "Object of polars"),
    "polars Object, lazily": (
        lambda: pl.LazyFrame({"id": [1], "x": _OBJECT}),
        "Object of polars",
    ),
    "polars Int128": (_polars(pl.Int128, 1), r"Int128 of polars.*Decimal\(38, 0\)"),
    "polars Int128 in a list": (_polars(pl.List(pl.Int128), [1]), "Int128 of polars"),
    "DuckDB bits": (_duckdb("'0101'::BIT"), "bit of duckdb"),
    "DuckDB bits, deep": (_duckdb("[{'a': '0101'::BIT}]"), "bit of duckdb"),
    "DuckDB time with a zone": (
        _duckdb("TIMETZ '01:02:03+05'"),
        "time with time zone of duckdb",
    ),
    "DuckDB integer of 39 digits": (
        _duckdb("170141183460469231731687303715884105727::HUGEINT"),
        r"beyond decimal128\(38, 0\)",
    ),
    "DuckDB long integer": (_duckdb("10::BIGNUM"), "extension type arrow.opaque"),
    "DuckDB interval": (_duckdb("INTERVAL 1 MONTH"), "no type"),
    "DuckDB union": (_duckdb("union_value(a := 1)"), "no type"),
    "pandas UUID": (_pandas([UUID]), "is binary in the table, and UUIDs came"),
    "pandas period": (
        _pandas(pd.period_range("2020", periods=1, freq="M")),
        "extension type pandas.period",
    ),
    "pandas interval": (
        _pandas(pd.arrays.IntervalArray.from_breaks([0, 1])),
        "extension type pandas.interval",
    ),
    "dictionaries of UUIDs": (
        lambda: [{"id": 1, "x": UUID}],
        "is binary in the table, and UUIDs came|values don't fit",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_column_that_arrow_does_not_hold_is_refused(tmp_path: Path, what: str) -> None:
    kind = pa.decimal128(38, 0) if "39 digits" in what else pa.binary()
    columns = pa.schema([("id", pa.int64()), ("x", kind)])
    table = hoodoo.create(tmp_path / "t", columns, record_key="id")
    data, words = REFUSED[what]
    with pytest.raises(SchemaError, match=words) as caught:
        table.upsert(data())
    assert "column" in caught.value.obj
    assert "x" in caught.value.obj
    assert caught.value.fix
    assert not table.timeline().writes()


def test_what_looks_alike_is_written(tmp_path: Path) -> None:
    table = hoodoo.create(tmp_path / "t", pa.schema([("id", pa.int64())]), record_key="id")
    data = duckdb.connect().sql(
        f"SELECT 1::BIGINT AS id, '{UUID}'::UUID AS u, 7::HUGEINT AS h, '[1]'::JSON AS j"
    )
    schema = pa.RecordBatchReader.from_stream(data).schema
    table.alter(add={f.name: f.type for f in schema if f.name != "id"})
    table.upsert(data)
    assert table.read().to_pylist() == [{"id": 1, "u": str(UUID), "h": 7, "j": "[1]"}]


def test_a_schema_of_polars_with_objects_makes_no_table(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="Object of polars"):
        hoodoo.create(tmp_path / "t", pl.Schema({"id": pl.Int64, "x": pl.Object}), record_key="id")
    assert not (tmp_path / "t").exists()


UUIDS: dict[str, Callable[[], Any]] = {
    "Arrow": lambda: pa.table({"id": [1], "x": pa.array([UUID], pa.uuid())}),
    "pandas": _pandas([UUID]),
    "DuckDB": _duckdb(f"'{UUID}'::UUID"),
    "dictionaries": lambda: [{"id": 1, "x": UUID}],
}


@pytest.mark.parametrize("what", UUIDS)
def test_uuids_are_stored_as_text(tmp_path: Path, what: str) -> None:
    data = UUIDS[what]()
    schema = pa.schema([("id", pa.int64()), ("x", pa.uuid())])
    table = hoodoo.create(tmp_path / "t", schema, record_key="x")
    table.upsert(data)
    table.upsert(UUIDS["dictionaries"]())
    rows = [{"id": 1, "x": str(UUID)}]
    assert table.read().to_pylist() == rows
    assert table.to_polars().to_dicts() == table.to_pandas().to_dict("records") == rows
    other = uuid.UUID(int=6)
    for where in (pc.field("x") == UUID, pc.field("x").isin([other, UUID]), f"x = '{UUID}'"):
        assert table.read(where=where).to_pylist() == rows
    for where in (pc.field("x") == other, pc.field("x").isin([other])):
        assert not table.read(where=where).to_pylist()
    table.delete(where=pc.field("x") == UUID)
    assert not table.read().to_pylist()


def test_uuids_of_files_are_not_bare_bytes_in_silence(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    column = pa.array([UUID], pa.uuid())
    pq.write_table(pa.table({"id": [1], "x": column}), source / "a.parquet")
    table = hoodoo.convert(source, tmp_path / "t", record_key="id")
    assert table.read().to_pylist() == [{"id": 1, "x": str(UUID)}]
    # Bytes for who asks for them.
    plain = pa.table({"id": [1], "x": column.cast(pa.binary(16))})
    table = hoodoo.create(tmp_path / "bytes", plain.schema, record_key="id")
    table.upsert(plain)
    assert table.read(["x"]).to_pylist() == [{"x": UUID.bytes}]
