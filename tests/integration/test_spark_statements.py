"""Statements on Spark: DataFrames as sources, Columns as conditions; tasks compute them where they read files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, DataError

sys.path.append(str(Path(__file__).parents[2] / "plugins/statements/tests"))
from statement_trial import TABLE_TYPES, Trial

pytestmark = pytest.mark.spark

SCHEMA = pa.schema(
    [("id", pa.int64()), ("city", pa.string()), ("fare", pa.float64()), ("n", pa.int32())]
)


def stored(table: Any) -> list[tuple[Any, ...]]:
    found = table.read(["id", "city", "fare"]).to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in found)


def test_statements_on_spark(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as F

    table = hoodoo.create(
        str(tmp_path / "t"),
        SCHEMA,
        record_key="id",
        partition_by="city",
        table_type="MERGE_ON_READ",
    )
    table.upsert(
        [{"id": i, "city": ("oslo", "rome")[i % 2], "fare": float(i), "n": i} for i in range(6)]
    )
    source = spark.createDataFrame(
        [(1, "rome", -1.0, 0), (2, "oslo", 20.0, 0), (9, "kyiv", 9.0, 0)],
        "id long, city string, fare double, n int",
    )
    commit = (
        table.merge(source, on="target.id = source.id")
        .when_matched_delete("source.fare < 0")
        .when_matched_update({"fare": F.col("source.fare") + F.col("target.fare")})
        .when_not_matched_insert_all()
        .execute()
    )
    assert (commit.inserted, commit.updated, commit.deleted) == (1, 1, 1)
    where = (F.col("fare") > 3) & ~F.col("city").isin("kyiv", "rome")
    assert (
        table.update({"fare": F.col("fare") * 2, "city": F.lit("bonn")}, where=where).updated == 2
    )
    assert stored(table) == [
        (0, "oslo", 0.0), (2, "bonn", 44.0), (3, "rome", 3.0), (4, "bonn", 8.0), (5, "rome", 5.0), (9, "kyiv", 9.0),
    ]  # fmt: skip
    names = {"t": table, "s": source}
    assert (
        hoodoo.sql("DELETE FROM t WHERE city = 'rome' AND fare < 4", names, spark=spark).deleted
        == 1
    )
    found = hoodoo.sql(
        "SELECT t.city, s.fare, '{}' AS b FROM t JOIN s ON t.id = s.id ORDER BY 1",
        names,
        spark=spark,
    )
    assert [tuple(row) for row in found.collect()] == [("bonn", 20.0, "{}"), ("kyiv", 9.0, "{}")]
    assert hoodoo.sql("SELECT '{x}' AS b", names, spark=spark).first().b == "{x}"
    table.alter(add={"tip": "double"}, widen={"n": "bigint"})
    table.update({"tip": F.lit(0.5)}, where="id = 0")
    found = table.read(["id", "n", "tip"]).to_spark(spark).where("id in (0, 5)").orderBy("id")
    assert [tuple(row) for row in found.collect()] == [(0, 0, 0.5), (5, 5, None)]
    added = "ALTER TABLE t ADD COLUMNS (stops ARRAY<STRUCT<x: INT>>)"
    assert hoodoo.sql(added, names, spark=spark).instant
    frame = spark.sql("SELECT 7L AS id, 'oslo' AS city, array(named_struct('x', 3)) AS stops")
    values = {name: f"source.{name}" for name in frame.columns}
    table.merge(frame, on="id").when_not_matched_insert(values).execute()
    hoodoo.sql("ALTER TABLE t ADD COLUMN stops.element.y BIGINT", names, spark=spark)
    hoodoo.sql("ALTER TABLE t ALTER COLUMN stops.element.x TYPE DOUBLE", names, spark=spark)
    found = table.read(["id", "stops"]).to_spark(spark).where("id in (0, 7)").orderBy("id")
    assert [tuple(row) for row in found.collect()] == [(0, None), (7, [(3.0, None)])]
    with pytest.raises(DataError, match="more than one row of the source"):
        table.merge(source.union(source), on="id").when_matched_update({"fare": "1"}).execute()
    with pytest.raises(ConfigError, match="function of Python"):
        table.delete(where=F.udf(lambda x: True, "boolean")(F.col("id")))


# Of each type of table; with as many statements in each as a trial has they are 500.
SEEDS = 50


@pytest.mark.sampled
@pytest.mark.parametrize("table_type", TABLE_TYPES)
def test_some_random_statements_on_spark(spark: Any, tmp_path: Path, table_type: str) -> None:
    Trial(64, tmp_path / "t", spark, 2, table_type).run()


@pytest.mark.trial
@pytest.mark.parametrize("table_type", TABLE_TYPES)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_statements_on_spark(spark: Any, tmp_path: Path, seed: int, table_type: str) -> None:
    Trial(seed, tmp_path / "t", spark, table_type=table_type).run()


def test_a_read_takes_a_column_of_spark(tmp_path: Path, spark: Any) -> None:
    from pyspark.sql import functions as F

    schema = pa.schema([("ride", pa.int64()), ("city", pa.string()), ("fare", pa.float64())])
    made = hoodoo.create(str(tmp_path / "t"), schema, record_key="ride")
    made.insert(pa.table([[1, 2, 3], ["oslo", "rome", "oslo"], [1.0, 9.0, 12.5]], schema=schema))
    asked = (F.col("city") == "oslo") & (F.col("fare") > 10)
    assert made.read(["ride"], where=asked).to_pylist() == [{"ride": 3}]
    assert [
        r.ride for r in made.read(["ride"], where=F.col("ride") < 2.5).to_spark(spark).collect()
    ] == [1, 2]
