"""DataFrames out of files, and out of tasks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo.storage.api import Entry
from hoodoo_rows.testing import engine_steps as steps
from hoodoo_rows.testing.contracts.engine_streams import ROWS, rows

pytestmark = pytest.mark.spark

DIRS = [
    "day=1",
    "day=1/hour=2",
    "a b",
    "x*y",
    "z?[1]{2,3}",
    "back\\slash",
    "p%2Fq",
    "",
    "ä#k;l",
    "a:b",
    "c+d&e",
]
# Spark, where it lists folders, passes over these that lie in others.
HIDDEN = ["day=1/_x", "day=1/.y/z", "_u", ".w"]
IGNORES = "spark.sql.streaming.fileStreamSink.ignoreMetadata"
MANAGER = "spark.sql.streaming.checkpointFileManagerClass"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two files in each folder, 10 rows each: f<i>-new.parquet and f<i>-old.parquet."""
    base = tmp_path / "t*b{le"
    for i, name in enumerate(DIRS + HIDDEN):
        (base / name).mkdir(parents=True, exist_ok=True)
        pq.write_table(rows(10, 10 * i), base / name / f"f{i}-new.parquet")
        pq.write_table(rows(10, 1000), base / name / f"f{i}-old.parquet")
    (base / ".hoodie").mkdir()
    pq.write_table(rows(10, 2000), base / ".hoodie" / "f0-new.parquet")
    (base / "xzy").mkdir()  # what x*y would match as a pattern
    pq.write_table(rows(10, 3000), base / "xzy" / "f3-new.parquet")
    return base


def new_files(root: Path, numbers: Iterable[int] | None = None) -> list[Entry]:
    names = DIRS + HIDDEN
    paths = [f"{names[i]}/f{i}-new.parquet".lstrip("/") for i in (numbers or range(len(names)))]
    return [Entry(path, (root / path).stat().st_size, 1.0) for path in paths]


def read(spark: Any, root: Path, files: Sequence[Entry]) -> Any:
    from hoodoo_spark.exact_files import read_files

    (found,) = read_files(spark, f"file://{root}", files, [ROWS]) or [None]
    return found


def keys(frame: Any) -> list[int]:
    return sorted(row.key for row in frame.collect())


def folders() -> set[str]:
    return {
        name for name in os.listdir(tempfile.gettempdir()) if name.startswith("hoodoo-relation")
    }


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"spark.sql.streaming.fileSink.log.compactInterval": "1"},
        {"spark.sql.sources.useV1SourceList": ""},
        # Ways of a session in which the log is not read: Spark is given each path.
        {IGNORES: "true"},
        {MANAGER: "no.such.Class"},
    ],
    ids=lambda settings: ",".join(name.rpartition(".")[2] for name in settings) or "plain",
)
def test_exactly_the_files_that_count(spark: Any, root: Path, settings: dict[str, str]) -> None:
    """Not their neighbours, and those in folders that Spark's listing passes over as well."""
    before, session = folders(), spark.newSession()
    for key, value in settings.items():
        session.conf.set(key, value)
    # Nothing with a colon can be given to Spark by its path, where that has to be escaped: tasks read it then.
    escaped = not {IGNORES, MANAGER}.isdisjoint(settings)
    numbers = [i for i, name in enumerate(DIRS + HIDDEN) if not (escaped and ":" in name)]
    found = read(session, root, new_files(root, numbers))
    assert found.columns == ROWS.names
    assert keys(found) == [key for i in numbers for key in range(10 * i, 10 * i + 10)]
    assert (read(session, root, new_files(root)) is None) == escaped
    assert folders() == before  # nothing stays behind


def test_files_that_spark_would_pass_over_are_not_given_to_it(spark: Any, root: Path) -> None:
    (root / "day=1/_f.parquet").write_bytes((root / "day=1/f0-new.parquet").read_bytes())
    (root / "day=1/empty.parquet").touch()
    for name, size in (("_f.parquet", 9), ("empty.parquet", 0)):
        assert read(spark, root, [*new_files(root), Entry(f"day=1/{name}", size)]) is None


def test_what_spark_has_is_counted(spark: Any, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Spark that makes another list of it, by whatever way, is not asked for rows."""
    from hoodoo_spark import exact_files

    way = exact_files._by_paths
    monkeypatch.setattr(exact_files, "_by_log", way)
    assert keys(read(spark, root, new_files(root, [0]))) == list(range(10))

    def fewer(session: Any, base: str, files: Sequence[Entry]) -> Any:
        return way(session, base, files[1:])

    monkeypatch.setattr(exact_files, "_by_log", fewer)
    monkeypatch.setattr(exact_files, "_by_paths", fewer)
    assert read(spark, root, new_files(root)) is None


@pytest.mark.sampled(1, among="long")
def test_a_file_that_is_lost_later_is_missed(spark: Any, root: Path) -> None:
    """Also after the cache has forgotten its rows: without an error they would be left out."""
    found = read(spark, root, new_files(root)).cache()
    every = found.count()
    (root / "day=1/f0-new.parquet").unlink()
    spark.catalog.refreshByPath(str(root))
    spark.catalog.refreshByPath(str(root / "day=1"))
    assert found.count() == every == 10 * len(DIRS + HIDDEN)
    found.unpersist()
    with pytest.raises(Exception, match="f0-new.parquet"):
        found.count()


def test_no_files(spark: Any, root: Path) -> None:
    found = read(spark, root, [])
    assert found.columns == ROWS.names and found.count() == 0


def test_projection_reaches_the_reader(spark: Any, root: Path) -> None:
    found = read(spark, root, new_files(root))
    plan = found.select("key").where("key > 3")._jdf.queryExecution().executedPlan().toString()
    assert "ReadSchema: struct<key:bigint>" in plan
    assert "GreaterThan(key,3)" in plan
    times = found.select("_metadata.file_modification_time").distinct().collect()
    assert [row[0].timestamp() for row in times] == [1.0]


def test_a_column_that_is_called_as_what_spark_knows_of_a_file(spark: Any, tmp_path: Path) -> None:
    """``SELECT *, _metadata`` over files makes such a table, with the names of other files in it."""
    import hoodoo

    kind = pa.struct([("file_name", pa.string())])
    schema = pa.schema([("id", pa.int64()), ("_metadata", kind)])
    table = hoodoo.create(str(tmp_path / "t"), schema, record_key="id")
    table.insert([{"id": 1, "_metadata": {"file_name": "a.parquet"}}, {"id": 2, "_metadata": None}])
    found = table.read().to_spark(spark)
    assert sorted(tuple(row) for row in found.collect()) == [(1, ("a.parquet",)), (2, None)]
    assert table.read(["id"]).to_spark(spark).where("id = 2").count() == 1


def test_times_of_day(spark: Any, tmp_path: Path) -> None:
    """Spark takes them from tasks in one unit only, which is not that of tables."""
    import datetime as dt

    import hoodoo
    from pyspark.sql import types

    if not hasattr(types, "TimeType"):
        pytest.skip("this version of Spark has no times of day")
    spark.conf.set("spark.sql.timeType.enabled", "true")
    schema = pa.schema(
        [("id", pa.int64()), ("at", pa.time64("us")), ("all", pa.list_(pa.time32("ms")))]
    )
    table = hoodoo.create(str(tmp_path / "t"), schema, record_key="id")
    early, late = dt.time(1, 2, 3, 456000), dt.time(23, 59, 59)
    table.insert([{"id": 1, "at": early, "all": [late, None]}, {"id": 2, "at": None, "all": None}])
    found = table.read().to_spark(spark)
    assert sorted(tuple(row) for row in found.collect()) == [
        (1, early, [late, None]),
        (2, None, None),
    ]


def test_old_dates(spark: Any, tmp_path: Path) -> None:
    """Dates before 1582 in files without Spark's own marks are what they say."""
    import datetime as dt

    from hoodoo_spark.exact_files import read_files

    day, at = dt.date(1500, 1, 1), dt.datetime(1500, 1, 1, tzinfo=dt.timezone.utc)
    schema = pa.schema([("day", pa.date32()), ("at", pa.timestamp("us", "UTC"))])
    pq.write_table(pa.table([[day], [at]], schema=schema), tmp_path / "a.parquet")
    file = Entry("a.parquet", (tmp_path / "a.parquet").stat().st_size)
    (found,) = read_files(spark, f"file://{tmp_path}", [file], [schema]) or [None]
    row = found.selectExpr("cast(day as string) day", "unix_micros(at) at").collect()[0]
    assert (row.day, row.at) == ("1500-01-01", int(at.timestamp()) * 10**6)


@pytest.mark.sampled(1, among="long")
def test_arrow_scan(spark: Any) -> None:
    from hoodoo_spark.native_read import arrow_scan

    frame = arrow_scan(spark, [b"a", b"b", b"c"], steps.Upper())
    assert frame.columns == ["text", "task"]
    assert frame.rdd.getNumPartitions() == 3
    assert [tuple(row) for row in frame.orderBy("task").collect()] == [("A", 0), ("B", 1), ("C", 2)]
    assert arrow_scan(spark, [], steps.Upper()).count() == 0


def test_errors_of_arrow_scan_are_readable(spark: Any) -> None:
    from hoodoo_spark.native_read import arrow_scan

    schema = pa.schema([("payload", pa.binary())])
    with pytest.raises(Exception, match="step Drop: does not return column 'payload'"):
        arrow_scan(spark, [b"a"], steps.Drop(schema, "payload")).collect()
