"""Some of dbt's further suites: incremental models and snapshots."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.empty.test_empty import BaseTestEmpty
from dbt.tests.adapter.incremental.test_incremental_merge_exclude_columns import (
    BaseMergeExcludeColumns,
)
from dbt.tests.adapter.incremental.test_incremental_microbatch import BaseMicrobatch
from dbt.tests.adapter.incremental.test_incremental_on_schema_change import (
    BaseIncrementalOnSchemaChange,
)
from dbt.tests.adapter.incremental.test_incremental_predicates import BaseIncrementalPredicates
from dbt.tests.adapter.incremental.test_incremental_unique_id import BaseIncrementalUniqueKey
from dbt.tests.adapter.relations.test_dropping_schema_named import BaseDropSchemaNamed
from dbt.tests.adapter.simple_snapshot.test_snapshot import BaseSimpleSnapshot, BaseSnapshotCheck
from dbt.tests.adapter.unit_testing.test_types import BaseUnitTestingTypes


class TestMicrobatch(BaseMicrobatch):
    @pytest.fixture(scope="class")
    def input_model_sql(self) -> str:
        """Times as Spark writes them: those of the class are Postgres' own."""
        days = " union all ".join(
            f"select {n} as id, timestamp '2020-01-0{n} 00:00:00' as event_time" for n in (1, 2, 3)
        )
        return "{{ config(materialized='table', event_time='event_time') }} " + days

    @pytest.fixture(scope="class")
    def insert_two_rows_sql(self, project: Any) -> str:
        name = f"{project.test_schema}.input_model"
        return (
            f"insert into {name} (id, event_time) values "
            "(4, timestamp '2020-01-04 00:00:00'), (5, timestamp '2020-01-05 00:00:00')"
        )


class TestIncrementalOnSchemaChange(BaseIncrementalOnSchemaChange):
    pass


class TestMergeExcludeColumns(BaseMergeExcludeColumns):
    pass


class TestIncrementalPredicates(BaseIncrementalPredicates):
    pass


class TestDropSchemaNamed(BaseDropSchemaNamed):
    pass


class TestEmptyFlag(BaseTestEmpty):
    pass


class TestIncrementalUniqueKey(BaseIncrementalUniqueKey):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        """Its models have rows of one unique key, which a record key does not allow."""
        return {"models": {"+record_key": []}}


class TestUnitTestingTypes(BaseUnitTestingTypes):
    @pytest.fixture
    def data_types(self) -> list[list[str]]:
        """Without Postgres' numeric and json."""
        return [
            ["1", "1"],
            ["'1'", "1"],
            ["true", "true"],
            ["DATE '2020-01-02'", "2020-01-02"],
            ["TIMESTAMP '2013-11-03 00:00:00'", "2013-11-03 00:00:00"],
            ["CAST(1 AS DECIMAL(9, 2))", "1"],
        ]


class TestSimpleSnapshot(BaseSimpleSnapshot):
    def add_fact_column(self, column: str | None = None, definition: str | None = None) -> None:
        """Without the default, which a table would not store."""
        super().add_fact_column(column, "string")


class TestSnapshotCheck(BaseSnapshotCheck):
    pass
