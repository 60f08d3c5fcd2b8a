"""Spark Hudi reads and compacts the log files that Hoodoo writes, and both write on."""

from __future__ import annotations

import pytest
from both import Both
from model import table
from mor import (
    base_files,
    check,
    check_optimized,
    check_travel,
    instants,
    log_files,
    rows,
    setup,
    spark_compact,
)

# Each pair of settings once: version, index, blocks, ordering.
KINDS = [
    (9, "SIMPLE", "parquet", "ts"),
    (9, "BUCKET", "avro", "ts"),
    (9, "SIMPLE", "avro", None),
    (9, "BUCKET", "parquet", None),
    (6, "SIMPLE", "avro", "ts"),
    (6, "BUCKET", "parquet", "ts"),
    (6, "SIMPLE", "parquet", None),
    (6, "BUCKET", "avro", None),
    (8, "SIMPLE", "parquet", "ts"),
    (8, "BUCKET", "avro", None),
]
kinds = pytest.mark.parametrize(("version", "index", "blocks", "ordering"), KINDS)


@kinds
def test_life(both: Both, version: int, index: str, blocks: str, ordering: str | None) -> None:
    setup(both, version, index, blocks, ordering).create()
    both.hoodoo_upsert(rows(range(30), 5, "first"))
    both.hoodoo_upsert(rows(range(4), 4, "late") + rows(range(4, 12), 6, "newer"))
    assert log_files(both), "the update was not written to log files"
    both.hoodoo_delete(rows(range(10, 16), 5, ""))
    check(both, "after updates and deletes")
    marks = rows(range(2), 4, "", True) + rows(range(2, 4), 5, "", True)
    both.hoodoo_upsert(marks + rows(range(4, 6), 7, "", True) + rows(range(20, 22), 5, "tie"))
    both.hoodoo_upsert(rows(range(12, 14), 9, "again") + rows(range(30, 36), 1, "new"))
    check(both, "after marked deletes")
    check_optimized(both, "before compaction")
    written = instants(both)
    spark_compact(both)
    check(both, "compacted by Spark")
    assert check_optimized(both, "compacted").num_rows == len(both.model.rows)
    for instant in written[1:4]:
        check_travel(both, instant)
    both.hoodoo_upsert(rows(range(20, 34), 10, "after"))
    both.hoodoo_delete(rows(range(20, 23), 10, ""))
    check(both, "Hoodoo writes on")
    both.spark_upsert(rows(range(25, 40), 11, "spark"))
    both.spark_delete(rows(range(30, 33), 11, ""))
    check(both, "and Spark")
    both.hoodoo_upsert(rows(range(28, 42), 12, "end"))
    check(both, "and Hoodoo again")


@pytest.mark.parametrize("version", [9, 6])
def test_other_operations(both: Both, version: int) -> None:
    """Overwriting replaces log files too; insert and bulk_insert add base files that Spark knows."""
    setup(both, version).create()
    t = both.hoodoo()
    model, schema = both.model, both.schema
    t.insert(table(model.upsert(rows(range(10), 1, "in")), schema))
    t.upsert(table(model.upsert(rows(range(6), 2, "up")), schema))
    t.bulk_insert(table(model.upsert(rows(range(20, 26), 1, "bulk")), schema))
    t.upsert(table(model.upsert(rows(range(4, 24), 3, "up")), schema))
    check(both, "after a bulk_insert")
    one = [r for r in rows(range(40, 46), 1, "over") if r["region"] == "eu"]
    plain = [{k: v for k, v in r.items() if not k.startswith("_hoodie_")} for r in one]
    model.drop("region", "eu")
    for row in plain:
        model.rows[model.key(row)] = row
    t.insert_overwrite(table(one, schema))
    check(both, "after insert_overwrite")
    both.spark_upsert(rows(range(18, 28), 4, "spark"))
    check(both, "after Spark's upsert")
    t = both.hoodoo()
    t.delete_partitions(["us"])
    model.drop("region", "us")
    check(both, "after a partition was dropped")
    t.upsert(table(model.upsert(rows(range(41, 44, 2), 2, "up")), schema))
    check(both, "after the last upsert")
    spark_compact(both)
    check(both, "compacted")


@pytest.mark.parametrize("version", [9, 6])
def test_base_files_stay(both: Both, version: int) -> None:
    """An update of rows that are stored touches no base file, and a second one makes a second log."""
    setup(both, version, partition_by=()).create()
    both.hoodoo_upsert(rows(range(10), 1, "first"))
    before = {p: p.read_bytes() for p in base_files(both)}
    both.hoodoo_upsert(rows(range(5), 2, "second"))
    both.hoodoo_upsert(rows(range(3, 8), 3, "third"))
    assert {p: p.read_bytes() for p in base_files(both)} == before
    assert len(log_files(both)) == 2
    check(both, "two logs on one base file")
