"""DataFrames that are whole Parquet files are read by the tasks themselves; all others by Spark, as before."""

from __future__ import annotations

import datetime as dt
from base64 import b64decode, b64encode
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest
from hoodoo_spark import plain
from hoodoo_spark.engine import SparkEngine
from hoodoo_spark.types import arrow_schema

pytestmark = [pytest.mark.spark, pytest.mark.sampled(4)]

ROWS = pa.table(
    {
        "id": pa.array([3, 1, None, 2**62], pa.int64()),
        "small": pa.array([1, None, -3, 4], pa.int16()),
        "byte": pa.array([1, None, -3, 4], pa.int8()),
        "name": pa.array(["ä", "", None, "x" * 300]),
        "raw": pa.array([b"\x00", b"", None, b"\xff"]),
        "day": pa.array([dt.date(1, 1, 1), dt.date(1582, 10, 10), None, dt.date(9999, 12, 31)]),
        "at": pa.array(
            [dt.datetime(1700, 1, 1, tzinfo=dt.timezone.utc), None, None, None],
            pa.timestamp("us", "UTC"),
        ),
        "there": pa.array([dt.datetime(2020, 1, 1, 1, 2, 3, 4), None, None, None], pa.timestamp("us")),
        "price": pa.array([Decimal("1.25"), None, Decimal("-9.99"), Decimal("0.00")], pa.decimal128(9, 2)),
        "long": pa.array([Decimal(10**30), None, Decimal(-1), Decimal(0)], pa.decimal128(38, 0)),
        "half": pa.array([1.5, None, float("nan"), -0.0], pa.float32()),
        "double": pa.array([1.5, None, float("inf"), -0.0], pa.float64()),
        "yes": pa.array([True, None, False, True]),
    }
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Two files below a folder whose name has to be escaped in a URI."""
    below = tmp_path / "a b%20c ä"
    below.mkdir()
    pq.write_table(ROWS, below / "one.parquet", row_group_size=2)
    pq.write_table(ROWS.slice(1), below / "two #2.parquet")
    return str(below)


def rows_of(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


def read(frame: Any) -> pa.Table:
    engine = SparkEngine(frame.sparkSession)
    return engine.collect(engine.source(frame))


def found(frame: Any) -> Any:
    return plain.dataset_of(frame, arrow_schema(frame.schema))


@pytest.mark.parametrize(
    "shape",
    [
        lambda df: df,
        lambda df: df.select("name", "id"),
        lambda df: df.drop("day", "at", "there"),
        lambda df: df.alias("x").select("x.id", "yes"),
        lambda df: df.select("id", "name", "day").select("day"),
    ],
)
def test_whole_files_are_read_by_the_tasks(
    spark: Any, folder: str, shape: Callable[[Any], Any]
) -> None:
    frame = shape(spark.read.parquet(folder))
    if not hasattr(frame, "toArrow"):
        pytest.skip("PySpark 3.5 has no toArrow")
    assert found(frame) is not None
    got = read(frame)
    assert got.schema.names == frame.columns
    assert rows_of(got) == rows_of(frame.toArrow().cast(got.schema))


def test_text_and_bytes_as_other_writers_lay_them_out(spark: Any, tmp_path: Path) -> None:
    """polars and DataFusion write views and long offsets, of which Spark knows nothing."""
    words, raw = ["ä", None, "x" * 300], [b"", None, b"x" * 300]
    table = pa.table(
        {
            "view": pa.array(words, pa.string_view()), "large": pa.array(words, pa.large_string()),
            "bytes": pa.array(raw, pa.binary_view()), "long": pa.array(raw, pa.large_binary()),
        }
    )  # fmt: skip
    pq.write_table(table, tmp_path / "one.parquet")
    frame = spark.read.parquet(str(tmp_path))
    assert found(frame) is not None
    got = read(frame)
    assert got.schema.types == [pa.string(), pa.string(), pa.binary(), pa.binary()]
    assert got.to_pydict() == table.to_pydict()


def _cached(df: Any) -> Any:
    return df.cache().select("id")


NOT_PLAIN: dict[str, Callable[[Any], Any]] = {
    "a filter": lambda df: df.where("id > 1"),
    "a computed column": lambda df: df.selectExpr("id + 1 as id"),
    "another name": lambda df: df.selectExpr("id as key"),
    "a limit": lambda df: df.limit(2),
    "distinct rows": lambda df: df.distinct(),
    "a sort": lambda df: df.orderBy("id"),
    "a union": lambda df: df.union(df),
    "a join": lambda df: df.alias("l").join(df.alias("r").select("id"), "id"),
    "a sample": lambda df: df.sample(0.5),
    "other partitions": lambda df: df.repartition(3),
    "a column of the file": lambda df: df.select("id", "_metadata.file_name"),
    "a cache": _cached,
}


@pytest.mark.parametrize("name", NOT_PLAIN)
def test_anything_else_is_left_to_spark(spark: Any, folder: str, name: str) -> None:
    assert found(NOT_PLAIN[name](spark.read.parquet(folder))) is None
    spark.catalog.clearCache()


def test_a_cache_that_came_after_the_first_use(spark: Any, folder: str) -> None:
    """What a frame says of its own plan is as old as that use, and no write goes by it."""
    frame = spark.read.parquet(folder)
    frame.collect()
    frame.cache().count()
    assert found(frame) is None
    spark.catalog.clearCache()
    assert found(frame) is not None


@pytest.mark.parametrize("name", ["_metadata", "_common_metadata", "_metadata_old.parquet"])
def test_summaries_of_a_folder_are_no_rows(spark: Any, folder: str, name: str) -> None:
    frame = spark.read.parquet(folder)
    count = frame.count()
    pq.write_table(ROWS, Path(folder) / name)
    assert read(spark.read.parquet(folder).select("id")).num_rows == count


def test_columns_that_pyarrow_has_other_uses_for(spark: Any, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1, 2], "__filename": ["x", "y"]}), tmp_path / "one.parquet")
    frame = spark.read.parquet(str(tmp_path))
    assert sorted(read(frame)["__filename"].to_pylist()) == ["x", "y"]
    assert found(frame.select("id")) is not None
    assert found(frame.select()) is None


def test_encrypted_columns(spark: Any, tmp_path: Path) -> None:
    """pyarrow has no keys, and ends the process where it is asked for statistics of such a column."""
    path = tmp_path / "one.parquet"
    crypto = pe.CryptoFactory(lambda _config: _Keys())
    config = pe.EncryptionConfiguration(
        footer_key="f", column_keys={"c": ["name"]}, plaintext_footer=True
    )
    properties = crypto.file_encryption_properties(pe.KmsConnectionConfig(), config)
    rows = pa.table({"id": [1], "day": [dt.date(2024, 1, 1)], "name": ["secret"]})
    with pq.ParquetWriter(path, rows.schema, encryption_properties=properties) as writer:
        writer.write_table(rows)
    frame = spark.read.parquet(str(path)).select("id", "day")
    rebase = "spark.sql.parquet.datetimeRebaseModeInRead"
    before = spark.conf.get(rebase)
    spark.conf.set(rebase, "EXCEPTION")
    try:
        assert found(frame) is not None
    finally:
        spark.conf.set(rebase, before)
    spark.conf.set("parquet.crypto.factory.class", "a.Factory")
    try:
        assert found(frame) is None
    finally:
        spark.conf.unset("parquet.crypto.factory.class")


class _Keys(pe.KmsClient):  # type: ignore[misc]
    """Keys that hide nothing."""

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        return b64encode(key_bytes)

    def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
        return b64decode(wrapped_key)


OPTIONS = {
    "mergeSchema": "true", "datetimeRebaseMode": "LEGACY", "int96RebaseMode": "LEGACY",
    "ignoreMissingFiles": "true", "ignoreCorruptFiles": "true",
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_options_that_change_what_is_read_are_left_to_spark(
    spark: Any, folder: str, name: str
) -> None:
    assert found(spark.read.option(name, OPTIONS[name]).parquet(folder)) is None


@pytest.mark.parametrize(
    "name", ["spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles"]
)
def test_settings_that_change_what_is_read_are_left_to_spark(
    spark: Any, folder: str, name: str
) -> None:
    frame = spark.read.parquet(folder)
    spark.conf.set(name, "true")
    try:
        assert found(frame) is None
    finally:
        spark.conf.unset(name)


@pytest.mark.parametrize("fits", [True, False])
def test_files_that_are_chosen_by_their_names_stay_chosen(
    spark: Any, folder: str, fits: bool
) -> None:
    frame = spark.read.option("pathGlobFilter", "one*").parquet(folder).select("id")
    if not fits:
        frame = frame.where("id is null")
    assert len(read(frame)) == (4 if fits else 1)


def test_a_file_unlike_the_others_is_left_to_spark(spark: Any, folder: str) -> None:
    """It lacks a column, or has another type, another calendar, or two columns of one name."""
    plain_ids = spark.read.schema("id bigint").parquet(folder)
    assert found(plain_ids) is not None
    others = {
        "lacks": pa.table({"n": [1]}),
        "narrow": pa.table({"id": pa.array([1], pa.int32())}),
        "twice": pa.table({"id": [1], "ID": [2]}),
    }
    for name, table in others.items():
        path = Path(folder) / f"{name}.parquet"
        pq.write_table(table, path)
        assert found(spark.read.schema("id bigint").parquet(folder)) is None, name
        path.unlink()
    days = pa.table({"day": [dt.date(2020, 1, 1)]})
    for metadata, fits in (
        ({"org.apache.spark.version": "2.4.8"}, False),
        ({"org.apache.spark.version": "10.0.0"}, False),  # Spark compares texts
        ({"org.apache.spark.version": ""}, False),
        ({"org.apache.spark.version": "unknown"}, True),
        ({"org.apache.spark.version": "3.5.1"}, True),
        ({"org.apache.spark.version": "3.5.1", "org.apache.spark.legacyDateTime": ""}, False),
    ):
        path = Path(folder) / "old.parquet"
        pq.write_table(days.replace_schema_metadata(metadata), path)
        assert (found(spark.read.parquet(str(path))) is not None) == fits, metadata
        path.unlink()


@pytest.mark.parametrize("mode", ["EXCEPTION", "CORRECTED", "LEGACY"])
def test_a_calendar_that_nobody_names(spark: Any, tmp_path: Path, mode: str) -> None:
    """Files that Spark did not write: as Spark 3 does by default, values that may be of the old calendar are refused."""
    name = "spark.sql.parquet.datetimeRebaseModeInRead"
    path = str(tmp_path / "one.parquet")
    utc = dt.timezone.utc
    before = spark.conf.get(name)
    spark.conf.set(name, mode)
    try:
        for day, at, recent in (
            (dt.date(1901, 1, 1), dt.datetime(1901, 1, 1, tzinfo=utc), True),
            (dt.date(1582, 10, 14), dt.datetime(2020, 1, 1, tzinfo=utc), False),
            (dt.date(2020, 1, 1), dt.datetime(1899, 12, 31, tzinfo=utc), False),
            (None, None, True),
        ):
            columns = {
                "day": pa.array([dt.date(2024, 1, 1), day, None, None], pa.date32()),
                "at": pa.array([None, at, None, None], pa.timestamp("us", "UTC")),
            }
            for statistics in (True, False):
                pq.write_table(
                    pa.table(columns), path, row_group_size=2, write_statistics=statistics
                )
                fits = mode == "CORRECTED" or (mode == "EXCEPTION" and recent and statistics)
                assert (found(spark.read.parquet(path)) is not None) == fits, (day, at, statistics)
    finally:
        spark.conf.set(name, before)


def test_columns_of_folder_names_are_left_to_spark(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "p=1").mkdir()
    pq.write_table(ROWS, tmp_path / "p=1" / "one.parquet")
    assert found(spark.read.parquet(str(tmp_path))) is None


def test_nested_columns_are_left_to_spark(spark: Any, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1], "tags": [["a"]]}), tmp_path / "one.parquet")
    frame = spark.read.parquet(str(tmp_path))
    assert found(frame) is None
    assert found(frame.select("id")) is not None


def test_hadoops_lz4_is_left_to_spark(spark: Any, tmp_path: Path) -> None:
    """A page of more than 256 KiB has several of Hadoop's frames."""
    text = "concat(sha2(cast(id as string), 512), sha2(cast(-id as string), 512))"
    rows = spark.range(20_000).selectExpr("id", f"{text} as text").coalesce(1)
    for codec, is_left in (("lz4", True), ("zstd", False)):
        path = str(tmp_path / codec)
        rows.write.option("compression", codec).parquet(path)
        frame = spark.read.parquet(path)
        assert (found(frame) is None) is is_left, codec
        assert rows_of(read(frame)) == rows_of(read(rows)), codec


def test_a_damaged_file_is_left_to_spark(spark: Any, folder: str) -> None:
    frame = spark.read.parquet(folder)
    (Path(folder) / "one.parquet").write_bytes(b"PAR1")
    assert found(frame) is None
