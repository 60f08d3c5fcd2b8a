"""The profile that dbt's own tests run with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["dbt.tests.fixtures.project"]
os.environ.setdefault("DBT_SEND_ANONYMOUS_USAGE_STATS", "false")

_SMALL = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


@pytest.fixture(scope="class")
def dbt_profile_target(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """With ``HOODOO_DBT_SPARK=1``, Spark computes the models."""
    place: Path = tmp_path_factory.mktemp("lake")
    target = {"type": "hoodoo", "path": str(place), "threads": 1}
    if os.environ.get("HOODOO_DBT_SPARK") == "1":
        target |= {"spark": True, "spark_config": dict(_SMALL)}
    return target
