"""Tables that Spark Hudi wrote; a Spark session for the tests that are marked with ``spark``."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).resolve().parents[3]


@pytest.fixture
def golden(tmp_path: Path) -> Callable[[str], Path]:
    """``golden(name)``: the golden table of this name, unpacked."""
    home = Path(os.environ.get("HOODOO_GOLDEN") or REPO / "tests/golden/data")

    def unpacked(name: str) -> Path:
        with zipfile.ZipFile(home / "tables" / f"{name}.zip") as archive:
            archive.extractall(tmp_path / name)
        (found,) = (p for p in (tmp_path / name).iterdir() if p.is_dir())
        return found

    return unpacked


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # workers run what the tests run
    builder = SparkSession.builder.master("local[2]").appName("hoodoo-lance")
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
