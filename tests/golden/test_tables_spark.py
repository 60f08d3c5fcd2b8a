"""The same tables through a DataFrame: Spark's rows equal the scan's, which equal `hudi`'s."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from golden_tables import READ

pytestmark = [pytest.mark.spark, pytest.mark.sampled(4)]

# Tables that hold files from before a column's type changed: Spark's reader must not see those.
MIXED = {"cow_v9_timebasedkeygen_epochmillis", "cow_v9_timebasedkeygen_unixtimestamp"}
Golden = Callable[[str], Path]
Same = Callable[[pa.Table, "pa.Table | None", str], None]
Collected = Callable[[Any], pa.Table]


@pytest.mark.parametrize("name", READ)
def test_newest(
    name: str,
    golden: Golden,
    oracle: Callable[..., Any],
    same: Same,
    collected: Collected,
    spark: Any,
) -> None:
    path = golden(name)
    scan = hoodoo.open(str(path)).read(meta=True)
    same(collected(scan.to_spark(spark)), oracle(path), "newest")


@pytest.mark.parametrize("name", READ)
def test_who_reads_what(name: str, golden: Golden) -> None:
    from hoodoo_spark.dataframe import split_slices

    table = hoodoo.open(str(golden(name)))
    scan = table.read(meta=True)
    split = split_slices(scan)
    assert {*split.native, *split.merged} == set(scan.plan.slices)
    with_logs = [s for s in scan.plan.slices if s.log_files]
    assert bool(split.merged) == (name in MIXED or bool(with_logs))
    assert all(s in split.merged for s in with_logs)
    if scan.plan.slices:
        filtered = table.read(where=pc.scalar(True))
        assert split_slices(filtered).native == ()


@pytest.mark.parametrize("name", READ)
def test_each_older_instant(
    name: str, golden: Golden, same: Same, collected: Collected, spark: Any
) -> None:
    table = hoodoo.open(str(golden(name)))
    for instant in table.timeline().writes()[:-1]:
        scan = table.read(as_of=instant.requested, meta=True)
        same(collected(scan.to_spark(spark)), scan.to_arrow(), str(instant))


def test_projection_and_filter(
    golden: Golden, same: Same, collected: Collected, spark: Any
) -> None:
    table = hoodoo.open(str(golden("cow_v9_txns_complex_nometa")))
    columns = ["amount", "txn_id", "_hoodie_file_name"]
    for where in (None, (pc.field("region") == "eu") & (pc.field("is_international"))):
        scan = table.read(columns=columns, where=where)
        frame = scan.to_spark(spark)
        assert frame.columns == columns
        same(collected(frame), scan.to_arrow(), str(where))


@pytest.mark.parametrize("where", [None, pc.field("region") == "eu", pc.field("region") == "mars"])
def test_no_columns_still_count(golden: Golden, spark: Any, where: Any) -> None:
    scan = hoodoo.open(str(golden("cow_v9_txns_complex_nometa"))).read(columns=[], where=where)
    assert scan.to_spark(spark).count() == scan.count()


# --- the data source ------------------------------------------------------------------------------
def through_the_data_source(path: Path) -> pa.Table:
    """Its rows as Spark's workers make them, with the pickles between, and without Spark."""
    from hoodoo_spark.datasource.read import task_schema
    from pyspark import cloudpickle
    from pyspark.sql.datasource import CaseInsensitiveDict
    from pyspark_hoodoo import DefaultSource

    source = DefaultSource(CaseInsensitiveDict({"path": str(path), "meta": "true"}))
    schema = source.schema()
    reader = source.reader(schema)
    worker = cloudpickle.loads(cloudpickle.dumps(reader))
    batches = [b for part in reader.partitions() for b in worker.read(part)]
    return pa.Table.from_batches(batches, task_schema(schema))


@pytest.mark.parametrize("name", READ)
def test_the_data_source_has_the_same_rows(name: str, golden: Golden, same: Same) -> None:
    pytest.importorskip("pyspark.sql.datasource")
    path = golden(name)
    scan = hoodoo.open(str(path)).read()
    rows = scan.to_arrow()
    same(through_the_data_source(path).select(rows.column_names), rows, name)


@pytest.mark.trial
@pytest.mark.parametrize("name", READ)
def test_the_data_source_in_spark(
    name: str, golden: Golden, same: Same, collected: Collected, spark: Any
) -> None:
    pytest.importorskip("pyspark.sql.datasource")
    path = golden(name)
    frame = spark.read.format("hoodoo").option("meta", "true").load(str(path))
    rows = hoodoo.open(str(path)).read().to_arrow()
    same(collected(frame).select(rows.column_names), rows, name)
