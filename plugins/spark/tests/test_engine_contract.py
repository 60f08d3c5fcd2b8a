"""The Spark engine passes the suite that every engine passes."""

from __future__ import annotations

from typing import Any

import pytest
from hoodoo.hookspecs.engine import Workspace
from hoodoo_rows.testing.contracts.engine import EngineContract

pytestmark = [pytest.mark.spark, pytest.mark.sampled]


class TestSpark(EngineContract):
    @pytest.fixture
    def engine(self, spark: Any) -> Any:
        from hoodoo_spark.engine import SparkEngine

        return SparkEngine(spark)

    @pytest.fixture
    def workspace(self, workspace: Workspace) -> Workspace:
        return workspace


class TestNear(EngineContract):
    """What is small is done here, by the local engine."""

    @pytest.fixture
    def engine(self, spark: Any) -> Any:
        from hoodoo.hookspecs.registration import Settings
        from hoodoo_spark.near import on_session

        return on_session(spark, Settings(options={"hoodoo.spark.small.bytes": "4MB"}))

    @pytest.fixture
    def workspace(self, workspace: Workspace) -> Workspace:
        return workspace


class TestNearAndFar(TestNear):
    """Some rows are here, some are staged by Spark's tasks, and what says that it reads files runs there."""

    @pytest.fixture
    def engine(self, spark: Any) -> Any:
        from hoodoo.hookspecs.registration import Settings
        from hoodoo_spark.near import on_session

        return on_session(spark, Settings(options={"hoodoo.spark.small.bytes": "1KB"}))
