from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pytest

sys.path.append(str(Path(__file__).parent))  # helper modules, which are no package

from hashed_rows import OPTIONS, SCHEMA


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # workers run what the tests run
    builder = SparkSession.builder.master("local[2,4]").appName("hoodoo-hashing")
    builder = builder.config("spark.sql.session.timeZone", "UTC")
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., hoodoo.Table]:
    """A table whose buckets are split and merged."""

    def make(name: str = "table", version: int = 9, **given: Any) -> hoodoo.Table:
        options = {**OPTIONS, **given.pop("options", {})}
        chosen = {"record_key": "id", "partition_by": "region", "ordering": "ts", **given}
        return hoodoo.create(
            str(tmp_path / name), SCHEMA, name="t", table_type="MERGE_ON_READ", index="bucket",
            table_version=version, options=options, **chosen,
        )  # fmt: skip

    return make
