"""A Spark session for the tests that are marked with ``spark``; what the histories have counted is printed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # workers run what the tests run
    builder = SparkSession.builder.master("local[2]").appName("hoodoo-sqlite-index")
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for module in list(sys.modules.values()):
        counts = getattr(module, "COUNTS", None)
        if getattr(module, "__name__", "").endswith("test_sqlite_histories") and counts:
            said = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
            terminalreporter.write_line(f"histories of the sqlite index: {said}")
