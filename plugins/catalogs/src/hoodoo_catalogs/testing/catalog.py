"""What every catalog promises: the contract of :class:`hoodoo_catalogs.hookspecs.catalog.Catalog`
as tests.

Usage::

    class TestMine(CatalogContract):
        @pytest.fixture
        def catalog(self):
            return Mine(...)  # without tables

        name = "db.t"  # a name that it can have
        bad_name = "a b/c"  # one that it cannot have

Partitions, locations of new tables and limits of readers are tested where the catalog has them.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from attrs import evolve
from hoodoo.errors import ConfigError
from hoodoo.kernel.resolve import resolve
from hoodoo.model.config import TableConfig

from hoodoo_catalogs.hookspecs.catalog import CatalogTable, Column

COLUMNS = (Column("id", "bigint"), Column("name", "string", "who it is"))
KEYS = (Column("day", "string"),)


class CatalogContract:
    """Override the fixture ``catalog``."""

    name = "db.t"
    bad_name = "a b/c"
    # Whether the catalog itself refuses to replace a version that is not the newest one.
    compares = True
    location = "s3://bucket/t"
    # The provider in its entries.
    provider = "hudi"
    keys = KEYS

    @pytest.fixture
    def catalog(self) -> Any:
        raise NotImplementedError("override the fixture `catalog`")

    def table(self, **changes: Any) -> CatalogTable:
        parameters = {"spark.sql.sources.provider": "hudi"}
        made = CatalogTable(self.name, self.location, COLUMNS, self.keys, parameters)
        return evolve(made, provider=self.provider, **changes)

    def test_it_is_a_catalog(self, catalog: Any) -> None:
        resolve("catalog", catalog)

    def test_nothing_is_there_at_first(self, catalog: Any) -> None:
        assert catalog.tables() == ()
        assert catalog.find(self.name) is None
        assert not catalog.drop(self.name)

    def test_an_entry_comes_back(self, catalog: Any) -> None:
        assert catalog.put(self.table())
        found = catalog.find(self.name)
        assert found is not None and found.version is not None
        assert (found.name, found.location) == (self.name, self.location)
        assert (found.columns, found.partition_keys) == (COLUMNS, self.keys)
        assert found.provider == self.provider
        assert found.parameters["spark.sql.sources.provider"] == "hudi"
        assert catalog.tables() == (self.name,)

    def test_a_name_is_taken_once(self, catalog: Any) -> None:
        assert catalog.put(self.table())
        assert not catalog.put(self.table(location=f"{self.location}-other"))
        assert catalog.find(self.name).location == self.location

    def test_the_newest_version_is_replaced(self, catalog: Any) -> None:
        assert catalog.put(self.table())
        first = catalog.find(self.name)
        longer = (*COLUMNS, Column("more", "int"))
        assert catalog.put(evolve(first, columns=longer, parameters={"a": "b"}))
        second = catalog.find(self.name)
        assert second.columns == longer and second.parameters["a"] == "b"
        if self.compares:
            assert second.version != first.version
            assert not catalog.put(evolve(first, parameters={"a": "late"}))
            assert catalog.find(self.name).parameters["a"] == "b"

    def test_dropped_and_created_again(self, catalog: Any) -> None:
        assert catalog.put(self.table())
        old = catalog.find(self.name)
        assert catalog.drop(self.name) and not catalog.drop(self.name)
        assert catalog.find(self.name) is None and catalog.tables() == ()
        if self.compares:
            assert not catalog.put(old)
        assert catalog.put(self.table(location=f"{self.location}-other"))
        assert catalog.find(self.name).location == f"{self.location}-other"

    def test_a_name_that_cannot_be(self, catalog: Any) -> None:
        with pytest.raises(ConfigError):
            catalog.find(self.bad_name)
        with pytest.raises(ConfigError):
            catalog.put(self.table(name=self.bad_name))
        assert catalog.tables() == ()

    def test_one_of_many_creates_it(self, catalog: Any) -> None:
        def create(n: int) -> bool:
            return bool(catalog.put(self.table(location=f"{self.location}-{n}")))

        with ThreadPoolExecutor(4) as threads:
            assert sorted(threads.map(create, range(4))) == [False, False, False, True]

    def test_partitions(self, catalog: Any) -> None:
        members = ("partitions", "add_partitions", "drop_partitions")
        lacks = [name for name in members if not hasattr(catalog, name)]
        if len(lacks) == len(members):
            pytest.skip("it has no partitions")
        assert not lacks, "a catalog with partitions has all members of HasPartitions"
        assert catalog.put(self.table())
        table = catalog.find(self.name)
        days = {(f"2024-01-{n:02d}",): f"{self.location}/{n}" for n in range(1, 29)}
        catalog.add_partitions(table, days)
        catalog.add_partitions(table, dict([*days.items()][:2]))  # again: not an error
        assert dict(catalog.partitions(self.name)) == days
        some = [("2024-01-02",), ("2024-02-01",)]
        assert dict(catalog.partitions(self.name, some)) == {some[0]: days[some[0]]}
        catalog.add_partitions(table, {some[0]: f"{self.location}/moved"})
        assert dict(catalog.partitions(self.name, some)) == {some[0]: f"{self.location}/moved"}
        catalog.drop_partitions(self.name, some)
        assert len(catalog.partitions(self.name)) == len(days) - 1

    def test_what_readers_cannot_do(self, catalog: Any) -> None:
        if not hasattr(catalog, "limits"):
            pytest.skip("it says nothing of its readers")
        for version in ("6", "9"):
            properties = {"hoodie.table.name": "t", "hoodie.table.version": version}
            found = catalog.limits(TableConfig(properties))
            assert isinstance(found, tuple) and not any(text.endswith(".") for text in found)

    def test_a_place_for_new_tables(self, catalog: Any) -> None:
        if not hasattr(catalog, "location_of"):
            pytest.skip("it does not say where new tables are created")
        assert isinstance(catalog.location_of(self.name), str | None)
