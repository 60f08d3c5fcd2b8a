"""Spark Hudi reads what Hoodoo wrote: every operation, layout and column type, now and back in time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from both import Both, travel
from model import SCHEMA, Model, table

HIVE = {"hoodie.datasource.write.hive_style_partitioning": "true"}
ENCODED = {"hoodie.datasource.write.partitionpath.urlencode": "true"}
NASTY = ("a/b", "c%d", "e=f", " g:h", "ü{x}", "plain")
LAYOUTS: dict[str, dict[str, Any]] = {
    "flat": {},
    "simple": {"partition_by": ["region"]},
    "hive": {"partition_by": ["region"], "options": HIVE},
    "encoded": {"partition_by": ["region"], "options": ENCODED},
    "hive-encoded": {"partition_by": ["region"], "options": {**HIVE, **ENCODED}},
    "complex": {
        "partition_by": ["region", "name"], "record_key": ["id", "ts"],
        "options": {**HIVE, **ENCODED}, "ordering": None,
    },
    "bucket": {"partition_by": ["region"], "index": "BUCKET"},
}  # fmt: skip
CODECS = {"flat": "gzip", "hive": "snappy", "complex": "uncompressed"}  # else Hoodoo's own default


def made(both: Both, layout: Mapping[str, Any], version: int, codec: str | None) -> None:
    keys = layout.get("record_key", ["id"])
    by = layout.get("partition_by", [])
    model = Model(tuple(dict.fromkeys([*keys, *by, "region"])), layout.get("ordering", "ts"))
    both.setup(model, SCHEMA, version, layout.get("index", "SIMPLE"), False, by, keys)
    both.create({**layout.get("options", {})})
    both.opened = {"options": {"hoodie.parquet.compression.codec": codec}} if codec else {}


@pytest.mark.parametrize("version", [9, 6])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_operation(both: Both, layout: str, version: int) -> None:
    made(both, LAYOUTS[layout], version, CODECS.get(layout))
    model = both.model
    regions = (
        NASTY if "encoded" in layout else ("eu", "us", None) if layout == "hive" else ("eu", "us")
    )

    def rows(numbers: range, ts: int, name: str) -> list[dict[str, Any]]:
        return [
            {"id": f"k{n}", "name": name, "ts": ts, "region": regions[n % len(regions)]}
            for n in numbers
        ]

    t = both.hoodoo()
    done = [t.insert(table(model.upsert(rows(range(30), 5, "in"))))]
    done.append(
        t.upsert(table(model.upsert([*rows(range(20, 40), 6, "in"), *rows(range(3), 4, "in")])))
    )
    done.append(
        t.delete(table(model.delete([*rows(range(8), 5, "in"), *rows(range(25, 27), 6, "in")])))
    )
    check(both, done[-1], "after a delete")
    done.append(t.bulk_insert(table(model.upsert(rows(range(50, 60), 1, "bulk")))))
    if both.options.get("hoodie.datasource.write.partitionpath.field"):
        one = [
            r for r in rows(range(60, 90), 2, "over") if r["region"] in (regions[0], regions[-1])
        ]
        if layout == "complex":  # the partition is (region, name): nothing with "over" is there yet
            model.upsert(one)
        else:
            model.replace(one, "region")
        done.append(t.insert_overwrite(table(one)))
        gone = {s.partition_path for s in t.file_slices()}
        (first,) = {
            s.partition_path for s in t.file_slices() if _is(s.partition_path, regions[1], layout)
        }
        assert first in gone
        model.rows = {
            k: r for k, r in model.rows.items()
            if r["region"] != regions[1] or (layout == "complex" and r["name"] != "in")
        }  # fmt: skip
        done.append(t.delete_partitions([first]))
        check(both, done[-1], "after a partition was dropped")
    done.append(t.insert_overwrite_table(table(model.replace(rows(range(5), 1, "whole")))))
    done.append(t.upsert(table(model.upsert(rows(range(3, 8), 2, "on")))))
    check(both, done[-1], "at the end")
    # Keys and partition paths are the bytes that Hudi makes: nothing becomes a second row.
    name, ts = ("on", 2) if layout == "complex" else ("spark", 3)
    both.spark_upsert(rows(range(2, 9), ts, name))
    both.check("after Spark's upsert")
    if layout in ("flat", "hive-encoded"):
        for commit in done[:-1]:
            travel(both, commit.instant)
    else:
        travel(both, done[1].instant)


def _is(path: str, region: str | None, layout: str) -> bool:
    """Whether ``path`` is the (first) partition of ``region``."""
    from urllib.parse import unquote

    parts = [unquote(p).partition("=")[2] if "=" in p else unquote(p) for p in path.split("/")]
    if layout == "encoded":
        parts = [unquote(path)]
    return parts[0] == region and (layout != "complex" or parts[1] == "in")


def check(both: Both, commit: hoodoo.Commit, where: str) -> None:
    both.check(f"{where} ({commit.operation})")


POINT = pa.struct(
    [("x", pa.int32()), ("tags", pa.list_(pa.string())), ("at", pa.timestamp("us", "UTC"))]
)
EVERY = pa.schema(
    [
        ("id", pa.string()),
        ("ts", pa.int64()),
        ("flag", pa.bool_()),
        ("small", pa.int32()),
        ("ratio", pa.float32()),
        ("double", pa.float64()),
        ("bytes", pa.binary()),
        ("day", pa.date32()),
        ("micros", pa.timestamp("us", "UTC")),
        ("millis", pa.timestamp("ms", "UTC")),
        ("d5_2", pa.decimal128(5, 2)),
        ("d18_4", pa.decimal128(18, 4)),
        ("d38_10", pa.decimal128(38, 10)),
        ("point", POINT),
        ("numbers", pa.list_(pa.int64())),
        ("points", pa.list_(POINT)),
        ("lists", pa.list_(pa.list_(pa.float64()))),
        ("counts", pa.map_(pa.string(), pa.int64())),
        ("named", pa.map_(pa.string(), POINT)),
        ("amounts", pa.list_(pa.decimal128(10, 3))),
    ]
)
NOON = datetime(2024, 2, 29, 12, 0, 0, 123456, tzinfo=timezone.utc)


def every_type(n: int, ts: int) -> dict[str, Any]:
    """A row with a value in each column; every third column of later rows is null.

    No null in an array: Hudi's own writer refuses that (parquet.avro.write-old-list-structure).
    """
    at = NOON + timedelta(days=n, microseconds=n)
    point = {"x": n, "tags": [f"t{n}", "", "é"], "at": at}
    row: dict[str, Any] = {
        "id": f"k{n}", "ts": ts, "flag": n % 2 == 0, "small": -n, "ratio": n / 4, "double": n / 3,
        "bytes": bytes([n, 0, 255]), "day": date(1969, 12, 31) + timedelta(days=n), "micros": at,
        "millis": at.replace(microsecond=n * 1000), "d5_2": Decimal(n) / 4,
        "d18_4": Decimal("-12345678901234.5678") + n, "d38_10": Decimal(10) ** 26 * n - 1,
        "point": point, "numbers": [n, 0, n * 2**40], "points": [point, point],
        "lists": [[1.5, float(n)], []], "counts": [("a", n), ("b", None)],
        "named": [("p", point), ("none", None)], "amounts": [Decimal("1.125"), Decimal(-n)],
    }  # fmt: skip
    for place, name in enumerate(EVERY.names[2:]):
        if n > 3 and (place + n) % 3 == 0:
            row[name] = None
    return row


@pytest.mark.parametrize("version", [9, 6])
def test_every_type(both: Both, version: int) -> None:
    """Spark also rewrites the file: Hudi's own record reader must understand it."""
    both.setup(Model(("id",)), EVERY, version)
    both.create()
    both.hoodoo_upsert([every_type(n, 1) for n in range(10)])
    both.hoodoo_upsert([every_type(n, 2) for n in range(3, 12)])
    both.check("written by Hoodoo")
    both.spark_upsert([every_type(n, 3) for n in range(5)])
    both.check("one row of it rewritten by Spark")
    both.hoodoo_upsert([every_type(n, 4) for n in range(4, 6)])
    both.check("and again by Hoodoo")


OLD = pa.schema(
    [
        ("id", pa.string()),
        ("ts", pa.int64()),
        ("region", pa.string()),
        ("count", pa.int32()),
        ("ratio", pa.float32()),
        ("small", pa.int32()),
        ("what", pa.struct([("a", pa.int32())])),
    ]
)
NEW = pa.schema(
    [
        ("id", pa.string()),
        ("ts", pa.int64()),
        ("region", pa.string()),
        ("count", pa.int64()),
        ("ratio", pa.float64()),
        ("small", pa.float64()),
        ("what", pa.struct([("a", pa.int32()), ("b", pa.string())])),
        ("extra", POINT),
        ("more", pa.list_(pa.decimal128(9, 2))),
    ]
)


@pytest.mark.parametrize("partitioned", [False, True], ids=["flat", "partitioned"])
@pytest.mark.parametrize("version", [9, 6])
def test_evolved(both: Both, version: int, partitioned: bool) -> None:
    """Columns and struct fields were added, numbers widened: in files old and new, now and before.

    Partition "us" keeps its old file until Spark itself rewrites it.
    """

    def old(n: int, ts: int) -> dict[str, Any]:
        region = "eu" if n % 2 else "us"
        return {"id": f"k{n}", "ts": ts, "region": region, "count": n, "ratio": n / 4, "small": -n,
                "what": None if n == 3 else {"a": n}}  # fmt: skip

    def new(n: int, ts: int) -> dict[str, Any]:
        point = {"x": n, "tags": ["t"], "at": NOON}
        return {**old(n, ts), "count": 2**40 + n, "ratio": 1 / 3, "small": 0.5,
                "what": {"a": n, "b": "b"}, "extra": point, "more": [Decimal("1.25")]}  # fmt: skip

    both.setup(Model(("id",)), OLD, version, partition_by=["region"] if partitioned else [])
    both.create()
    both.opened = {"options": {"hoodoo.schema.widen.integers": True}}
    first = both.hoodoo_upsert([old(n, 1) for n in range(12)])
    both.check("before")
    both.schema = NEW
    for row in both.model.rows.values():
        row["what"] = row["what"] and {**row["what"], "b": None}
        row.update(extra=None, more=None)
    second = both.hoodoo_upsert([new(n, 2) for n in (1, 3, 5, 21)])
    both.check("after Hoodoo changed the schema")
    both.hoodoo_upsert([new(n, 3) for n in (5, 7)])
    for commit in (first, second):
        travel(both, commit.instant)
    both.spark_upsert([new(n, 4) for n in (0, 1, 22)])
    both.check("after Spark's upsert")
    both.hoodoo_upsert([new(n, 5) for n in (2, 9)])
    both.check("and again Hoodoo's")
    travel(both, second.instant)
