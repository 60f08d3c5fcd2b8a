"""Every type that a frame can hold, at the door: its values come back equal, or the call is refused, names the column and
the way out, and writes nothing."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import hoodoo
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hoodoo.errors import DataError, SchemaError

UTC = dt.timezone.utc
MOMENT = dt.datetime(2024, 5, 6, 7, 8, 9, 123456, UTC)
Case = tuple[
    str, Callable[[], Any], list[Any]
]  # what, the frame with the columns id and x, the values of x


def _polars() -> Iterator[Case]:
    values: dict[Any, Any] = {
        pl.Int8: 1, pl.Int16: 2, pl.Int32: 3, pl.Int64: 2**62, pl.Int128: 5, pl.UInt8: 255, pl.UInt16: 65535, pl.UInt32: 2**32 - 1,
        pl.UInt64: 7, pl.Float32: 0.5, pl.Float64: 0.1, pl.Boolean: True, pl.String: "é", pl.Binary: b"\x00\xff", pl.Date: dt.date(2024, 2, 29),
        pl.Time: dt.time(1, 2, 3, 4), pl.Datetime("us", "UTC"): MOMENT, pl.Datetime("ns", "Europe/Oslo"): MOMENT, pl.Datetime("us"): MOMENT.replace(tzinfo=None),
        pl.Duration("us"): dt.timedelta(1), pl.Decimal(38, 2): Decimal("1.25"), pl.Categorical: "a", pl.Enum(["a"]): "a", pl.Null: None,
        pl.Object: uuid.UUID(int=5), pl.List(pl.Int8): [1, None], pl.Array(pl.Float32, 2): [0.5, 1.5], pl.Struct({"a": pl.UInt8}): {"a": 9},
        pl.List(pl.Struct({"a": pl.Categorical})): [{"a": "z"}], pl.List(pl.Int128): [5],
    }  # fmt: skip
    for kind, value in values.items():
        frame = pl.DataFrame({"id": [1, 2], "x": pl.Series([value, None], dtype=kind)})
        yield str(kind), lambda frame=frame: frame, [value, None]


def _duckdb() -> Iterator[Case]:
    texts = [
        "1::TINYINT", "2::SMALLINT", "3::INT", "4::BIGINT", "5::HUGEINT", "6::UHUGEINT", "7::UBIGINT", "8::UINTEGER", "9::BIGNUM", "0.5::FLOAT", "0.1::DOUBLE",
        "1.25::DECIMAL(38, 2)", "true", "'é'", "'\\x00'::BLOB", "DATE '2024-02-29'", "TIME '01:02:03'", "TIMETZ '01:02:03+05'", "TIMESTAMP '2024-05-06 07:08:09'",
        "TIMESTAMPTZ '2024-05-06 07:08:09+00'", "TIMESTAMP_NS '2024-05-06 07:08:09'", "INTERVAL 1 DAY", "'0101'::BIT", "'a'::ENUM('a', 'b')", "[1, NULL]", "[1, 2]::INT[2]",
        "{'a': 1}", "{'a': '01'::BIT}", "map {'k': 1}", "'[1]'::JSON", f"'{uuid.UUID(int=5)}'::UUID", "union_value(a := 1)", "NULL",
    ]  # fmt: skip
    for text in texts:
        sql = f"SELECT 1::BIGINT AS id, {text} AS x"
        values = [row[1] for row in duckdb.connect().execute(sql).fetchall()]
        yield text, lambda sql=sql: duckdb.connect().sql(sql), values


def _pandas() -> Iterator[Case]:
    values: dict[str, Any] = {
        "object text": ["é", None], "Int64": pd.array([1, None], dtype="Int64"), "UInt64": pd.array([1, None], dtype="UInt64"),
        "float32": np.array([0.5, 1.5], np.float32), "float16": np.array([0.5, 1.5], np.float16), "longdouble": np.array([0.5, 1], np.longdouble),
        "complex": [1j, 2j], "boolean": pd.array([True, None], dtype="boolean"), "string": pd.array(["a", None], dtype="string"),
        "category": pd.Categorical(["a", None]), "category of numbers": pd.Categorical([1, 2]), "moments": pd.Series([MOMENT, None], dtype="datetime64[ns, UTC]"),
        "naive moments": pd.to_datetime(["2024-05-06", None]), "timedelta": pd.to_timedelta(["1D", None]), "period": pd.period_range("2020", periods=2, freq="M"),
        "interval": pd.arrays.IntervalArray.from_breaks([0, 1, 2]), "sparse": pd.arrays.SparseArray([0, 1]), "decimal": [Decimal("1.5"), None], "uuid": [uuid.UUID(int=5), None],
        "dates": [dt.date(2024, 2, 29), None], "times": [dt.time(1, 2), None], "bytes": [b"a", None], "lists": [[1, 2], None], "structs": [{"a": 1}, None], "mixed": [1, "a"],
    }  # fmt: skip
    for what, column in values.items():
        frame = pd.DataFrame({"id": [1, 2], "x": column})
        plain = [
            None if v is None or v is pd.NA or v is pd.NaT or v != v else v for v in frame["x"]
        ]
        yield what, lambda frame=frame: frame, plain


def _arrow() -> Iterator[Case]:
    kinds: dict[pa.DataType, Any] = {
        pa.int8(): 1, pa.uint64(): 2**63, pa.float16(): 0.5, pa.date64(): dt.date(2024, 2, 29), pa.time32("s"): dt.time(1, 2, 3), pa.time64("ns"): dt.time(1, 2, 3),
        pa.timestamp("s", "UTC"): dt.datetime(2024, 5, 6, tzinfo=UTC), pa.timestamp("us"): dt.datetime(2024, 5, 6), pa.duration("s"): dt.timedelta(1), pa.decimal256(50, 2): Decimal("1.25"),
        pa.decimal256(20, 2): Decimal("1.25"), pa.decimal128(5, -2): Decimal("100"), pa.large_string(): "é", pa.string_view(): "é", pa.binary(2): b"ab", pa.large_binary(): b"a", pa.binary_view(): b"a",
        pa.large_list(pa.int8()): [1], pa.list_view(pa.string()): ["a"], pa.map_(pa.string(), pa.int8()): [("k", 1)], pa.map_(pa.int8(), pa.int8()): [(1, 1)], pa.month_day_nano_interval(): (1, 2, 3),
        pa.dictionary(pa.int8(), pa.large_string()): "a", pa.null(): None,
    }  # fmt: skip
    for kind, value in kinds.items():
        rows = pa.table({"id": [1, 2], "x": pa.array([value, None], kind)})
        yield str(kind), lambda rows=rows: rows, rows["x"].to_pylist()
    for kind, storage in (
        (pa.bool8(), pa.array([1, None], pa.int8())), (pa.uuid(), pa.array([b"a" * 16, None], pa.binary(16))),
        (pa.json_(), pa.array(["[1]", None])), (pa.opaque(pa.binary(), "a", "b"), pa.array([b"x", None])),
    ):  # fmt: skip
        rows = pa.table({"id": [1, 2], "x": pa.ExtensionArray.from_storage(kind, storage)})
        yield str(kind), lambda rows=rows: rows, rows["x"].to_pylist()


def _dictionaries() -> Iterator[Case]:
    for value in (
        1, 2**70, 0.5, 1j, True, "é", b"a", bytearray(b"a"), Decimal("1.5"), Decimal("1E-40"), dt.date(2024, 2, 29), dt.time(1), MOMENT, MOMENT.replace(tzinfo=None),
        dt.timedelta(1), uuid.UUID(int=5), [1, None], (1, 2), {1}, {"a": 1}, [{"a": 1}], np.int64(1), np.float32(0.5), np.array([1, 2]), object(), range(2),
    ):  # fmt: skip
        yield (
            repr(value)[:30],
            lambda value=value: [{"id": 1, "x": value}, {"id": 2}],
            [value, None],
        )


DOORS = {
    "polars": _polars, "duckdb": _duckdb, "pandas": _pandas, "arrow": _arrow, "dictionaries": _dictionaries,
}  # fmt: skip


def _plain(value: Any) -> Any:
    """What two libraries have for one value, as one."""
    if isinstance(value, (dt.datetime, pd.Timestamp)):
        moment = pd.Timestamp(value)  # one without a zone comes back without
        return moment if moment.tz is None else moment.tz_convert("UTC")
    if isinstance(value, (np.ndarray, list, tuple, set)):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (bytearray, uuid.UUID)):
        return bytes(value) if isinstance(value, bytearray) else str(value)
    return value


def _same(one: Any, other: Any) -> bool:
    one, other = _plain(one), _plain(other)
    if isinstance(one, list) and isinstance(other, dict):  # a map
        other = [[key, value] for key, value in other.items()]
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("door", DOORS)
def test_values_come_back_or_the_call_is_refused(tmp_path: Path, door: str) -> None:
    schema = pa.schema([("id", pa.int64())])
    stored = refused = 0
    for number, (what, frame, values) in enumerate(DOORS[door]()):
        table = hoodoo.create(tmp_path / str(number), schema, record_key="id")
        try:
            table.upsert(frame(), add_columns=True)
        except (SchemaError, DataError) as error:
            assert "x" in error.obj or "column x" in error.rule, what
            assert error.fix, what
            assert not table.timeline().writes(), what
            assert table.schema == schema, what
            refused += 1
            continue
        found = [row["x"] for row in table.read().to_arrow().sort_by("id").to_pylist()]
        assert len(found) == len(values), what
        assert all(map(_same, found, values)), (what, found, values)
        stored += 1
    assert stored > 8
    assert refused > 3
