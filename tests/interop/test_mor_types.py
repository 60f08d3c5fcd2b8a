"""Log blocks and delete blocks with columns, keys and ordering values of every type."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from both import Both
from model import SCHEMA, Model
from mor import BLOCKS, IS_DELETED, MarkedModel, check, instants, log_files, setup, spark_compact
from test_spark_reads import ENCODED, EVERY, HIVE, every_type

every_block = pytest.mark.parametrize("blocks", ["avro", "parquet"])
both_versions = pytest.mark.parametrize("version", [9, 6])


@every_block
@both_versions
def test_every_column(both: Both, version: int, blocks: str) -> None:
    """Both sides write all types into logs, read each other's, and compact them.

    `hudi` does not read Avro blocks with a timestamp inside a struct.
    """
    others = blocks == "parquet"
    setup(both, version, "SIMPLE", blocks, partition_by=())
    both.model, both.schema = Model(("id",)), EVERY
    both.create()
    both.hoodoo_upsert([every_type(n, 1) for n in range(10)])
    both.hoodoo_upsert([every_type(n, 2) for n in range(3, 8)])
    check(both, "written by Hoodoo", others)
    both.spark_upsert([every_type(n, 3) for n in range(6, 9)])
    assert len(log_files(both)) == 2
    check(both, "and by Spark", others)
    spark_compact(both)
    check(both, "compacted by Spark")
    both.spark_upsert([every_type(n, 4) for n in range(5)])
    both.hoodoo_upsert([every_type(n, 5) for n in range(2, 7)])
    both.hoodoo().compact()
    check(both, "compacted by Hoodoo")
    both.spark_upsert([every_type(n, 6) for n in range(8, 12)])
    check(both, "Spark writes on", others)


@every_block
@both_versions
def test_timestamps_without_a_zone(both: Both, version: int, blocks: str) -> None:
    """As the key, in a struct, and null. (Spark Hudi 1.2 writes no milliseconds; `hudi` 0.5 reads no such table.)"""
    local = pa.timestamp("us")
    setup(both, version, "SIMPLE", blocks, partition_by=())
    both.model = Model(("at",))
    both.schema = pa.schema(
        [("at", local), ("ts", pa.int64()), ("s", pa.struct([("x", local)])), ("n", local)]
    )
    both.options["hoodie.datasource.write.recordkey.field"] = "at"

    def rows(numbers: range, ts: int) -> list[dict[str, Any]]:
        times = [
            datetime(1969, 12, 31, 23, 59, 59, 999_998) + timedelta(hours=n, microseconds=n)
            for n in numbers
        ]
        return [
            {"at": t, "ts": ts, "s": {"x": t}, "n": t if n % 2 else None}
            for n, t in enumerate(times)
        ]

    both.create()
    both.hoodoo_upsert(rows(range(-3, 6), 1))
    both.hoodoo_upsert(rows(range(2, 4), 2))
    check(both, "written by Hoodoo", others=False)
    both.spark_upsert(rows(range(3, 8), 3))
    assert log_files(both)
    check(both, "and by Spark", others=False)
    both.hoodoo().compact()
    both.spark_upsert(rows(range(-1, 2), 4))
    both.hoodoo_delete(rows(range(-3, -2), 5))
    check(both, "compacted by Hoodoo", others=False)


NOON = datetime(2024, 2, 29, 12, tzinfo=timezone.utc)
# Spark Hudi fails on dates in delete blocks, and on dates and decimals where it rewrites a base file.
ORDERINGS: dict[str, tuple[pa.DataType, Callable[[int], Any]]] = {
    "int": (pa.int32(), lambda n: n),
    "string": (pa.string(), lambda n: f"{n:05}"),
    "double": (pa.float64(), lambda n: n / 3),
    "timestamp": (pa.timestamp("us", "UTC"), lambda n: NOON + timedelta(microseconds=n)),
    "decimal": (pa.decimal128(10, 2), lambda n: Decimal(n) / 4),
    "date": (pa.date32(), lambda n: date(1969, 12, 30) + timedelta(days=n)),
}


@pytest.mark.parametrize("kind", ORDERINGS)
@pytest.mark.parametrize(("version", "blocks"), [(9, "parquet"), (6, "avro")])
def test_ordering(both: Both, version: int, blocks: str, kind: str) -> None:
    """Marked deletes of a lower, an equal and a higher ordering value, and deletes by key.

    Strings in Avro blocks only: of Parquet blocks Spark takes any late row if the value is a string.
    """
    type_, value = ORDERINGS[kind]
    blocks = "avro" if kind == "string" else blocks
    setup(both, version, "BUCKET", blocks, partition_by=())
    both.model = MarkedModel(("id",))
    both.schema = pa.schema([("id", pa.string()), ("ts", type_), (IS_DELETED, pa.bool_())])
    both.create()

    def rows(numbers: range, at: int, deleted: bool = False) -> list[dict[str, Any]]:
        return [{"id": f"k{n}", "ts": value(at), IS_DELETED: deleted} for n in numbers]

    both.hoodoo_upsert(rows(range(20), 10))
    both.hoodoo().compact()
    both.hoodoo_upsert(rows(range(10, 20), 20))
    both.hoodoo_upsert(
        rows(range(1), 9, True) + rows(range(1, 2), 10, True) + rows(range(2, 3), 11, True)
        + rows(range(10, 11), 19, True) + rows(range(11, 12), 20, True)
        + rows(range(12, 13), 21, True) + rows(range(3, 5), 12)
    )  # fmt: skip
    check(both, "marked deletes")
    both.hoodoo_delete(rows(range(5, 7), 0) + rows(range(13, 15), 0))
    both.hoodoo_upsert(rows(range(5, 6), 30) + rows(range(13, 14), 30))
    check(both, "deletes by key")
    both.spark_upsert(rows(range(7, 9), 25) + rows(range(15, 17), 5))
    both.spark_delete(rows(range(8, 9), 0))
    check(both, "Spark writes on")
    if kind != "date":
        both.spark_upsert(rows(range(16, 18), 26, True) + rows(range(18, 19), 3, True))
        check(both, "and marks")
    spark_compact(both)
    check(both, "compacted by Spark")


LAYOUTS: dict[str, dict[str, Any]] = {
    "hive": {"partition_by": ["region"], "options": HIVE},
    "encoded": {"partition_by": ["region"], "options": {**HIVE, **ENCODED}},
    "complex": {
        "partition_by": ["region", "name"], "record_key": ["id", "ts"], "ordering": None,
        "options": {**HIVE, **ENCODED},
    },
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@both_versions
def test_layouts(both: Both, version: int, layout: str) -> None:
    """Keys and partition paths in log and delete blocks are the bytes that Spark makes."""
    made = LAYOUTS[layout]
    keys, ordering = made.get("record_key", ["id"]), made.get("ordering", "ts")
    by = made["partition_by"]
    model = Model(tuple(dict.fromkeys([*keys, *by])), ordering)
    both.setup(
        model, SCHEMA, version, "SIMPLE", False, by, keys, table_type="MERGE_ON_READ",
        **{BLOCKS.replace(".", "__"): "parquet"},
    )  # fmt: skip
    both.create({**made["options"]})
    regions = ("a/b", "c%d", "e=f", "plain") if layout != "hive" else ("eu", "us", None)

    def rows(numbers: range, ts: int, name: str = "n") -> list[dict[str, Any]]:
        return [
            {"id": f"k:{n},", "name": name, "ts": ts, "region": regions[n % len(regions)]}
            for n in numbers
        ]

    later = 5 if layout == "complex" else 6  # a part of the key there
    both.hoodoo_upsert(rows(range(16), 5))
    both.hoodoo_upsert(rows(range(4, 10), later))
    both.hoodoo_delete(rows(range(6), later) if later == 6 else rows(range(6), 5))
    assert log_files(both)
    check(both, "written by Hoodoo")
    both.spark_upsert(rows(range(5, 12), later))
    both.spark_delete(rows(range(11, 13), later))
    check(both, "and by Spark")
    both.hoodoo().compact()
    check(both, "compacted by Hoodoo")


@both_versions
def test_metadata_table(both: Both, version: int) -> None:
    """Spark adds its metadata table, as by default; Hoodoo keeps it."""
    setup(both, version).create()
    both.options["hoodie.metadata.enable"] = "true"

    def rows(numbers: range, ts: int) -> list[dict[str, Any]]:
        return [
            {"id": f"k{n}", "name": "n", "ts": ts, "region": "eu", IS_DELETED: False}
            for n in numbers
        ]

    both.hoodoo_upsert(rows(range(10), 1))
    both.spark_upsert(rows(range(5), 2))
    assert (both.path / ".hoodie" / "metadata").is_dir()
    check(both, "with a metadata table")
    both.hoodoo_upsert(rows(range(3, 8), 3))
    assert both.hoodoo().config.metadata_partitions
    check(both, "after a write of Hoodoo's")
    both.spark_upsert(rows(range(6, 12), 4))
    check(both, "and with it again")
    both.opened = {}
    assert len(instants(both)) == 4
