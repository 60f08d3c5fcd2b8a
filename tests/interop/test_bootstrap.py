"""Bootstrapped tables: Spark Hudi reads and upserts those of Hoodoo, and Hoodoo those of Spark
Hudi."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from both import Spark

CITIES = ("oslo", "rome")
SCHEMA = pa.schema([("id", pa.string()), ("fare", pa.float64()), ("ts", pa.int64())])
WHOLE = SCHEMA.append(pa.field("city", pa.string()))
# "col stats is not supported with bootstrap operation", says Spark Hudi by its own defaults.
PLAIN = "hoodie.metadata.index.column.stats.enable=false"


def made(folder: Path, inside: bool = True) -> dict[str, dict[str, Any]]:
    """A source of two files in each of two partitions, and its rows by id."""
    expected = {}
    for city in CITIES:
        for number in range(2):
            rows = [
                {"id": f"{city}{number}{n}", "fare": 10.0 * number + n, "ts": n} for n in range(5)
            ]
            expected |= {row["id"]: {**row, "city": city} for row in rows}
            if inside:
                rows = [{**row, "city": city} for row in rows]
            path = folder / f"city={city}"
            path.mkdir(parents=True, exist_ok=True)
            pq.write_table(
                pa.Table.from_pylist(rows, WHOLE if inside else SCHEMA),
                path / f"part-{number}.parquet",
            )
    return expected


def options(table_type: str) -> dict[str, str]:
    return {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.compact.inline": "false",
    }


def changed(*ids: str, fare: float) -> pa.Table:
    rows = [{"id": i, "fare": fare, "ts": 99, "city": i[:4]} for i in ids]
    return pa.Table.from_pylist(rows, WHOLE)


def by_id(table: pa.Table) -> dict[str, dict[str, Any]]:
    rows = table.select(WHOLE.names).to_pylist()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row for row in rows}


@pytest.mark.parametrize("inside", [True, False], ids=["column inside", "column in the path"])
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_spark_works_on_ours(spark: Spark, tmp_path: Path, table_type: str, inside: bool) -> None:
    expected = made(tmp_path / "source", inside)
    path = tmp_path / "t"
    table = hoodoo.bootstrap(tmp_path / "source", path, record_key="id", table_type=table_type)
    assert by_id(spark.read(path)) == expected

    for_spark = changed("oslo00", "rome99", fare=70.0)
    spark.write(path, for_spark, "upsert", options(table_type))
    expected |= by_id(for_spark)
    assert by_id(spark.read(path)) == expected
    assert by_id(table.to_arrow()) == expected

    ours = changed("oslo00", "oslo10", "rome01", fare=80.0)
    table.upsert(ours)
    expected |= by_id(ours)
    assert by_id(table.to_arrow()) == expected
    assert by_id(spark.read(path)) == expected


@pytest.mark.parametrize("inside", [True, False], ids=["column inside", "column in the path"])
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_hoodoo_works_on_sparks(
    spark: Spark, tmp_path: Path, table_type: str, inside: bool
) -> None:
    expected = made(tmp_path / "source", inside)
    path = tmp_path / "t"
    spark.worker.call(
        f"run_bootstrap(table => 't', table_type => '{table_type}', base_path => '{path}', "
        f"bootstrap_path => '{tmp_path}/source', rowKey_field => 'id', "
        f"partition_path_field => 'city', options => '{PLAIN}')"
    )
    table = hoodoo.open(str(path))
    assert by_id(table.to_arrow()) == expected
    found = table.read(columns=["id"], where="fare > 12").to_arrow()
    assert set(found["id"].to_pylist()) == {k for k, v in expected.items() if v["fare"] > 12}
    assert table.verify().findings == ()

    # The procedure notes no Hive style, so that paths of new rows lack the name of the column.
    ours = changed("oslo00", "rome11", fare=80.0)
    table.update({"fare": "80.0", "ts": "99"}, where="id in ('oslo00', 'rome11')")
    expected |= by_id(ours)
    assert by_id(table.to_arrow()) == expected
    assert by_id(spark.read(path)) == expected


def test_spark_runs_our_compaction(spark: Spark, tmp_path: Path) -> None:
    """Its plan says where the columns of the base file are."""
    expected = made(tmp_path / "source")
    path = tmp_path / "t"
    table = hoodoo.bootstrap(
        tmp_path / "source", path, record_key="id", table_type="mor", index="bloom"
    )
    table.upsert(changed("oslo00", fare=80.0))
    expected |= by_id(changed("oslo00", fare=80.0))
    instant = table.schedule("compaction")
    assert instant
    spark.worker.call(f"run_compaction(op => 'run', path => '{path}', timestamp => {instant})")
    assert not table.timeline().pending()
    assert by_id(spark.read(path)) == expected
    assert by_id(table.to_arrow()) == expected


def test_both_modes(spark: Spark, tmp_path: Path) -> None:
    """Copied partitions beside those that stay."""
    expected = made(tmp_path / "source", inside=False)
    path = tmp_path / "t"
    table = hoodoo.bootstrap(
        tmp_path / "source", path, record_key="id", mode="FULL_RECORD", regex="city=oslo"
    )
    instants = [i.requested for i in table.timeline().completed()]
    assert instants == ["00000000000001", "00000000000002"]
    assert by_id(table.to_arrow()) == expected
    assert by_id(spark.read(path)) == expected
    spark.write(path, changed("oslo00", "rome00", fare=7.0), "upsert", options("COPY_ON_WRITE"))
    expected |= by_id(changed("oslo00", "rome00", fare=7.0))
    assert by_id(spark.read(path)) == expected
    assert by_id(table.to_arrow()) == expected
