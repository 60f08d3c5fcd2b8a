"""What this distribution offers, and its options."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo import hookimpl
from hoodoo.hookspecs import Option, Registration
from hoodoo.options import FLAG, Duration

TOKEN = Option(
    "hoodoo.rest.catalog.token",
    "The bearer token of Unity Catalog, Polaris or BigQuery; by default that of the environment "
    "variable HOODOO_CATALOG_TOKEN.",
)
CREDENTIAL = Option(
    "hoodoo.rest.catalog.credential",
    "Id and secret of a client of Polaris, as id:secret, where there is no token; by default those "
    "of the environment variable HOODOO_CATALOG_CREDENTIAL.",
)
TLS = Option(
    "hoodoo.rest.catalog.tls",
    "Whether the catalog is asked over HTTPS; by default unless it is on this machine.",
    assumed=False,
    kind=FLAG,
)
TIMEOUT = Option(
    "hoodoo.rest.catalog.timeout",
    "How long one answer of the catalog may take.",
    "10",
    kind=Duration("s", whole=False),
)
OPTIONS = (TOKEN, CREDENTIAL, TLS, TIMEOUT)
_STORE = "hoodoo_catalogs.api:store_of"
_PACKAGE = "hoodoo_rest_catalogs"


@hookimpl(optionalhook=True)
def hoodoo_catalogs() -> Iterable[Registration]:
    return [
        Registration(
            "unity",
            f"{_PACKAGE}.unity:UnityCatalog.from_settings",
            options=OPTIONS,
            summary="Unity Catalog, with the Delta Lake metadata of tables",
        ),
        Registration(
            "polaris",
            f"{_PACKAGE}.polaris:PolarisCatalog.from_settings",
            options=OPTIONS,
            summary="Apache Polaris, as generic tables",
        ),
        Registration(
            "bigquery",
            f"{_PACKAGE}.bigquery:BigQueryCatalog.from_settings",
            options=OPTIONS,
            summary="BigQuery, as external tables over a list of base files",
        ),
    ]


@hookimpl
def hoodoo_storages() -> Iterable[Registration]:
    names = {"unity": "Unity Catalog", "polaris": "Apache Polaris", "bigquery": "BigQuery"}
    return [
        Registration(name, _STORE, summary=f"a table by its name in {title}")
        for name, title in names.items()
    ]
