"""Makes docs/types.md: `python tests/meta/types_page.py`. The types that are tried are declared here; what becomes of each
is found by writing it."""

from __future__ import annotations

import datetime as dt
import json
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import hoodoo
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from hoodoo.errors import DataError, SchemaError
from hoodoo.model.schema.avro import avro_text
from hoodoo_rows.model.normalize import normalise_schema
from hoodoo_spark.types import arrow_schema, spark_schema
from pyspark.sql import types

PAGE = Path(__file__).resolve().parents[2] / "docs" / "types.md"
_HEAD = """# Types of columns

This page shows what becomes of the types of Arrow, and of pandas, polars, DuckDB and Spark, which all arrive as Arrow data.
Tests write a value and a null of each type, and read them.

## Stored types

A table has these types. The table's schema and log files with Avro blocks use the type of Avro; base files and Parquet
blocks use that of Parquet. `to_arrow()` returns the type of Arrow, and the frames return theirs. Each column may be null:
in Avro it is the union of `null` and the type.

"""
_ARRIVES = """
## What arrives

The types above are stored as they are, other types of Arrow as the type beside them, with equal values. In a table that
exists, an incoming value gets the type of its column, if it fits ([rules](writing.md#when-the-schema-changes)). The types
within lists, structs and values of maps follow the same rules.

"""
_REFUSED = """
## What is refused

The error names the column, the rule and what to write.

"""
_FRAMES = """
## Types of frames

What becomes of types that other libraries have, and Arrow lacks or has under another name. All others are those of Arrow
with the same name.

"""


class Tried(NamedTuple):
    """Arrow data as it arrives: a value and a null."""

    rows: pa.Array
    note: str = ""


def _tried() -> list[Tried]:
    moment, day, time = dt.datetime(2024, 5, 6, 7, 8, 9), dt.date(2024, 2, 29), dt.time(1, 2, 3)
    utc = moment.replace(tzinfo=dt.timezone.utc)
    values: list[tuple[pa.DataType, Any, str]] = [
        (pa.bool_(), True, ""),
        (pa.int8(), 1, ""),
        (pa.int16(), 2, ""),
        (pa.int32(), 3, ""),
        (pa.int64(), 2**62, ""),
        (pa.uint8(), 255, ""),
        (pa.uint16(), 65_535, ""),
        (pa.uint32(), 2**32 - 1, ""),
        (pa.uint64(), 7, ""),
        (pa.float16(), 0.5, ""),
        (pa.float32(), 0.5, ""),
        (pa.float64(), 0.1, ""),
        (pa.decimal32(5, 2), Decimal("1.25"), ""),
        (pa.decimal64(12, 2), Decimal("1.25"), ""),
        (pa.decimal128(20, 2), Decimal("1.25"), ""),
        (pa.decimal256(38, 2), Decimal("1.25"), ""),
        (pa.decimal256(50, 2), Decimal("1.25"), ""),
        (pa.decimal128(5, -2), Decimal("100"), ""),
        (pa.string(), "é", ""),
        (pa.large_string(), "é", ""),
        (pa.string_view(), "é", ""),
        (pa.binary(), b"\0", ""),
        (pa.large_binary(), b"\0", ""),
        (pa.binary_view(), b"\0", ""),
        (pa.binary(2), b"ab", "the length is not stored"),
        (pa.date32(), day, ""),
        (pa.date64(), day, ""),
        (pa.time32("s"), time, ""),
        (pa.time32("ms"), time, ""),
        (pa.time64("us"), time, ""),
        (pa.time64("ns"), time, "refused if a value is no whole microsecond"),
        (pa.timestamp("s"), moment, ""),
        (pa.timestamp("ms"), moment, ""),
        (pa.timestamp("us"), moment, ""),
        (pa.timestamp("ns"), moment, "refused if a value is no whole microsecond, or cut off: "
            "[timestamps](writing.md#timestamps)"),
        (pa.timestamp("ms", "UTC"), utc, ""),
        (pa.timestamp("us", "Europe/Oslo"), utc, "the moment is stored, not the zone"),
        (pa.duration("us"), dt.timedelta(1), ""),
        (pa.month_day_nano_interval(), pa.MonthDayNano([1, 2, 3]), ""),
        (pa.list_(pa.int64()), [1, None], ""),
        (pa.large_list(pa.int64()), [1, None], ""),
        (pa.list_view(pa.int64()), [1, None], ""),
        (pa.large_list_view(pa.int64()), [1, None], ""),
        (pa.list_(pa.int64(), 2), [1, None], "the length is not stored"),
        (pa.map_(pa.string(), pa.int64()), [("k", 1)], ""),
        (pa.map_(pa.int64(), pa.int64()), [(1, 1)], ""),
        (pa.struct([("a", pa.int64())]), {"a": 1}, ""),
        (pa.struct([]), {}, ""),
        (pa.dictionary(pa.int32(), pa.string()), "a", ""),
        (pa.null(), None, ""),
        (pa.json_(), "[1]", "the text is stored as it is"),
    ]  # fmt: skip
    tried = [Tried(pa.array([value, None], kind), note) for kind, value, note in values]
    ends = pa.array([1, 2], pa.int32())
    tensors = pa.FixedSizeListArray.from_arrays(pa.array([1, 2, None, None], pa.int64()), 2)
    tried += [
        Tried(pa.RunEndEncodedArray.from_arrays(ends, pa.array(["a", None]))),
        Tried(_extension(pa.bool8(), pa.array([1, None], pa.int8()))),
        Tried(
            _extension(pa.fixed_shape_tensor(pa.int64(), [2]), tensors), "the shape is not stored"
        ),
        Tried(_extension(pa.opaque(pa.binary(), "point", "example"), pa.array([b"x", None]))),
        Tried(pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])])),
    ]  # fmt: skip
    uuids = _extension(pa.uuid(), pa.array([bytes(range(16)), None], pa.binary(16)))
    return [*tried, Tried(uuids, "its text")]


def _extension(kind: pa.DataType, storage: pa.Array) -> pa.Array:
    return pa.ExtensionArray.from_storage(kind, storage)


TRIED = _tried()


def stored_type(kind: pa.DataType) -> pa.DataType | SchemaError:
    """What a new table stores for a column of ``kind``, or why it stores none."""
    try:
        return normalise_schema(pa.schema([("a", kind)]), {}).field(0).type
    except SchemaError as error:
        return error


def name(kind: pa.DataType) -> str:
    """Arrow's name of ``kind``."""
    if isinstance(kind, pa.BaseExtensionType):
        return str(kind.extension_name)
    if pa.types.is_run_end_encoded(kind):
        return f"run_end_encoded<{kind.value_type}>"
    if pa.types.is_dictionary(kind):
        return f"dictionary<{kind.value_type}>"
    return str(kind).replace("month_day_nano_interval", "interval (months, days, nanoseconds)")


def _frames() -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Library, type and a frame with the columns id and x."""
    pandas: dict[str, Any] = {
        "object of text": ["é", None], "object of decimals": [Decimal("1.5"), None], "object of dicts": [{"a": 1}, None],
        "object of UUIDs": [uuid.UUID(int=5), None], "object, mixed": [1, "a"], "Int64": pd.array([1, None], dtype="Int64"),
        "category": pd.Categorical(["a", None]), "datetime64[ns]": pd.to_datetime(["2024-05-06", None]),
        "timedelta64[ns]": pd.to_timedelta(["1D", None]), "period[M]": pd.period_range("2020", periods=2, freq="M"),
        "interval": pd.arrays.IntervalArray.from_breaks([0, 1, 2]), "Sparse": pd.arrays.SparseArray([0, 1]), "complex128": [1j, 2j],
    }  # fmt: skip
    for what, column in pandas.items():
        yield "pandas", what, lambda column=column: pd.DataFrame({"id": [1, 2], "x": column})
    polars: dict[Any, Any] = {
        pl.Categorical: "a", pl.Enum(["a"]): "a", pl.Int128: 5, pl.Duration("us"): dt.timedelta(1), pl.Array(pl.Float32, 2): [0.5, 1.5],
        pl.Object: uuid.UUID(int=5), pl.Null: None,
    }  # fmt: skip
    for kind, value in polars.items():
        column = pl.Series([value, None], dtype=kind)
        what = str(kind).split("(")[0]
        yield "polars", what, lambda column=column: pl.DataFrame({"id": [1, 2], "x": column})
    for text in (
        "5::HUGEINT", "9::BIGNUM", "'a'::ENUM('a')", "[1, 2]::INT[2]", "TIMETZ '01:02:03+05'", "INTERVAL 1 DAY", "'01'::BIT",
        "'[1]'::JSON", f"'{uuid.UUID(int=5)}'::UUID", "union_value(a := 1)",
    ):  # fmt: skip
        sql = f"SELECT 1::BIGINT AS id, {text} AS x"
        yield "DuckDB", str(duckdb.sql(sql).types[1]), lambda sql=sql: duckdb.sql(sql)


def _spark_types() -> Iterator[Any]:
    yield from (
        types.ByteType(), types.ShortType(), types.CharType(3), types.VarcharType(3), types.TimestampType(), types.TimestampNTZType(),
        types.DayTimeIntervalType(), types.YearMonthIntervalType(), types.NullType(), types.MapType(types.IntegerType(), types.StringType()),
    )  # fmt: skip


def _of_frames() -> Iterator[tuple[str, str, str, str]]:
    """Library, type, the type that is stored or what the refusal says to do."""
    with tempfile.TemporaryDirectory() as folder:
        for number, (library, kind, frame) in enumerate(_frames()):
            path = Path(folder) / str(number)
            try:
                table = hoodoo.create(path, frame(), record_key="id")
                yield library, kind, f"`{table.schema.field('x').type}`", ""
            except (SchemaError, DataError) as error:
                yield library, kind, "refused", error.fix
    for spark in _spark_types():
        try:
            found = arrow_schema(types.StructType([types.StructField("a", spark)])).field(0).type
            stored = stored_type(found)
        except SchemaError as error:
            stored = error
        says = ("refused", stored.fix) if isinstance(stored, SchemaError) else (f"`{stored}`", "")
        yield "Spark", spark.simpleString(), *says


def _stored() -> list[tuple[pa.DataType, pa.Array]]:
    """The types that tables store, with rows, each once."""
    found: dict[str, tuple[pa.DataType, pa.Array]] = {}
    for one in TRIED:
        kind = stored_type(one.rows.type)
        if not isinstance(kind, SchemaError):
            same = one.rows.type == kind
            group = "decimal" if pa.types.is_decimal(kind) else str(kind)
            if same or group not in found:
                found[group] = kind, one.rows
    return list(found.values())


def _avro(kind: pa.DataType) -> str:
    field = json.loads(avro_text(pa.schema([("a", kind)]), "t"))["fields"][0]["type"][1]
    if isinstance(field, str):
        return field
    if "logicalType" in field:
        size = f"({field['size']})" if "size" in field else ""
        return f"{field['logicalType']} of {field['type']}{size}"
    return str(field["type"])


def _parquet(schema: Any, column: str) -> str:
    found, group = [], ""
    for i in range(len(schema)):
        leaf = schema.column(i)
        if leaf.path.split(".")[0] == column:
            logical = json.loads(leaf.logical_type.to_json())
            said = str(leaf.logical_type).split("(")[0]
            if said == "Timestamp":
                zone = "UTC" if logical["isAdjustedToUTC"] else "no zone"
                said = f"Timestamp({logical['timeUnit'][:-7]}s, {zone})".replace("oss", "os")
            elif said == "Time":
                said = f"Time({logical['timeUnit']})"
            elif said == "Decimal":
                said = f"Decimal({logical['precision']}, {logical['scale']})"
            found.append(leaf.physical_type + ("" if said == "None" else f" {said}"))
            group = "group of " if "." in leaf.path else ""
    return group + ", ".join(found)


def _spark(field: pa.Field) -> str:
    if pa.types.is_time(field.type):  # PySpark has it from 4.1 on
        return "time(3)" if field.type.unit == "ms" else "time(6)"
    return str(spark_schema(pa.schema([field]))[0].dataType.simpleString())


def rows_of(columns: list[pa.Array]) -> pa.Table:
    """A table of ``columns`` that are called c0, c1 and so on, with keys."""
    names = [f"c{i}" for i in range(len(columns))]
    return pa.table([pa.array(["a", "b"]), *columns], names=["id", *names])


def render() -> str:
    stored = _stored()
    with tempfile.TemporaryDirectory() as folder:
        rows = rows_of([array for _, array in stored])
        table = hoodoo.create(folder, rows.schema, record_key="id")
        table.append(rows)
        parquet = pq.ParquetFile(next(Path(folder).glob("*.parquet"))).schema
        read = table.to_arrow()
        pandas, polars = table.to_pandas().dtypes, table.to_polars().schema
        duck = duckdb.from_arrow(read)
        relation = dict(zip(duck.columns, map(str, duck.types), strict=True))
    lines = [
        "| Arrow | Avro | Parquet | Spark | pandas | polars | DuckDB |",
        "|---|---|---|---|---|---|---|",
    ]
    for i, (kind, _) in enumerate(stored):
        column = f"c{i}"
        cells = [
            name(read.schema.field(column).type), _avro(kind), _parquet(parquet, column),
            _spark(read.schema.field(column)), str(pandas[column]), str(polars[column]), relation[column],
        ]  # fmt: skip
        lines.append("| " + " | ".join(f"`{cell}`" for cell in cells) + " |")
    arrives: dict[str, list[str]] = {}
    refused: dict[str, list[str]] = {}
    for one in TRIED:
        found = stored_type(one.rows.type)
        if isinstance(found, SchemaError):
            refused.setdefault(found.fix, []).append(f"`{name(one.rows.type)}`")
        elif one.note or str(found) != name(one.rows.type):
            becomes = f"`{found}`: {one.note}" if one.note else f"`{found}`"
            arrives.setdefault(becomes, []).append(f"`{name(one.rows.type)}`")
    frames: dict[str, list[str]] = {}
    for library, what, becomes, fix in _of_frames():
        said = f"{becomes}: {fix}" if fix else becomes
        frames.setdefault(f"{library} | {said}", []).append(f"`{what}`")
    parts = (
        (_HEAD, lines),
        (_ARRIVES, ["| Arrow | stored as |", "|---|---|", *_grouped(arrives)]),
        (_REFUSED, ["| Arrow | fix |", "|---|---|", *_grouped(refused)]),
        (_FRAMES, ["| | type | stored as |", "|---|---|---|", *_of_library(frames)]),
    )
    return "".join(head + "\n".join(rows) + "\n" for head, rows in parts)


def _of_library(found: dict[str, list[str]]) -> list[str]:
    """The library comes first, then its types."""
    rows = [(one.partition(" | "), types) for one, types in found.items()]
    return [f"| {lib} | {', '.join(types)} | {what} |" for (lib, _, what), types in rows]


def _grouped(found: dict[str, list[str]]) -> list[str]:
    return [f"| {', '.join(types)} | {what} |" for what, types in found.items()]


if __name__ == "__main__":
    PAGE.write_text(render(), "utf-8")
    sys.stdout.write(f"{PAGE}\n")
