"""Spark SQL finds and reads tables that Hoodoo alone wrote, through a Hive Metastore and Hudi's
bundle: after they are created, evolved, and lose a partition.

Spark's own client of Hive speaks with the metastore of version 3.1.3, which listens on all
addresses: it, Spark and Hoodoo run in a network namespace of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from spark_hudi import SparkHudi

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "plugins/catalogs/tests"))

from metastore import fetched, metastore  # noqa: E402

INSIDE = "HOODOO_METASTORE_INSIDE"
VERSION = "3.1.3"
SCHEMA = pa.schema([("id", pa.int64()), ("fare", pa.float64()), ("city", pa.string())])
ROWS = [
    {"id": 1, "fare": 1.5, "city": "oslo"},
    {"id": 2, "fare": None, "city": "new york"},
    {"id": 3, "fare": 3.5, "city": "rome"},
]


def test_spark_finds_tables_of_hoodoo() -> None:
    """Runs the tests below in a namespace."""
    if INSIDE in os.environ:
        pytest.skip("this is the run in the namespace")
    fetched(VERSION)
    assert shutil.which("unshare") and shutil.which("ip"), "network namespaces need both"
    run = f"ip link set lo up && exec {sys.executable} -m pytest -q -rs {__file__}"
    done = subprocess.run(
        ["unshare", "-rn", "sh", "-c", run],
        env={**os.environ, INSIDE: "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert "3 passed, 1 skipped" in done.stdout, done.stdout


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if INSIDE not in os.environ:
        pytest.skip("this runs in the namespace, by the first test")
    with metastore(VERSION, tmp_path_factory.mktemp("metastore")) as address:
        yield address


@pytest.fixture(scope="module")
def spark(server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkHudi]:
    settings = {
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.hive.metastore.uris": f"thrift://{server}",
        "spark.hadoop.hive.metastore.schema.verification": "false",
    }
    with SparkHudi(log=tmp_path_factory.mktemp("log") / "spark.log", settings=settings) as running:
        yield running


@pytest.mark.parametrize(
    ("kind", "version"), [("COPY_ON_WRITE", 9), ("COPY_ON_WRITE", 6), ("MERGE_ON_READ", 9)]
)
def test_after_each_change(
    server: str, spark: SparkHudi, tmp_path: Path, kind: str, version: int
) -> None:
    name = f"trips_{kind[:1].lower()}{version}"
    table = hoodoo.create(
        str(tmp_path / name),
        SCHEMA,
        name=name,
        record_key="id",
        partition_by="city",
        table_type=kind,
        table_version=version,
        options={
            "hoodie.datasource.hive_sync.enable": "true",
            "hoodie.datasource.hive_sync.metastore.uris": f"thrift://{server}",
            "hoodie.datasource.hive_sync.database": "lake",
        },
    )

    def check(where: str = "") -> None:
        """Spark sees the columns and rows that the table has."""
        spark.sql(f"REFRESH TABLE lake.{name}")
        names = table.schema.names
        found = spark.sql(f"SELECT {', '.join(names)} FROM lake.{name} {where}")
        expected = table.read().to_arrow().to_pylist()
        if where:
            expected = [row for row in expected if row["city"] == "new york"]
        assert sorted(found, key=lambda row: row["id"]) == sorted(
            expected, key=lambda row: row["id"]
        )

    table.upsert(ROWS)
    check()
    check("WHERE city = 'new york'")
    table.upsert([{"id": 2, "fare": 2.5, "city": "new york"}])
    table.delete([1])
    check()
    table.alter(add={"note": "string"})
    check()
    table.upsert([{"id": 4, "fare": 4.5, "city": "paris", "note": "new"}])
    check()
    assert spark.sql(f"SELECT id FROM lake.{name} WHERE city = 'paris'") == [{"id": 4}]
    table.delete_partitions(["rome"])
    check()
    assert spark.sql(f"SELECT id FROM lake.{name} WHERE city = 'rome'") == []
    if kind == "MERGE_ON_READ":
        table.compact()
        check()
        assert len(spark.sql(f"SELECT id FROM lake.{name}_ro")) == 2
