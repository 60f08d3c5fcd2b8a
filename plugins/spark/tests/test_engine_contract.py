"""The Spark engine passes the suite that every engine passes."""

from __future__ import annotations

from typing import Any

import pytest
from hoodoo.hookspecs.engine import Workspace
from hoodoo.testing.contracts.engine import EngineContract

pytestmark = pytest.mark.spark


class TestSpark(EngineContract):
    @pytest.fixture
    def engine(self, spark: Any) -> Any:
        from hoodoo_spark.engine import SparkEngine

        return SparkEngine(spark)

    @pytest.fixture
    def workspace(self, workspace: Workspace) -> Workspace:
        return workspace
