"""Key and partition path strings of every type: the same bytes from Hoodoo and from Spark Hudi."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from both import Both
from model import Model

KEYS = pa.schema(
    [
        ("s", pa.string()),
        ("i", pa.int32()),
        ("l", pa.int64()),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("b", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("dec", pa.decimal128(10, 2)),
        ("bin", pa.binary()),
    ]
)
SCHEMA = pa.schema([*KEYS, ("name", pa.string()), ("ts", pa.int64())])
NESTED = pa.schema(
    [
        ("id", pa.string()),
        ("who", pa.struct([("code", pa.string()), ("area", pa.int32())])),
        ("name", pa.string()),
        ("ts", pa.int64()),
    ]
)
FLOATS = [0.1, 1e10, 1e-5, -0.0, 1.0, 123456.79, 3.4e38, 1e7, 9999999.0, 1.2e-38]
DOUBLES = [0.1, 1e10, 1e-5, -0.0, 1.0, 1 / 3, 1e300, 1e7, 0.001, 2.5e-300]
TEXTS = ["", "a,b", "k:v", "__nil__", "é𝄞", " x ", "a/b", "%41", "=", "null"]


def row(n: int, ts: int, name: str) -> dict[str, Any]:
    return {
        "s": TEXTS[n], "i": -n, "l": n * 2**40, "f": FLOATS[n], "d": DOUBLES[n], "b": n % 2 == 0,
        "day": date(1969, 12, 28) + timedelta(days=n),
        "at": datetime(1969, 12, 31, 23, 59, 59, 500000, timezone.utc) + timedelta(seconds=n / 8),
        "dec": Decimal(n - 3) / 4, "bin": bytes([n, 255, 0]), "name": name, "ts": ts,
    }  # fmt: skip


@pytest.mark.parametrize("version", [9, 6])
@pytest.mark.parametrize("index", ["SIMPLE", "BUCKET"])
def test_all_types_as_one_key(both: Both, version: int, index: str) -> None:
    """A complex key of ten columns, and a path of five parts (of text, see test_spark_reads)."""
    by = ["day", "d", "b", "dec", "i"]
    both.setup(Model(("i",)), SCHEMA, version, index, False, by, KEYS.names)
    both.create({
        "hoodie.datasource.write.hive_style_partitioning": True,
        "hoodie.datasource.write.partitionpath.urlencode": True,
    })  # fmt: skip
    both.hoodoo_upsert([row(n, 1, "hoodoo") for n in range(8)])
    both.spark_upsert([row(n, 2, "spark") for n in range(3, 10)])
    both.check("after Spark's upsert")
    both.hoodoo_upsert([row(n, 3, "hoodoo") for n in range(5, 10)])
    both.spark_delete([row(n, 3, "") for n in (0, 4, 7, 9)])
    both.check("after Hoodoo's upsert and Spark's delete")


@pytest.mark.parametrize("version", [9, 6])
def test_empty_and_null_text_as_partition(both: Both, version: int) -> None:
    """Both go to the default partition; the files keep them apart, Spark's reader does not.

    Spark takes a partition column's values from the path, in its own tables as in these.
    """
    both.setup(Model(("i",)), SCHEMA, version, partition_by=["s"], record_key=["i"])
    both.create()
    some = [{**row(n, 1, "in"), "s": value} for n, value in enumerate(["", None, "x", "", None])]
    both.hoodoo_upsert(some[:3])
    both.spark_upsert([{**r, "ts": 2} for r in some[1:]])
    both.check("by Hoodoo", spark=False)
    for r in both.model.rows.values():
        r["s"] = r["s"] or None
    both.model.expect(both.spark_read(), "by Spark")
    both.hoodoo_delete(some[3:])
    both.model.expect(both.spark_read(), "by Spark, after Hoodoo's delete")


@pytest.mark.parametrize("column", ["at", "dec", "bin", "f"])
def test_a_type_as_the_whole_key(both: Both, column: str) -> None:
    both.setup(Model(("i",)), SCHEMA, 9, "SIMPLE", record_key=[column])
    both.create()
    both.hoodoo_upsert([row(n, 1, "hoodoo") for n in range(8)])
    both.spark_upsert([row(n, 2, "spark") for n in range(3, 10)])
    both.hoodoo_delete([row(n, 1, "") for n in (1, 9)])
    both.check("after both wrote")


@pytest.mark.parametrize("version", [9, 6])
def test_nested_fields(both: Both, version: int) -> None:
    def rows(numbers: range, ts: int) -> list[dict[str, Any]]:
        return [
            {"id": f"k{n}", "who": {"code": f"c{n}", "area": n % 2}, "name": "n", "ts": ts}
            for n in numbers
        ]

    both.setup(Model(("id",)), NESTED, version, "BLOOM", False, ["who.area"], ["who.code"])
    both.create()
    both.hoodoo_upsert(rows(range(8), 1))
    both.spark_upsert(rows(range(4, 10), 2))
    both.check("after Spark's upsert")
