"""Rows of a table as readers of other formats see them."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from typing import Any

import hoodoo
import pyarrow as pa
from deltalake import DeltaTable
from pyiceberg.table import StaticTable

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("n", pa.int32()),
        ("place", pa.string()),
        ("f", pa.float64()),
        ("at", pa.timestamp("us", "UTC")),
        ("day", pa.date32()),
        ("price", pa.decimal128(10, 2)),
        ("long", pa.decimal128(38, 3)),
        ("names", pa.list_(pa.string())),
        ("inner", pa.struct([("a", pa.int32())])),
        ("by_name", pa.map_(pa.string(), pa.int64())),
        ("flag", pa.bool_()),
        ("raw", pa.binary()),
    ]
)
PLACES = ("a b", "c/d", "é%20")


def row(number: int, value: int) -> dict[str, Any]:
    zone = dt.timezone.utc
    return {
        "id": number,
        "n": value - 50,
        "place": PLACES[number % 3],
        "f": float("nan") if value % 7 == 0 else value / 8,
        "at": dt.datetime(1969, 12, 31, 23, 59, 59, 999_000 + value, zone),
        "day": dt.date(1969, 12, 1) + dt.timedelta(days=value),
        "price": decimal.Decimal(value - 50) / 4,
        "long": decimal.Decimal(f"{value - 50}123456789012345678901234567890.125"),
        "names": [str(value), None],
        "inner": {"a": value},
        "by_name": [("k", value)],
        "flag": None if value % 5 == 0 else value % 2 == 0,
        "raw": bytes([value % 256]),
    }


def some_rows(numbers: Any, value: int, schema: pa.Schema = SCHEMA) -> pa.Table:
    found = pa.Table.from_pylist([row(number, value) for number in numbers], schema=SCHEMA)
    for field in schema:
        if field.name not in found.column_names:
            found = found.append_column(field, pa.array([f"{value}"] * len(found), field.type))
    return found.select(schema.names).cast(schema)


def texts(found: pa.Table, names: list[str]) -> list[str]:
    """The rows as texts, sorted: NaN equals NaN there, and an id may be in several partitions."""
    return sorted(map(str, found.select(names).to_pylist()))


def delta(path: str, version: int | None = None) -> pa.Table:
    return DeltaTable(path, version=version).to_pyarrow_table()


def iceberg(path: str, snapshot: int | None = None, **named: Any) -> pa.Table:
    return StaticTable.from_metadata(path).scan(snapshot_id=snapshot, **named).to_arrow()


def snapshots(path: str) -> list[Any]:
    return list(StaticTable.from_metadata(path).metadata.snapshots)


def check_names(path: str) -> None:
    """In the name mapping no two columns of a level have the same name: readers in Java read
    nothing of a table then."""
    mapping = StaticTable.from_metadata(path).metadata.properties["schema.name-mapping.default"]
    levels = [json.loads(mapping)]
    while levels:
        level = levels.pop()
        names = [name for column in level for name in column["names"]]
        assert len(names) == len({*names}), names
        levels += [column["fields"] for column in level if "fields" in column]


def shown(table: hoodoo.Table) -> list[str]:
    """What the other formats have to show."""
    mode = "read_optimized" if table.config.table_type == "MERGE_ON_READ" else "snapshot"
    found = table.read(mode=mode).to_arrow()
    return texts(found, found.column_names)


def check(table: hoodoo.Table, where: object = "") -> None:
    """Both formats show the newest state, and each listed snapshot can be read."""
    path = table.path.removeprefix("file://")
    names, right = table.schema.names, shown(table)
    assert texts(delta(path), names) == right, (where, "delta")
    assert texts(iceberg(path), names) == right, (where, "iceberg")
    for snapshot in snapshots(path):
        iceberg(path, snapshot.snapshot_id)
