"""Unity Catalog, by its REST API (``api/all.yaml`` of unitycatalog/unitycatalog, 2.1): external
tables of Delta Lake.

It has no call that changes a table, so an entry whose columns change is dropped and created again.
For a moment readers do not find it, and none of its files is touched."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from attrs import frozen
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.config import TableConfig
from hoodoo_catalogs.api import CREATE_DATABASE, URI
from hoodoo_catalogs.hookspecs.catalog import CatalogError, CatalogTable, Column

from hoodoo_rest_catalogs.http import EXISTS, MISSING, Answer, Server, server
from hoodoo_rest_catalogs.names import parts
from hoodoo_rest_catalogs.types import Type, spark_field

_FORM = "catalog.schema.table"
_NEXT = ("next_page_token", "page_token")
_BAD = 400  # older servers say it of a table that exists


@frozen
class UnityCatalog:
    """Implements :class:`~hoodoo_catalogs.hookspecs.catalog.Catalog`. Entries of Delta Lake
    alone."""

    server: Server
    options: Mapping[str, str]

    @classmethod
    def from_settings(cls, settings: Settings) -> UnityCatalog:
        uri = URI.given(settings.options) or "unity://"
        rights = " (USE CATALOG, USE SCHEMA, SELECT; CREATE TABLE and EXTERNAL USE)"
        path = "/api/2.1/unity-catalog"
        found = server(settings, "Unity Catalog", uri, path, "localhost:8080", rights)
        return cls(found, settings.options)

    @property
    def replaces_entries(self) -> bool:
        return True

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

    def find(self, name: str) -> CatalogTable | None:
        known = self._known(name)
        return None if known is None else _entry(name, known)

    def put(self, table: CatalogTable) -> bool:
        said = _said(table)
        known = self._known(table.name)
        if table.version != (None if known is None else _version(known)):
            return False
        if known is not None:
            self.server.call("DELETE", "tables", table.name, refused=(MISSING,))
        answer = self._created(said)
        if answer.status == MISSING and CREATE_DATABASE.read(self.options):
            schema = {"name": said["schema_name"], "catalog_name": said["catalog_name"]}
            self.server.call("POST", "schemas", body=schema, refused=(EXISTS, _BAD))
            answer = self._created(said)
        if answer.status < 300:
            return True
        if answer.status == EXISTS or "ALREADY_EXISTS" in answer.said:
            return False
        raise self.server.error(f"{self.server.title}, {table.name}", answer)

    def drop(self, name: str) -> bool:
        parts(name, _FORM)
        return self.server.call("DELETE", "tables", name, refused=(MISSING,)).status < 300

    # --- inside -----------------------------------------------------------------------------------
    def _known(self, name: str) -> Mapping[str, Any] | None:
        parts(name, _FORM)
        answer = self.server.call("GET", "tables", name, refused=(MISSING,))
        return None if answer.status == MISSING else answer.body

    def _created(self, said: Mapping[str, Any]) -> Answer:
        return self.server.call("POST", "tables", body=said, refused=(MISSING, EXISTS, _BAD))


def _said(table: CatalogTable) -> dict[str, Any]:
    """A request to create it."""
    catalog, schema, name = parts(table.name, _FORM)
    if table.provider != "delta":
        raise CatalogError(
            f"table {table.name} in Unity Catalog",
            f"can't be shown as {table.provider}: readers of Unity Catalog know Delta Lake.",
            f'Publish it: table.publish("delta", catalog="unity://host/{table.name}", keep=True).',
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


def _entry(name: str, known: Mapping[str, Any]) -> CatalogTable:
    every = sorted(known.get("columns") or (), key=lambda c: c.get("position") or 0)
    keys = sorted(
        (c for c in every if c.get("partition_index") is not None),
        key=lambda c: c["partition_index"],
    )
    return CatalogTable(
        name,
        known.get("storage_location") or "",
        tuple(_read(c) for c in every if c.get("partition_index") is None),
        tuple(map(_read, keys)),
        dict(known.get("properties") or {}),
        version=_version(known),
        provider=(known.get("data_source_format") or "").lower() or "view",
    )


def _read(column: Mapping[str, Any]) -> Column:
    return Column(column["name"], column.get("type_text") or "", column.get("comment") or "")


def _version(known: Mapping[str, Any]) -> str:
    """Another one after the table was dropped and created."""
    return f"{known.get('table_id')}.{known.get('updated_at') or known.get('created_at')}"
