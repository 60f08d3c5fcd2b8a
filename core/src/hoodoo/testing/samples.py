"""Rows to test with."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa


def nested(count: int) -> pa.Table:
    """Rows of every kind of type that a table stores, a third of the values null."""
    utc = dt.timezone.utc

    def value(i: int) -> dict[str, object]:
        return {
            "key": i,
            "flag": i % 2 == 0,
            "small": i,
            "ratio": i / 7,
            "bytes": bytes([i]) * i,
            "price": Decimal(i) / 100,
            "day": dt.date(1900, 1, 1) + dt.timedelta(days=1000 * i),
            "at": dt.datetime(1969, 1, 1, tzinfo=utc) + dt.timedelta(days=i, microseconds=i),
            "wall": dt.datetime(2024, 3, 10, 2, 30) + dt.timedelta(hours=i),
            "tags": [f"t{j}" if j % 2 else None for j in range(i % 4)],
            "by_name": [(f"k{j}", j) for j in range(i % 3)],
            "point": {"x": i, "path": [{"at": dt.datetime(2020, 1, 1, tzinfo=utc), "n": None}]},
            "large": f"large {i}",
            "nothing": None,
        }

    schema = pa.schema(
        [
            ("key", pa.int64()),
            ("flag", pa.bool_()),
            ("small", pa.int8()),
            ("ratio", pa.float64()),
            ("bytes", pa.binary()),
            ("price", pa.decimal128(20, 2)),
            ("day", pa.date32()),
            ("at", pa.timestamp("us", "UTC")),
            ("wall", pa.timestamp("us")),
            ("tags", pa.list_(pa.string())),
            ("by_name", pa.map_(pa.string(), pa.int32())),
            (
                "point",
                pa.struct(
                    [
                        ("x", pa.int64()),
                        (
                            "path",
                            pa.list_(
                                pa.struct([("at", pa.timestamp("us", "UTC")), ("n", pa.int32())])
                            ),
                        ),
                    ]
                ),
            ),
            ("large", pa.large_string()),
            ("nothing", pa.null()),
        ]
    )
    found = []
    for i in range(count):
        row = value(i)
        found.append(
            {
                k: None if k != "key" and (i + n) % 3 == 0 else v
                for n, (k, v) in enumerate(row.items())
            }
        )
    return pa.Table.from_pylist(found, schema)
