"""One Spark session for all tests that need a JVM: two cores, and tasks that are tried four times."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from hoodoo.hookspecs.engine import Workspace
from hoodoo_standard.storage.local import LocalStorage

# For the driver: what Spark adds to the path is lost where a test before has put the path back.
sys.path.append(str(Path(__file__).parent))

# What PySpark 3.5 itself does on a Python of today, and nobody here can change.
OLD_PYSPARK = [
    "ignore:The distutils package is deprecated:DeprecationWarning",
    "ignore:distutils Version classes are deprecated:DeprecationWarning",
    "ignore:unclosed <socket:ResourceWarning",
]


def pytest_configure(config: pytest.Config) -> None:
    if metadata.version("pyspark").startswith("3."):
        for line in OLD_PYSPARK:
            config.addinivalue_line("filterwarnings", line)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    running = SparkContext._active_spark_context
    if running is not None and running.master != "local[2,4]":
        # A test without this fixture made Hoodoo start a session of its own, whose tasks are tried once.
        SparkSession.builder.getOrCreate().stop()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2,4]")
        .appName("hoodoo-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    # Workers import the failing steps from here, and so does the driver.
    session.sparkContext.addPyFile(str(Path(__file__).with_name("spark_helpers.py")))
    assert session.sparkContext.master == "local[2,4]", session.sparkContext.master
    yield session
    session.stop()


@pytest.fixture
def engine(spark: Any) -> Any:
    from hoodoo_spark.engine import SparkEngine

    return SparkEngine(spark)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(LocalStorage(str(tmp_path / "table"), durable=False), "stage")
