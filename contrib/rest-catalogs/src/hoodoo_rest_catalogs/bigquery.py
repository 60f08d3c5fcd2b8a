"""BigQuery, by its REST API (v2): external tables over the list of base files that
``table.publish("manifest")`` writes, as those of Hudi's ``BigQuerySyncTool``.

An entry is replaced only by the ETag that it was read with."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.config import TableConfig
from hoodoo_catalogs.api import URI
from hoodoo_catalogs.hookspecs.catalog import CatalogError, CatalogTable, Column

from hoodoo_rest_catalogs.base import RestCatalog
from hoodoo_rest_catalogs.http import CHANGED, EXISTS, MISSING, server
from hoodoo_rest_catalogs.names import parts
from hoodoo_rest_catalogs.types import Type

_FORM = "project.dataset.table"
_NEXT = ("nextPageToken", "pageToken")
_LIST = "/.hoodie/absolute-path-manifest/*"
_SCOPE = "https://www.googleapis.com/auth/bigquery"
_NOTE = "Updated by Hoodoo. "
_TYPES = {
    "boolean": "BOOLEAN",
    "tinyint": "INTEGER",
    "smallint": "INTEGER",
    "int": "INTEGER",
    "bigint": "INTEGER",
    "float": "FLOAT",
    "double": "FLOAT",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "string": "STRING",
    "binary": "BYTES",
}
_USUAL = {"BOOLEAN": "boolean", "INTEGER": "bigint", "FLOAT": "double", "DATE": "date"}
_USUAL |= {"TIMESTAMP": "timestamp", "STRING": "string", "BYTES": "binary"}
_TYPED = re.compile(r"(.*?) ?\[type (.+)\]", re.S)


class BigQueryCatalog(RestCatalog):
    """Implements :class:`~hoodoo_catalogs.hookspecs.catalog.Catalog`. Entries over a manifest
    alone."""

    @classmethod
    def from_settings(cls, settings: Settings) -> BigQueryCatalog:
        uri = URI.given(settings.options) or "bigquery://"
        rights = " (bigquery.tables.get, create, update and delete)"
        path, host = "/bigquery/v2", "bigquery.googleapis.com"
        found = server(settings, "BigQuery", uri, path, host, rights)
        if found.token() is None and host in found.base:
            found = evolve(found, token=_default_token())
        return cls(found, settings.options)

    def limits(self, config: TableConfig) -> tuple[str, ...]:
        found = ["BigQuery does not know partitions of a manifest: each query looks at all files"]
        if config.table_type == "MERGE_ON_READ":
            found.append("BigQuery reads the base files as of the last compaction")
        return tuple(found)

    def tables(self) -> tuple[str, ...]:
        found = []
        for project in self.server.pages("projects", key="projects", token=_NEXT):
            at = ("projects", project["id"], "datasets")
            for dataset in self.server.pages(*at, key="datasets", token=_NEXT):
                name = dataset["datasetReference"]["datasetId"]
                pages = self.server.pages(*at, name, "tables", key="tables", token=_NEXT)
                each = (table["tableReference"]["tableId"] for table in pages)
                found += [f"{project['id']}.{name}.{table}" for table in each]
        return tuple(sorted(found))

    def put(self, table: CatalogTable) -> bool:
        path, body = self._path(table.name), self._body(table)
        if table.version is None:
            answer = self.server.call("POST", *path[:-1], body=body, refused=(EXISTS, MISSING))
        else:
            match = {"If-Match": table.version}
            refused = (CHANGED, MISSING)
            answer = self.server.call("PUT", *path, body=body, headers=match, refused=refused)
        if answer.status == MISSING and table.version is None:
            raise CatalogError(
                f"table {table.name} in BigQuery",
                f"there is no dataset {'.'.join(path[1:4:2])}.",
                "Create it, in the region of the table's bucket.",
            )
        return answer.status < 300

    # --- inside -----------------------------------------------------------------------------------
    def _path(self, name: str) -> tuple[str, ...]:
        project, dataset, table = parts(name, _FORM)
        return ("projects", project, "datasets", dataset, "tables", table)

    def _body(self, table: CatalogTable) -> dict[str, Any]:
        """The resource ``Table`` of the API."""
        project, dataset, name = parts(table.name, _FORM)
        if table.provider != "manifest":
            raise CatalogError(
                f"table {table.name} in BigQuery",
                f"can't be shown as {table.provider}: BigQuery reads the files that a manifest "
                "lists.",
                f'Publish it: table.publish("manifest", catalog="bigquery://{table.name}", '
                "keep=True).",
            )
        return {
            "tableReference": {"projectId": project, "datasetId": dataset, "tableId": name},
            "description": _NOTE + json.dumps(dict(table.parameters), sort_keys=True),
            "externalDataConfiguration": {
                "sourceUris": [table.location + _LIST],
                "sourceFormat": "PARQUET",
                "fileSetSpecType": "FILE_SET_SPEC_TYPE_NEW_LINE_DELIMITED_MANIFEST",
                "autodetect": False,
                "parquetOptions": {"enableListInference": True},
                "schema": {"fields": [_field(c.name, c.type, c.comment) for c in table.columns]},
            },
        }

    def _entry(self, name: str, body: Mapping[str, Any]) -> CatalogTable:
        external = body.get("externalDataConfiguration") or {}
        uris = external.get("sourceUris") or [""]
        text = body.get("description") or ""
        by_hoodoo = text.startswith(_NOTE) and uris[0].endswith(_LIST)
        schema = external.get("schema") or body.get("schema") or {}
        return CatalogTable(
            name,
            uris[0].removesuffix(_LIST),
            tuple(_read(found) for found in schema.get("fields") or ()),
            (),
            json.loads(text.removeprefix(_NOTE)) if by_hoodoo else {},
            version=body.get("etag"),
            provider="manifest" if uris[0].endswith(_LIST) else str(body.get("type") or "").lower(),
        )


def _field(name: str, text: str, comment: str = "") -> dict[str, Any]:
    kind = Type.of(text)
    said = {"name": name, "mode": "NULLABLE", **_typed(name, kind)}
    if _USUAL.get(said["type"]) != text or said["mode"] != "NULLABLE":
        comment = f"{comment} [type {text}]".strip()
    return {**said, "description": comment} if comment else said


def _typed(name: str, kind: Type) -> dict[str, Any]:
    if kind.name == "array":
        found = _typed(name, kind.inner[0][1])
        if found.get("mode") == "REPEATED":
            raise CatalogError(
                f"column {name}",
                "has lists of lists, or of maps, which BigQuery does not have.",
                "Store structs in the list, or leave the table out of BigQuery.",
            )
        return {**found, "mode": "REPEATED"}
    if kind.name == "map":
        pair = zip(("key", "value"), (inner for _, inner in kind.inner), strict=True)
        fields = [{"name": n, "mode": "NULLABLE", **_typed(n, inner)} for n, inner in pair]
        entries = {"name": "key_value", "type": "RECORD", "mode": "REPEATED", "fields": fields}
        return {"type": "RECORD", "fields": [entries]}
    if kind.name == "struct":
        fields = [{"name": n, "mode": "NULLABLE", **_typed(n, inner)} for n, inner in kind.inner]
        return {"type": "RECORD", "fields": fields}
    if kind.digits is not None:
        precision, scale = kind.digits
        small = scale <= 9 and precision - scale <= 29
        name = "NUMERIC" if small else "BIGNUMERIC"
        return {"type": name, "precision": str(precision), "scale": str(scale)}
    return {"type": _TYPES.get(kind.name, "STRING")}


def _read(found: Mapping[str, Any]) -> Column:
    text = found.get("description") or ""
    if typed := _TYPED.fullmatch(text):
        return Column(found["name"], typed[2], typed[1])
    return Column(found["name"], _USUAL.get(found["type"], found["type"].lower()), text)


def _default_token() -> Callable[[], str | None]:
    """The token of Google's default credentials, renewed where it has ended."""
    try:
        import google.auth
        import google.auth.transport.requests
    except ImportError as error:
        raise CatalogError(
            "BigQuery",
            "needs a token, and google-auth, which finds Google's default credentials, is not "
            "installed.",
            "pip install hoodoo-rest-catalogs[bigquery], or set HOODOO_CATALOG_TOKEN.",
        ) from error
    try:
        credentials, _ = google.auth.default(scopes=[_SCOPE])
    except google.auth.exceptions.DefaultCredentialsError as error:
        raise CatalogError(
            "BigQuery",
            f"no credentials are found ({error}).",
            "gcloud auth application-default login.",
        ) from error

    def token() -> str | None:
        if not credentials.valid:
            credentials.refresh(google.auth.transport.requests.Request())
        found: str | None = credentials.token
        return found

    return token
