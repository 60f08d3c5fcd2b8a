"""What the tests of the Spark engine share, beside the session of all tests."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from hoodoo.hookspecs.engine import Workspace
from hoodoo_standard.storage.local import LocalStorage

# For the driver: what Spark adds to the path is lost where a test before has put the path back.
sys.path.append(str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[3] / "tests/crash"))  # how much is tried

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
def spark(spark: Any) -> Any:
    """The session of all tests; its workers import the failing steps from here, and so does the driver."""
    spark.sparkContext.addPyFile(str(Path(__file__).with_name("spark_helpers.py")))
    return spark


@pytest.fixture
def engine(spark: Any) -> Any:
    from hoodoo_spark.engine import SparkEngine

    return SparkEngine(spark)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(LocalStorage(str(tmp_path / "table"), durable=False), "stage")
