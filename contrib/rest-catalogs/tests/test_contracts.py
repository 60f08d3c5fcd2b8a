"""The contract of the family, for each catalog, against servers with the published interfaces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import rest_catalog_stubs as stubs
from attrs import evolve
from hoodoo.errors import ConfigError
from hoodoo.hookspecs import Settings
from hoodoo_catalogs.hookspecs.catalog import CatalogError, CatalogTable, Column
from hoodoo_catalogs.testing.catalog import CatalogContract
from hoodoo_rest_catalogs.bigquery import BigQueryCatalog
from hoodoo_rest_catalogs.polaris import PolarisCatalog
from hoodoo_rest_catalogs.unity import UnityCatalog

CATALOGS: dict[str, Any] = {
    "unity": (UnityCatalog, stubs.Unity, "main.db.t", "delta"),
    "polaris": (PolarisCatalog, stubs.Polaris, "lake.db.t", "hudi"),
    "bigquery": (BigQueryCatalog, stubs.BigQuery, "acme.db.t", "manifest"),
}
NESTED = (
    Column("id", "bigint", "a number"),
    Column("small", "smallint"),
    Column("tags", "array<string>"),
    Column("inner", "struct<a:int,b:map<string,decimal(12,2)>>", "its parts"),
    Column("price", "decimal(38,18)"),
    Column("at", "timestamp"),
)


def options(host: str, kind: str, **more: str) -> dict[str, str]:
    return {
        "hoodoo.catalog.uri": f"{kind}://{host}",
        "hoodoo.rest.catalog.token": stubs.TOKEN,
        **more,
    }


def opened(kind: str, host: str, **more: str) -> Any:
    return CATALOGS[kind][0].from_settings(Settings(options=options(host, kind, **more)))


class TestUnity(CatalogContract):
    name, bad_name, provider = "main.db.t", "db.t", "delta"

    @pytest.fixture
    def catalog(self) -> Iterator[Any]:
        with stubs.serving(stubs.Unity) as (host, _):
            yield opened("unity", host)


class TestPolaris(CatalogContract):
    name, bad_name = "lake.db.t", "db.t"

    @pytest.fixture
    def catalog(self) -> Iterator[Any]:
        with stubs.serving(stubs.Polaris) as (host, _):
            yield opened("polaris", host)


class TestBigQuery(CatalogContract):
    name, bad_name, provider, keys = "acme.db.t", "db.t", "manifest", ()

    @pytest.fixture
    def catalog(self) -> Iterator[Any]:
        with stubs.serving(stubs.BigQuery, "db") as (host, _):
            yield opened("bigquery", host)


@pytest.fixture(params=sorted(CATALOGS))
def one(request: Any) -> Iterator[tuple[str, Any, Any, CatalogTable]]:
    """Kind, catalog, the stub, and an entry that the catalog can have."""
    kind = request.param
    _, stub, name, provider = CATALOGS[kind]
    with stubs.serving(stub, "main.db", "db") as (host, server):
        entry = CatalogTable(name, "gs://bucket/t", NESTED, provider=provider)
        yield kind, opened(kind, host), server, entry


def test_columns_of_all_kinds_come_back(one: Any) -> None:
    _, catalog, _, entry = one
    assert catalog.put(entry)
    assert catalog.find(entry.name).columns == NESTED


def test_lists_have_several_pages(one: Any) -> None:
    _, catalog, _, entry = one
    names = [f"{entry.name}{number}" for number in range(5)]
    for name in names:
        assert catalog.put(evolve(entry, name=name))
    assert catalog.tables() == tuple(names)


def test_permission_and_missing_are_told_apart(one: Any) -> None:
    _, catalog, server, entry = one
    assert catalog.find(entry.name) is None
    server.fault = lambda call, path: (403, {"error": {"message": "no", "type": "Forbidden"}})
    for call in (lambda: catalog.find(entry.name), lambda: catalog.put(entry), catalog.tables):
        with pytest.raises(CatalogError, match="HTTP 403.* may exist"):
            call()
    server.fault = None
    wrong = evolve(catalog, server=evolve(catalog.server, token=lambda: "wrong"))
    with pytest.raises(CatalogError, match="HTTP 401.* may exist"):
        wrong.find(entry.name)


def test_what_is_missing_is_named(one: Any) -> None:
    _, catalog, _, entry = one
    other = evolve(entry, name=f"else.{entry.name.partition('.')[2]}")
    with pytest.raises(CatalogError, match="dataset|HTTP 404"):
        catalog.put(other)


def test_a_server_that_is_busy_is_asked_again(one: Any) -> None:
    _, catalog, server, entry = one
    answers = iter([(503, None), None, (429, {}), (503, None), None])
    server.fault = lambda call, path: next(answers, None)
    assert catalog.put(entry)
    assert catalog.find(entry.name).location == entry.location
    server.fault = lambda call, path: (503, None)
    with pytest.raises(CatalogError, match="busy"):
        catalog.find(entry.name)


def test_a_creation_that_may_be_done_is_not_repeated(one: Any) -> None:
    _, catalog, server, entry = one
    server.fault = lambda call, path: (500, None) if call == "POST" else None
    with pytest.raises(CatalogError, match="HTTP 500"):
        catalog.put(entry)
    assert sum(asked.startswith("POST") for asked in server.asked) == 1


def test_a_server_that_is_not_there_is_an_error(one: Any) -> None:
    kind, _, _, entry = one
    with pytest.raises(CatalogError, match="does not answer"):
        opened(kind, "127.0.0.1:1").find(entry.name)


def test_an_answer_that_is_no_json(one: Any) -> None:
    _, catalog, server, entry = one
    server.fault = lambda call, path: (302, "moved")
    with pytest.raises(CatalogError, match="HTTP 302"):
        catalog.find(entry.name)


def test_another_format_is_refused(one: Any) -> None:
    _, catalog, server, entry = one
    with pytest.raises(CatalogError, match="(?i)publish"):
        catalog.put(evolve(entry, provider="iceberg"))
    assert not server.tables


@pytest.mark.parametrize("name", ["a.b", "a.b.c d", "a.b.", "../b.c.d", "a.b/c.d", ""])
def test_names_that_cannot_be(one: Any, name: str) -> None:
    _, catalog, server, entry = one
    for call in (catalog.find, catalog.drop, lambda n: catalog.put(evolve(entry, name=n))):
        with pytest.raises(ConfigError, match="is not of the form"):
            call(name)
    assert not server.asked


def test_polaris_gives_a_token_for_id_and_secret() -> None:
    with stubs.serving(stubs.Polaris) as (host, server):
        given = options(host, "polaris", **{"hoodoo.rest.catalog.credential": "me:secret"})
        del given["hoodoo.rest.catalog.token"]
        catalog = PolarisCatalog.from_settings(Settings(options=given))
        assert catalog.find("lake.db.t") is None and catalog.tables() == ()
        assert sum("oauth" in asked for asked in server.asked) == 1
        given["hoodoo.rest.catalog.credential"] = "me:wrong"
        with pytest.raises(CatalogError, match="HTTP 401"):
            PolarisCatalog.from_settings(Settings(options=given)).find("lake.db.t")
        given["hoodoo.rest.catalog.credential"] = "me"
        with pytest.raises(ConfigError, match="id:secret"):
            PolarisCatalog.from_settings(Settings(options=given))


def test_polaris_has_namespaces_in_namespaces_and_iceberg_tables() -> None:
    with stubs.serving(stubs.Polaris) as (host, server):
        catalog = opened("polaris", host)
        entry = CatalogTable("lake.a.b.t", "s3://bucket/t", NESTED)
        assert catalog.put(entry) and catalog.tables() == ("lake.a.b.t",)
        server.tables["a\x1fb/ice"] = {"format": "ICEBERG"}
        with pytest.raises(CatalogError, match="an Iceberg table or a view has this name"):
            catalog.put(evolve(entry, name="lake.a.b.ice"))


def test_lists_of_lists_are_none_of_bigquery() -> None:
    with stubs.serving(stubs.BigQuery, "db") as (host, _):
        columns = (Column("deep", "array<array<int>>"),)
        entry = CatalogTable("acme.db.t", "gs://b/t", columns, provider="manifest")
        with pytest.raises(CatalogError, match="lists of lists"):
            opened("bigquery", host).put(entry)


def test_https_unless_the_server_is_on_this_machine() -> None:
    for host, base in (
        ("acme.example", "https://acme.example/"),
        ("acme.example:8443", "https://acme.example:8443/"),
        ("localhost:8080", "http://localhost:8080/"),
        ("", "http://localhost:8080/"),
    ):
        assert opened("unity", host).server.base.startswith(base)
    given = {"hoodoo.rest.catalog.tls": "false"}
    assert opened("unity", "lake:80", **given).server.base.startswith("http://lake:80/")
