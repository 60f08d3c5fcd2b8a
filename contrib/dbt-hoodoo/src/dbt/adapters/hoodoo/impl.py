"""The adapter: what dbt asks of a database, answered by a workspace of Hoodoo."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dbt.adapters.base import BaseRelation, available
from dbt.adapters.base.impl import AdapterConfig, ConstraintSupport
from dbt.adapters.capability import Capability, CapabilityDict, CapabilitySupport, Support
from dbt.adapters.hoodoo.connections import HoodooConnectionManager
from dbt.adapters.hoodoo.relation import HoodooColumn, HoodooRelation
from dbt.adapters.sql import SQLAdapter
from dbt_common.contracts.constraints import ConstraintType
from dbt_common.contracts.metadata import (
    CatalogTable,
    ColumnMetadata,
    TableMetadata,
)
from dbt_common.exceptions import DbtRuntimeError
from hoodoo_dbt.statements import plain
from hoodoo_dbt.workspace import Workspace, arrow_of

_CATALOG = (
    "table_database",
    "table_schema",
    "table_name",
    "table_type",
    "table_comment",
    "table_owner",
    "column_name",
    "column_index",
    "column_type",
    "column_comment",
)


@dataclass
class HoodooConfig(AdapterConfig):
    """What a model says of its table besides. ``record_key``: by default the unique key."""

    record_key: str | list[str] | None = None
    ordering: str | list[str] | None = None
    partition_by: str | list[str] | None = None
    table_type: str | None = None
    tblproperties: dict[str, Any] | None = None


class HoodooAdapter(SQLAdapter):
    """Each statement is one commit of one table."""

    Relation = HoodooRelation
    Column = HoodooColumn
    ConnectionManager = HoodooConnectionManager
    AdapterSpecificConfigs = HoodooConfig
    CONSTRAINT_SUPPORT = dict.fromkeys(ConstraintType, ConstraintSupport.NOT_SUPPORTED)
    _capabilities = CapabilityDict(
        {
            Capability.SchemaMetadataByRelations: CapabilitySupport(support=Support.Full),
            Capability.GetCatalogForSingleRelation: CapabilitySupport(support=Support.Full),
        }
    )

    # --- names and types --------------------------------------------------------------------------
    @classmethod
    def date_function(cls) -> str:
        return "current_timestamp()"

    @classmethod
    def is_cancelable(cls) -> bool:
        return False

    @classmethod
    def quote(cls, identifier: str) -> str:
        return f"`{identifier}`"

    @classmethod
    def convert_text_type(cls, agate_table: Any, col_idx: int) -> str:
        return "string"

    @classmethod
    def convert_number_type(cls, agate_table: Any, col_idx: int) -> str:
        import agate

        return "double" if agate_table.aggregate(agate.MaxPrecision(col_idx)) else "bigint"

    @classmethod
    def convert_integer_type(cls, agate_table: Any, col_idx: int) -> str:
        return "bigint"

    @classmethod
    def convert_datetime_type(cls, agate_table: Any, col_idx: int) -> str:
        return "timestamp"

    @classmethod
    def convert_time_type(cls, agate_table: Any, col_idx: int) -> str:
        return "string"

    def timestamp_add_sql(self, add_to: str, number: int = 1, interval: str = "hour") -> str:
        return f"{add_to} + interval {number} {interval}"

    def valid_incremental_strategies(self) -> list[str]:
        return ["append", "merge", "delete+insert", "insert_overwrite", "microbatch"]

    # --- schemas and relations --------------------------------------------------------------------
    @property
    def _workspace(self) -> Workspace:
        found: Workspace = self.connections.get_thread_connection().handle.workspace
        return found

    def list_schemas(self, database: str) -> list[str]:
        with self.connections.exception_handler("list schemas"):
            return self._of(database).schemas()

    def create_schema(self, relation: BaseRelation) -> None:
        with self.connections.exception_handler("create schema"):
            self._workspace.create_schema(self._schema(relation))

    def drop_schema(self, relation: BaseRelation) -> None:
        with self.connections.exception_handler("drop schema"):
            self._workspace.drop_schema(self._schema(relation))
        self.cache.drop_schema(relation.database, relation.schema)

    def _schema(self, relation: BaseRelation) -> str:
        """Its name with that of the catalog, which ``drop_schema_named`` leaves out."""
        return f"{relation.database or self._workspace.database}.{relation.schema}"

    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        schema = schema_relation.schema
        assert schema is not None
        with self.connections.exception_handler("list relations"):
            found = self._of(schema_relation.database).relations(schema)
        return [
            self.Relation.create(
                database=schema_relation.database,
                schema=schema,
                identifier=name,
                type=self.Relation.get_relation_type(kind),
            )
            for name, kind in found
        ]

    def get_columns_in_relation(self, relation: BaseRelation) -> list[HoodooColumn]:
        with self.connections.exception_handler("columns"):
            workspace, name = self._of(relation.database), _name(relation)
            found = workspace.columns(name) if workspace.has(name) else []
        return [HoodooColumn(name, kind) for name, kind in found]

    @available.parse(lambda *a, **k: [])
    def get_column_schema_from_query(self, sql: str) -> list[HoodooColumn]:
        with self.connections.exception_handler(sql):
            found = self._workspace.columns_of_query(sql)
        return [HoodooColumn(name, kind) for name, kind in found]

    def drop_relation(self, relation: BaseRelation) -> None:
        self.cache_dropped(relation)
        with self.connections.exception_handler("drop"):
            self._workspace.drop(_name(relation))

    def rename_relation(self, from_relation: BaseRelation, to_relation: BaseRelation) -> None:
        self.cache_renamed(from_relation, to_relation)
        with self.connections.exception_handler("rename"):
            self._workspace.rename(_name(from_relation), _name(to_relation))

    def expand_column_types(self, goal: BaseRelation, current: BaseRelation) -> None:
        """Nothing: texts have no length."""

    # --- seeds ------------------------------------------------------------------------------------
    @available.parse_none
    def hold_seed(self, relation: BaseRelation, agate_table: Any) -> None:
        """Give the rows of a file a name that this connection alone knows."""
        names = agate_table.column_names
        columns = {name: list(agate_table.columns[name].values()) for name in names}
        with self.connections.exception_handler("seed"):
            self._workspace.hold(_name(relation), arrow_of(columns))

    # --- the catalog of dbt docs ------------------------------------------------------------------
    def get_catalog_for_single_relation(self, relation: BaseRelation) -> CatalogTable | None:
        columns = self.get_columns_in_relation(relation)
        return CatalogTable(
            metadata=TableMetadata(
                type=str(relation.type or "table"),
                schema=relation.schema or "",
                name=relation.identifier or "",
                database=relation.database,
            ),
            columns={
                column.name: ColumnMetadata(column.dtype, n, column.name)
                for n, column in enumerate(columns, 1)
            },
            stats={},
        )

    def _get_one_catalog(self, information_schema: Any, schemas: Any, used_schemas: Any) -> Any:
        relations = [
            relation
            for schema in sorted(schemas)
            for relation in self.list_relations_without_caching(
                self.Relation.create(database=information_schema.database, schema=schema)
            )
        ]
        return self._catalog_of(relations)

    def _get_one_catalog_by_relations(
        self, information_schema: Any, relations: Any, used_schemas: Any
    ) -> Any:
        wanted = {(r.schema.lower(), r.identifier.lower()) for r in relations}
        found = [
            relation
            for schema in sorted({relation.schema for relation in relations})
            for relation in self.list_relations_without_caching(
                self.Relation.create(database=information_schema.database, schema=schema)
            )
            if (str(relation.schema).lower(), str(relation.identifier).lower()) in wanted
        ]
        return self._catalog_of(found)

    def _catalog_of(self, relations: Iterable[BaseRelation]) -> Any:
        from dbt_common.clients.agate_helper import table_from_data_flat

        rows = [
            dict(
                zip(
                    _CATALOG,
                    (
                        r.database,
                        r.schema,
                        r.identifier,
                        str(r.type),
                        None,
                        None,
                        c.name,
                        n,
                        c.dtype,
                        None,
                    ),
                )
            )
            for r in relations
            for n, c in enumerate(self.get_columns_in_relation(r), 1)
        ]
        return table_from_data_flat(rows, list(_CATALOG))

    def _of(self, database: str | None) -> Workspace:
        """The workspace, if ``database`` is its name; else one of the catalog of that name."""
        mine, database = self._workspace, database and plain(database)
        if database is None or database.lower() == mine.database.lower():
            return mine
        for name, lake in mine.others.items():
            if name.lower() == database.lower():
                return Workspace(name, lake, str(lake.place.uri), options=mine.options)
        known = ", ".join([mine.database, *mine.others])
        raise DbtRuntimeError(
            f"database {database}: is not among the catalogs of the profile ({known}). "
            f"Fix: Name it there: catalogs: {{{database}: path}}."
        )


def _name(relation: BaseRelation) -> str:
    return ".".join(
        part for part in (relation.database, relation.schema, relation.identifier) if part
    )
