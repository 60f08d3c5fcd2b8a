"""The profile that dbt's own tests run with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["dbt.tests.fixtures.project"]
os.environ.setdefault("DBT_SEND_ANONYMOUS_USAGE_STATS", "false")


@pytest.fixture(scope="class")
def dbt_profile_target(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place: Path = tmp_path_factory.mktemp("lake")
    return {"type": "hoodoo", "path": str(place), "threads": 1}
