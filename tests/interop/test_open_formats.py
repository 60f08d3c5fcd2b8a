"""Spark with the jars of Iceberg and of Delta Lake reads what is published beside a table: the
newest state after each action, and all older ones that are listed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import hoodoo
import pytest
from spark_hudi import PYTHON_VARIABLE, HudiError, SparkHudi

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "plugins/publishing/tests"))

from open_readers import SCHEMA, snapshots, some_rows  # noqa: E402

# An interpreter with another PySpark than the one that Spark Hudi runs on.
PYTHON = os.environ.get("HOODOO_OPEN_PYTHON")
HOME = Path(os.environ.get("HOODOO_OPEN_JARS") or Path.home() / ".cache/hoodoo/open-formats")
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
# By the version of Spark that they are for, its newest when this was written.
JARS = {
    "3.5": (
        "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.10.0",
        "io.delta:delta-spark_2.12:3.3.2",
        "io.delta:delta-storage:3.3.2",
    ),
    "4.1": (
        "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
        "io.delta:delta-spark_4.1_2.13:4.4.0",
        "io.delta:delta-storage:4.4.0",
    ),
}


def jar(artifact: str) -> Path:
    """A jar from Maven Central, fetched once."""
    _, name, version = artifact.split(":")
    path = HOME / f"{name}-{version}.jar"
    if not path.exists():
        HOME.mkdir(parents=True, exist_ok=True)
        assert shutil.which("mvn"), f"{path} is missing, and Maven is not installed"
        goal = [f"{PLUGIN}:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={HOME}"]
        subprocess.run(["mvn", "-q", "-B", *goal], check=True, timeout=900)
    return path


def version() -> str:
    """Of Spark, which the jars have to be for."""
    python = PYTHON or os.environ[PYTHON_VARIABLE]
    code = "import pyspark; print(*pyspark.__version__.split('.')[:2], sep='.')"
    return subprocess.run(
        [python, "-c", code], check=True, capture_output=True, text=True, timeout=300
    ).stdout.strip()


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SparkHudi, Path]]:
    """It, and the folder whose tables are those of the catalog ``ice``."""
    lake = tmp_path_factory.mktemp("lake")
    settings = {
        "spark.jars": ",".join(str(jar(artifact)) for artifact in JARS[version()]),
        "spark.kryo.registrator": "",
        "spark.databricks.delta.snapshotPartitions": "2",  # small logs need no 50 tasks
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": str(lake),
        "spark.sql.catalog.ice.cache-enabled": "false",
    }
    log = tmp_path_factory.mktemp("log") / "spark.log"
    with SparkHudi(PYTHON, log=log, settings=settings) as running:
        yield running, lake


def plain(value: Any) -> Any:
    """As the worker answers values."""
    if isinstance(value, datetime):  # its session is in UTC
        return value.replace(tzinfo=None).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return value


@pytest.mark.parametrize(
    ("formats", "partition"),
    [("delta,iceberg", "place"), ("delta,iceberg", None), ("iceberg", "day")],
)
def test_every_state_has_the_rows_of_the_table(
    spark: tuple[SparkHudi, Path], formats: str, partition: str | None
) -> None:
    running, lake = spark
    name = f"{formats[:1]}_{partition}"
    table = hoodoo.create(
        str(lake / "db" / name),
        SCHEMA,
        record_key="id",
        partition_by=partition,
        options={
            "hoodoo.open.formats": formats,
            "hoodie.clean.automatic": "false",
            "hoodie.metadata.enable": "false",
        },
    )
    path = str(lake / "db" / name)
    states: dict[str, tuple[list[str], list[str]]] = {}

    def texts(rows: list[dict[str, Any]], names: list[str]) -> list[str]:
        return sorted(str([row[column] for column in names]) for row in rows)

    def seen(source: str, names: list[str]) -> list[str]:
        columns = ", ".join(f"`{column}`" for column in names)
        return texts(running.sql(f"SELECT {columns} FROM {source}"), names)

    def check() -> None:
        names = [f.name for f in table.schema if f.name != "by_name"]
        rows = [plain(row) for row in table.read(columns=names).to_arrow().to_pylist()]
        right = texts(rows, names)
        assert seen(f"ice.db.{name}", names) == right
        states[f"ice.db.{name} VERSION AS OF {snapshots(path)[-1].snapshot_id}"] = (names, right)
        if "delta" in formats:
            running.sql(f"REFRESH TABLE delta.`{path}`")
            assert seen(f"delta.`{path}`", names) == right
            version = max(int(f.stem) for f in Path(path, "_delta_log").glob("*.json"))
            states[f"delta.`{path}` VERSION AS OF {version}"] = (names, right)

    for value in (1, 2):
        table.upsert(some_rows(range(6), value))
        check()
    table.delete([1])
    check()
    table.alter(add={"more": "string"})
    table.upsert(some_rows(range(3, 8), 7, table.schema))
    check()
    assert table.cluster(order="linear", columns=["id"]).instant
    check()
    table.upsert(some_rows(range(2), 9, table.schema))
    check()
    if "delta" not in formats:
        table.alter(rename={"n": "number"})
        check()
    for source, (names, right) in states.items():
        assert seen(source, names) == right, source
    assert table.clean(commits_retained=1).files
    check()
    listed = {str(s.snapshot_id) for s in snapshots(path)}
    for source, (names, right) in states.items():
        if source.startswith("ice") and source.split()[-1] in listed:
            assert seen(source, names) == right, source
    with pytest.raises(HudiError):  # others do not write
        running.sql(f"DELETE FROM delta.`{path}` WHERE id = 2")
    check()
