"""Unity Catalog, by its REST API (``api/all.yaml`` of unitycatalog/unitycatalog, 2.1): external
tables of Delta Lake."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hoodoo.hookspecs.registration import Settings
from hoodoo.model.config import TableConfig
from hoodoo_catalogs.api import URI
from hoodoo_catalogs.hookspecs.catalog import CatalogError, CatalogTable, Column

from hoodoo_rest_catalogs.base import ReplacingCatalog
from hoodoo_rest_catalogs.http import EXISTS, server
from hoodoo_rest_catalogs.names import parts
from hoodoo_rest_catalogs.types import Type, spark_field

_FORM = "catalog.schema.table"
_NEXT = ("next_page_token", "page_token")
_BAD = 400  # older servers say it of a table that exists


class UnityCatalog(ReplacingCatalog):
    """Implements :class:`~hoodoo_catalogs.hookspecs.catalog.Catalog`. Entries of Delta Lake
    alone."""

    _taken = (EXISTS, _BAD)

    @classmethod
    def from_settings(cls, settings: Settings) -> UnityCatalog:
        uri = URI.given(settings.options) or "unity://"
        rights = " (USE CATALOG, USE SCHEMA, SELECT; CREATE TABLE and EXTERNAL USE)"
        path = "/api/2.1/unity-catalog"
        found = server(settings, "Unity Catalog", uri, path, "localhost:8080", rights)
        return cls(found, settings.options)

    def limits(self, config: TableConfig) -> tuple[str, ...]:
        return (
            "Unity Catalog has the columns of an entry; its readers ask the Delta log for rows",
        )

    def tables(self) -> tuple[str, ...]:
        found = []
        for catalog in self.server.pages("catalogs", key="catalogs", token=_NEXT):
            of = {"catalog_name": catalog["name"]}
            for schema in self.server.pages("schemas", key="schemas", token=_NEXT, query=of):
                within = {**of, "schema_name": schema["name"]}
                pages = self.server.pages("tables", key="tables", token=_NEXT, query=within)
                found += [f"{catalog['name']}.{schema['name']}.{table['name']}" for table in pages]
        return tuple(sorted(found))

    # --- inside -----------------------------------------------------------------------------------
    def _path(self, name: str) -> tuple[str, ...]:
        parts(name, _FORM)
        return ("tables", name)

    def _body(self, table: CatalogTable) -> dict[str, Any]:
        catalog, schema, name = parts(table.name, _FORM)
        if table.provider != "delta":
            raise CatalogError(
                f"table {table.name} in Unity Catalog",
                f"can't be shown as {table.provider}: readers of Unity Catalog know Delta Lake.",
                f'Publish it: table.publish("delta", catalog="unity://host/{table.name}", '
                "keep=True).",
            )
        columns = [_column(c, n, None) for n, c in enumerate(table.columns)]
        columns += [_column(c, n + len(columns), n) for n, c in enumerate(table.partition_keys)]
        location = table.location
        return {
            "name": name,
            "catalog_name": catalog,
            "schema_name": schema,
            "table_type": "EXTERNAL",
            "data_source_format": "DELTA",
            "columns": columns,
            "storage_location": f"file://{location}" if location.startswith("/") else location,
            "properties": dict(table.parameters),
        }

    def _entry(self, name: str, body: Mapping[str, Any]) -> CatalogTable:
        every = sorted(body.get("columns") or (), key=lambda c: c.get("position") or 0)
        keys = sorted(
            (c for c in every if c.get("partition_index") is not None),
            key=lambda c: c["partition_index"],
        )
        return CatalogTable(
            name,
            body.get("storage_location") or "",
            tuple(_read(c) for c in every if c.get("partition_index") is None),
            tuple(map(_read, keys)),
            dict(body.get("properties") or {}),
            # Another one after the table was dropped and created.
            version=f"{body.get('table_id')}.{body.get('updated_at') or body.get('created_at')}",
            provider=(body.get("data_source_format") or "").lower() or "view",
        )

    def _create_places(self, name: str) -> None:
        catalog, schema, _ = parts(name, _FORM)
        body = {"name": schema, "catalog_name": catalog}
        self.server.call("POST", "schemas", body=body, refused=(EXISTS, _BAD))


def _column(column: Column, position: int, partition: int | None) -> dict[str, Any]:
    kind = Type.of(column.type)
    said = {
        "name": column.name,
        "type_text": column.type,
        "type_json": json.dumps(spark_field(column.name, kind), separators=(",", ":")),
        "type_name": kind.unity,
        "position": position,
        "nullable": True,
    }
    if kind.digits is not None:
        said |= {"type_precision": kind.digits[0], "type_scale": kind.digits[1]}
    if column.comment:
        said["comment"] = column.comment
    return said if partition is None else {**said, "partition_index": partition}


def _read(column: Mapping[str, Any]) -> Column:
    return Column(column["name"], column.get("type_text") or "", column.get("comment") or "")
