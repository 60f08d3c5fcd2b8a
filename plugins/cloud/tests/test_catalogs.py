"""The file catalog on object stores: the contract, and tables by name."""

from __future__ import annotations

from collections.abc import Mapping

import hoodoo
import pytest
from hoodoo.table.settings import open_storage
from hoodoo_catalogs.file import FOLDER, FileCatalog
from hoodoo_catalogs.testing.catalog import CatalogContract


@pytest.mark.parametrize("place", ["memory", "server"], indirect=True)
class TestOnStores(CatalogContract):
    @pytest.fixture
    def catalog(self, place: tuple[str, Mapping[str, str]]) -> FileCatalog:
        uri, options = place
        return FileCatalog(open_storage(f"{uri}/{FOLDER}", options))


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("place", ["memory", "server"], indirect=True)
def test_tables_by_name(place: tuple[str, Mapping[str, str]]) -> None:
    uri, options = place
    lake = hoodoo.catalog(uri, options)
    table = lake.create("trips", "id bigint, city string", record_key="id", partition_by="city")
    commit = table.upsert([{"id": 1, "city": "oslo"}])
    assert table.path == f"{uri}/trips" and lake.tables() == ("trips",)
    assert lake.entry("trips").parameters["last_commit_time_sync"] == commit.instant
    table.rollback(commit.instant)
    assert "last_commit_time_sync" not in lake.entry("trips").parameters
    again = hoodoo.open(table.path, options).upsert([{"id": 2, "city": "rome"}])
    assert lake.entry("trips").parameters["last_commit_time_sync"] == again.instant
    assert lake.open("trips").read().count() == 1
    assert lake.drop("trips") and lake.tables() == ()
