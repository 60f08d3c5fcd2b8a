"""Apache Polaris, by its REST API (``spec/polaris-catalog-apis/generic-tables-api.yaml``): generic
tables, whose format is ``hudi`` or ``delta``."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import asdict, define, evolve, field
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.config import TableConfig
from hoodoo_catalogs.api import URI
from hoodoo_catalogs.hookspecs.catalog import CatalogError, CatalogTable, Column

from hoodoo_rest_catalogs.base import ReplacingCatalog
from hoodoo_rest_catalogs.http import EXISTS, Server, server
from hoodoo_rest_catalogs.names import parts
from hoodoo_rest_catalogs.plugin import CREDENTIAL

_FORM = "catalog.namespace.table"
_NEXT = ("next-page-token", "pageToken")
_API = "/api/catalog"
_JOINT = "\x1f"  # between the levels of a namespace
_COLUMNS, _KEYS = "hoodoo.columns", "hoodoo.partition.columns"
# What readers such as Spark's plugin of Polaris look for.
_FOR_READERS = ("location", "path", "provider")


class PolarisCatalog(ReplacingCatalog):
    """Implements :class:`~hoodoo_catalogs.hookspecs.catalog.Catalog`. Iceberg tables of Polaris are
    no entries here: pyiceberg's catalogs are for them."""

    @classmethod
    def from_settings(cls, settings: Settings) -> PolarisCatalog:
        uri = URI.given(settings.options) or "polaris://"
        rights = " (TABLE_READ_PROPERTIES, TABLE_CREATE, TABLE_DROP)"
        found = server(settings, "Polaris", uri, "/api", "localhost:8181", rights)
        said = CREDENTIAL.given(settings.options) or os.environ.get("HOODOO_CATALOG_CREDENTIAL")
        if said and found.token() is None:
            client, colon, secret = said.partition(":")
            if not colon:
                raise ConfigError(
                    f"option {CREDENTIAL.key}", "is not of the form id:secret.", "Write both."
                )
            found = evolve(found, token=_Login(found, client, secret).token)
        return cls(found, settings.options)

    def limits(self, config: TableConfig) -> tuple[str, ...]:
        return (
            "Of Polaris's readers, Spark reads generic tables, with Polaris's plugin and the "
            "bundle of the format (Hudi's from 1.1.1 on); others read Iceberg tables only",
        )

    def tables(self) -> tuple[str, ...]:
        found = []
        for catalog in self.server.call("GET", "management", "v1", "catalogs").body["catalogs"]:
            for levels in self._namespaces(catalog["name"], ()):
                at = _generic(catalog["name"], levels)
                pages = self.server.pages(*at, key="identifiers", token=_NEXT)
                found += [".".join((catalog["name"], *levels, one["name"])) for one in pages]
        return tuple(sorted(found))

    # --- inside -----------------------------------------------------------------------------------
    def _path(self, name: str) -> tuple[str, ...]:
        catalog, *levels, table = parts(name, _FORM, more=True)
        return (*_generic(catalog, levels), table)

    def _body(self, table: CatalogTable) -> dict[str, Any]:
        if table.provider not in ("hudi", "delta"):
            raise CatalogError(
                f"table {table.name} in Polaris",
                f"is no generic table of {table.provider}.",
                "Iceberg tables of Polaris: describe it as a catalog of pyiceberg, and publish "
                'with catalog="iceberg://NAME/namespace.table". BigQuery reads manifests.',
            )
        columns = {_COLUMNS: table.columns, _KEYS: table.partition_keys}
        return {
            "name": parts(table.name, _FORM, more=True)[-1],
            "format": table.provider,
            "base-location": table.location,
            "properties": {
                **table.parameters,
                **{key: json.dumps([asdict(c) for c in found]) for key, found in columns.items()},
                "provider": table.provider,
                "location": table.location,
                "path": table.location,
            },
        }

    def _entry(self, name: str, body: Mapping[str, Any]) -> CatalogTable:
        known = body["table"]
        properties = dict(known.get("properties") or {})
        columns = [
            tuple(Column(**c) for c in json.loads(properties.pop(key, "[]")))
            for key in (_COLUMNS, _KEYS)
        ]
        location = known.get("base-location") or properties.get("location") or ""
        return CatalogTable(
            name,
            location,
            columns[0],
            columns[1],
            {key: value for key, value in properties.items() if key not in _FOR_READERS},
            version=hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16],
            provider=str(known.get("format") or "").lower(),
        )

    def _create_places(self, name: str) -> None:
        catalog, *levels, _ = parts(name, _FORM, more=True)
        for number in range(1, len(levels) + 1):
            body = {"namespace": levels[:number], "properties": {}}
            self.server.call("POST", *_namespaces(catalog), body=body, refused=(EXISTS,))

    def _refuse_hidden(self, name: str) -> None:
        if self.find(name) is None:
            raise CatalogError(
                f"table {name} in Polaris",
                "an Iceberg table or a view has this name.",
                "Choose another name.",
            )

    def _namespaces(self, catalog: str, within: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        asked = {"parent": _JOINT.join(within)} if within else {}
        at = _namespaces(catalog)
        for levels in self.server.pages(*at, key="namespaces", token=_NEXT, query=asked):
            yield tuple(levels)
            yield from self._namespaces(catalog, tuple(levels))


def _namespaces(catalog: str) -> tuple[str, ...]:
    return ("catalog", "v1", catalog, "namespaces")


def _generic(catalog: str, levels: Iterable[str]) -> tuple[str, ...]:
    """The path of the generic tables in a namespace."""
    at = ("catalog", "polaris", "v1", catalog, "namespaces")
    return (*at, _JOINT.join(levels), "generic-tables")


@define
class _Login:
    """A token for the id and the secret of a client, as Iceberg's REST catalogs give them (OAuth
    2)."""

    server: Server
    client: str
    secret: str
    _found: tuple[str, float] = field(default=("", 0.0), init=False)
    _lock: Any = field(factory=threading.Lock, init=False)

    def token(self) -> str:
        with self._lock:
            if time.monotonic() >= self._found[1]:
                self._found = self._asked()
            return self._found[0]

    def _asked(self) -> tuple[str, float]:
        said = {
            "grant_type": "client_credentials",
            "client_id": self.client,
            "client_secret": self.secret,
            "scope": "PRINCIPAL_ROLE:ALL",
        }
        at = ("catalog", "v1", "oauth", "tokens")
        body = self.server.call("POST", *at, form=said).body
        lasts = float(body.get("expires_in") or 3600)
        return str(body["access_token"]), time.monotonic() + max(lasts - 60, lasts / 2)
