"""The Spark engine: the driver reads the files, Spark computes and writes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pytest
from folders import config, fed, put

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def test_files_by_spark(tmp_path: Path, spark: Any) -> None:
    how: dict[str, Any] = {
        "run": {"engine": "spark"},
        "spark": {"spark.sql.shuffle.partitions": 2},
        "transform": {"sql": "SELECT id, upper(city) AS city FROM source WHERE id > 0"},
    }
    put(tmp_path, "1.jsonl", [{"id": n, "city": "oslo"} for n in range(3)])
    fed(config(tmp_path, **how))
    put(tmp_path, "2.jsonl", [{"id": 2, "city": "rome"}])
    (done,) = fed(config(tmp_path, **how))
    assert done.commit.updated == 1 and fed(config(tmp_path, **how)) == []
    rows = hoodoo.open(str(tmp_path / "t")).read(columns=["id", "city"]).to_pylist()
    assert {row["id"]: row["city"] for row in rows} == {1: "OSLO", 2: "ROME"}
