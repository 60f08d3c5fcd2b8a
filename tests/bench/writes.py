"""First loads on Spark, beside df.write.parquet in the same session and deltalake's write."""

from __future__ import annotations

import shutil
from typing import Any

import hoodoo
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from deltalake import write_deltalake

from tests.bench import data
from tests.bench.measure import Report


def run(report: Report, spark: Any, folder: str, scale: float, runs: int) -> None:
    source = data.lineitem(scale)
    schema = data.plain(source).slice(0, 0).schema
    rows = pq.ParquetFile(source).metadata.num_rows
    frame = spark.read.parquet(source)

    def fresh(name: str) -> str:
        path = f"{folder}/{name}"
        shutil.rmtree(path, ignore_errors=True)
        return path

    def checked(path: str) -> None:
        assert spark.read.parquet(path).count() == rows

    def parquet(run: int) -> None:
        frame.write.parquet(fresh("parquet"))

    def parquet_zstd(run: int) -> None:
        frame.write.option("compression", "zstd").parquet(fresh("parquet"))

    def bulk(given: Any) -> Any:
        def call(run: int) -> None:
            table = hoodoo.create(fresh("hoodoo"), schema, name="lineitem", record_key=data.KEY)
            commit = table.bulk_insert(given, engine="spark")
            assert commit.inserted == rows

        return call

    def exchanged(run: int) -> None:
        table = hoodoo.create(
            fresh("hoodoo"), schema, name="lineitem", record_key=data.KEY, index="bucket",
            options={"hoodie.bucket.index.num.buckets": 8},
        )  # fmt: skip
        assert table.bulk_insert(frame, engine="spark").inserted == rows

    def repartitioned(run: int) -> None:
        frame.repartition(8, *data.KEY).write.parquet(fresh("parquet"))

    parquet(0)  # warm: JVM, page cache
    checked(f"{folder}/parquet")
    bulk(frame)(0)
    checked(f"{folder}/hoodoo")
    report.time("df.write.parquet", runs, parquet)
    report.time("df.write.parquet (zstd)", runs, parquet_zstd, "df.write.parquet")
    report.time("hoodoo bulk_insert of a DataFrame", runs, bulk(frame), "df.write.parquet", 1.15)
    # Any other DataFrame passes through the JVM: here all rows pass a filter.
    some = frame.where("l_quantity >= 0")
    report.time(
        "df.write.parquet, filtered", runs,
        lambda run: some.write.parquet(fresh("parquet")),
    )  # fmt: skip
    report.time(
        "hoodoo bulk_insert of a DataFrame, filtered", runs, bulk(some), "df.write.parquet, filtered", 1.15,
    )  # fmt: skip
    files = ds.dataset(source)
    report.time("hoodoo bulk_insert of Parquet files", runs, bulk(files), "df.write.parquet", 0.7)
    report.time("df.repartition(8, key).write.parquet", runs, repartitioned)
    report.time(
        "hoodoo bulk_insert of a DataFrame, bucket index", runs, exchanged,
        "df.repartition(8, key).write.parquet",
    )  # fmt: skip
    table = data.plain(source)
    report.time(
        "deltalake write (Arrow, in memory)", runs,
        lambda run: write_deltalake(fresh("delta"), table), "df.write.parquet",
    )  # fmt: skip
