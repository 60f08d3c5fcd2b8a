"""The metadata table and the record index on Spark: index rows and lookups cross Spark's exchanges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from indexed_tables import create, lying, rows, told

pytestmark = [pytest.mark.spark, pytest.mark.sampled(2, among="record index on Spark")]


@pytest.mark.parametrize(
    "index", ["record_index", pytest.param("growing_record_index", marks=pytest.mark.trial)]
)
def test_kept_and_asked_on_spark(spark: Any, tmp_path: Path, index: str) -> None:
    path = tmp_path / "t"
    more = {"hoodoo.index.bucket.cap": "20"} if index == "growing_record_index" else None
    table = create(path, index, engine="spark", options=more)
    table.upsert(spark.createDataFrame(rows(range(90), 1).to_pandas()))
    again = table.upsert(spark.createDataFrame(rows(range(60, 120), 2).to_pandas()))
    assert (again.inserted, again.updated) == (30, 30)
    table.bulk_insert(spark.createDataFrame(rows(range(200, 230), 3).to_pandas()))
    table.delete(rows([3, 205], 4).select(["id", "part"]))
    assert table.upsert(rows([205, 206], 5)).inserted == 1
    where = lying(path)
    assert len(where) == 149
    if index == "record_index":
        assert told(path, where) == where
    assert table.compare_indexes(index, "simple").same
    table.compact_metadata()
    table.rebuild_index()
    assert hoodoo.open(str(path)).verify().findings == ()
    scan = table.read(where=pc.field("id") == "k206")
    assert len(scan.plan.slices) == 1
    assert scan.to_spark(spark).count() == 1


def test_many_asked_keys_meet_by_bucket(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hoodoo_metadata.partitions.record_index import index as record_index

    monkeypatch.setattr(record_index, "_SIDE_BYTES", 0)
    for index in ("record_index", "partitioned_record_index"):
        table = create(tmp_path / index, index, engine="spark")
        table.upsert(rows(range(50), 1))
        done = table.upsert(pa.concat_tables([rows(range(40, 60), 2), rows([7], 2)]))
        assert (done.inserted, done.updated) == (10, 11)


@pytest.mark.parametrize("style", ["false", "true"])
def test_fault_a1_spark_finds_rows_that_stayed(spark: Any, tmp_path: Path, style: str) -> None:
    from pyspark.sql import functions as F

    hive = {"hoodie.datasource.write.hive_style_partitioning": style}
    table = create(tmp_path / "t", engine="spark", options=hive)
    table.upsert(spark.createDataFrame(rows(range(9), 1).to_pandas()))
    table.upsert(spark.createDataFrame(rows([3, 4], 2, "elsewhere").to_pandas()))
    there = table.read(where=pc.field("part") == "elsewhere")
    assert there.count() == there.to_spark(spark).count() == 2
    assert table.read().to_spark(spark).where(F.col("part") == "elsewhere").count() == 2
    since = table.timeline().writes()[0].requested
    later = table.incremental(since, where=pc.field("part") == "elsewhere")
    assert later.to_spark(spark).count() == 2


@pytest.mark.parametrize(
    ("index", "kind"),
    [
        ("growing_record_index", "MERGE_ON_READ"),
        pytest.param("growing_record_index", "COPY_ON_WRITE", marks=pytest.mark.trial),
        pytest.param("partitioned_record_index", "MERGE_ON_READ", marks=pytest.mark.trial),
        pytest.param("partitioned_record_index", "COPY_ON_WRITE", marks=pytest.mark.trial),
        pytest.param("record_index", "MERGE_ON_READ", marks=pytest.mark.trial),
        pytest.param("record_index", "COPY_ON_WRITE", marks=pytest.mark.trial),
    ],
)
def test_a_filter_of_the_frame_opens_one_file(
    spark: Any, tmp_path: Path, index: str, kind: str
) -> None:
    """All other files are damaged: whoever opens one fails."""
    from pyspark.sql import functions as F

    path = tmp_path / "t"
    options = {"hoodie.metadata.index.column.stats.enable": "false"}
    table = create(path, index, table_type=kind, options=options, engine="local")
    for n in range(4):
        table.bulk_insert(rows(range(n * 10, n * 10 + 10), n, "p"))
    if kind == "MERGE_ON_READ":
        table.upsert(rows([22, 23], 50, "p"))
    frame = table.read().to_spark(spark)
    assert frame.where("v >= 0").count() == 40
    (kept,) = table.read(where=pc.field("id") == "k22").plan.slices
    for file in (path / "p").glob("*.parquet"):
        if not file.name.startswith(kept.file_id):
            file.write_bytes(b"PAR1" + bytes(file.stat().st_size - 8) + b"PAR1")
    v = 50 if kind == "MERGE_ON_READ" else 2
    one = frame.where(frame.id == "k22")
    assert one.select(frame.v, "id").collect() == [(v, "k22")]
    assert one.alias("a").join(one.alias("b"), "id").count() == 1
    assert frame.filter("id in ('k22', 'k21') and v > 0").count() == 2
    assert frame.where(F.col("v") >= 0).where(F.lit("k25") == F.col("id")).count() == 1
    assert frame.where(F.col("id").isin("k22", "nobody") & (F.col("v") == -1)).count() == 0
    assert frame.where(F.col("id") == "nobody").count() == 0
    with pytest.raises(Exception, match="(?i)parquet|footer|corrupt"):
        frame.where(F.col("id") > "k22").count()


def test_a_filter_of_a_cached_frame_opens_no_file(spark: Any, tmp_path: Path) -> None:
    """What is in Spark's cache stays there when cleans take the files away."""
    path = tmp_path / "t"
    table = create(path, "record_index", engine="local")
    for n in range(3):
        table.bulk_insert(rows(range(n * 10, n * 10 + 10), n, "p"))
    frame = table.read().to_spark(spark)
    some = frame.where("v >= 1")
    assert frame.cache() is frame and frame.count() == 30
    try:
        for file in (path / "p").glob("*.parquet"):
            file.unlink()
        assert frame.where(frame.id == "k22").select(frame.v, "id").collect() == [(2, "k22")]
        assert some.where("id in ('k12', 'k3')").count() == 1
    finally:
        frame.unpersist()
