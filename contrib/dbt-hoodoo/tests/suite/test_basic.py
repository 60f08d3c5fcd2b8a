"""dbt's own basic suite (dbt-tests-adapter). What differs from its classes is said here."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.basic.expected_catalog import (
    base_expected_catalog,
    expected_references_catalog,
    no_stats,
)
from dbt.tests.adapter.basic.test_adapter_methods import BaseAdapterMethod
from dbt.tests.adapter.basic.test_base import BaseSimpleMaterializations
from dbt.tests.adapter.basic.test_docs_generate import (
    BaseDocsGenerate,
    BaseDocsGenReferences,
)
from dbt.tests.adapter.basic.test_empty import BaseEmpty
from dbt.tests.adapter.basic.test_ephemeral import BaseEphemeral
from dbt.tests.adapter.basic.test_generic_tests import BaseGenericTests
from dbt.tests.adapter.basic.test_get_catalog_for_single_relation import (
    BaseGetCatalogForSingleRelation,
)
from dbt.tests.adapter.basic.test_incremental import (
    BaseIncremental,
    BaseIncrementalBadStrategy,
    BaseIncrementalNotSchemaChange,
)
from dbt.tests.adapter.basic.test_singular_tests import BaseSingularTests
from dbt.tests.adapter.basic.test_singular_tests_ephemeral import BaseSingularTestsEphemeral
from dbt.tests.adapter.basic.test_snapshot_check_cols import BaseSnapshotCheckCols
from dbt.tests.adapter.basic.test_snapshot_timestamp import BaseSnapshotTimestamp
from dbt.tests.adapter.basic.test_table_materialization import BaseTableMaterialization
from dbt.tests.adapter.basic.test_validate_connection import BaseValidateConnection
from dbt_common.contracts.metadata import CatalogTable, ColumnMetadata, TableMetadata


class TestSimpleMaterializations(BaseSimpleMaterializations):
    pass


class TestSingularTests(BaseSingularTests):
    pass


class TestSingularTestsEphemeral(BaseSingularTestsEphemeral):
    pass


class TestEmpty(BaseEmpty):
    pass


class TestEphemeral(BaseEphemeral):
    pass


class TestIncremental(BaseIncremental):
    pass


class TestIncrementalBadStrategy(BaseIncrementalBadStrategy):
    pass


class TestIncrementalNotSchemaChange(BaseIncrementalNotSchemaChange):
    pass


class TestGenericTests(BaseGenericTests):
    pass


class TestSnapshotCheckCols(BaseSnapshotCheckCols):
    pass


class TestSnapshotTimestamp(BaseSnapshotTimestamp):
    pass


class TestAdapterMethod(BaseAdapterMethod):
    pass


class TestTableMaterialization(BaseTableMaterialization):
    pass


class TestValidateConnection(BaseValidateConnection):
    pass


class TestDocsGenerate(BaseDocsGenerate):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project: Any) -> Any:
        return base_expected_catalog(
            project,
            role=None,
            id_type="bigint",
            text_type="string",
            time_type="timestamp",
            view_type="view",
            table_type="table",
            model_stats=no_stats(),
        )


class TestDocsGenReferences(BaseDocsGenReferences):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project: Any) -> Any:
        return expected_references_catalog(
            project,
            role=None,
            id_type="bigint",
            text_type="string",
            time_type="timestamp",
            bigint_type="bigint",
            view_type="view",
            table_type="table",
            model_stats=no_stats(),
        )


class TestGetCatalogForSingleRelation(BaseGetCatalogForSingleRelation):
    @pytest.fixture(scope="class")
    def current_role(self) -> None:
        return None

    @pytest.fixture(scope="class")
    def expected_catalog_my_seed(self, project: Any) -> Any:
        return _catalog(
            project,
            "my_seed",
            "table",
            [
                ("id", "bigint"),
                ("first_name", "string"),
                ("email", "string"),
                ("ip_address", "string"),
                ("updated_at", "timestamp"),
            ],
        )

    @pytest.fixture(scope="class")
    def expected_catalog_my_view_model(self, project: Any) -> Any:
        return _catalog(
            project,
            "my_view_model",
            "view",
            [
                ("id", "bigint"),
                ("first_name", "string"),
                ("email", "string"),
                ("ip_address", "string"),
                ("updated_at", "timestamp"),
            ],
        )


def _catalog(project: Any, name: str, kind: str, columns: list[tuple[str, str]]) -> CatalogTable:
    return CatalogTable(
        metadata=TableMetadata(
            type=kind, schema=project.test_schema, name=name, database=project.database
        ),
        columns={
            column: ColumnMetadata(type=type_, index=n, name=column)
            for n, (column, type_) in enumerate(columns, 1)
        },
        stats={},
    )
