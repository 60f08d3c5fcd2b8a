"""The Hive Metastore: its entries and errors without a server; the contract and whole tables on
real ones, 4.0.1 and 3.1.3.

The real ones need Java and Maven, and are left to the trials. 3.1.3 listens on all addresses, so it
and its clients run in a network namespace of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import hoodoo
import pytest
from attrs import evolve
from cities import made, trips
from hoodoo.errors import ConfigError, HoodooWarning, NotATableError
from hoodoo.hookspecs.registration import Settings
from hoodoo_catalogs.hive import HiveCatalog, _escaped, _table
from hoodoo_catalogs.hive_entry import Name
from hoodoo_catalogs.hookspecs.catalog import CatalogError, Column
from hoodoo_catalogs.testing.catalog import CatalogContract
from metastore import NotHere, metastore

INSIDE = "HOODOO_METASTORE_VERSION"
VERSION = os.environ.get(INSIDE, "4.0.1")
ROWS = trips("oslo", "a/b=c")


def test_who_is_not_there_is_named(tmp_path: Path) -> None:
    table = made(tmp_path / "t", {"hoodoo.catalogs": "hms://127.0.0.1:9/db.t"})
    with pytest.warns(HoodooWarning, match=r"Hive Metastore 127\.0\.0\.1:9, db\.t"):
        table.upsert(ROWS)
    assert table.read().count() == 2
    with pytest.raises(CatalogError, match="reachable"):
        hoodoo.open("hms://127.0.0.1:9/db.t")


def test_addresses_and_names() -> None:
    with pytest.raises(ConfigError, match="no host and port"):
        HiveCatalog.from_settings(Settings(options={"hoodoo.catalog.uri": "hms://host"}))
    assert str(Name.of("Lake.Trips")) == "lake.trips" and str(Name.of("t")) == "default.t"
    assert _escaped("a/b=c é") == "a%2Fb%3Dc é"


# --- real ones ------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    try:
        with metastore(VERSION, tmp_path_factory.mktemp("metastore")) as address:
            yield address
    except NotHere as error:
        pytest.skip(f"no Hive Metastore {VERSION}: {error}")


@pytest.fixture
def catalog(server: str) -> HiveCatalog:
    host, _, port = server.partition(":")
    found = HiveCatalog(host, int(port), {})
    for name in found.tables():
        found.drop(name)
    return found


@pytest.mark.trial
class TestHive(CatalogContract):
    @pytest.fixture
    def catalog(self, catalog: HiveCatalog) -> HiveCatalog:
        return catalog

    location = "file:/tmp/t"


@pytest.mark.trial
def test_a_table_and_what_becomes_of_it(tmp_path: Path, server: str, catalog: HiveCatalog) -> None:
    options = {
        "hoodie.datasource.hive_sync.enable": "true",
        "hoodie.datasource.hive_sync.metastore.uris": f"thrift://{server}",
        "hoodie.datasource.hive_sync.database": "lake",
        "hoodie.datasource.write.partitionpath.urlencode": "true",
    }
    table = made(tmp_path / "t", options, name="trips", table_type="MERGE_ON_READ")
    commit = table.upsert(ROWS)
    assert catalog.tables() == ("lake.trips", "lake.trips_ro", "lake.trips_rt")
    with catalog._client("test") as client:
        stored = _table(client, Name.of("lake.trips_ro"))
    assert stored.sd.inputFormat == "org.apache.hudi.hadoop.HoodieParquetInputFormat"
    assert stored.sd.serdeInfo.parameters["hoodie.query.as.ro.table"] == "true"
    assert stored.tableType == "EXTERNAL_TABLE" and stored.parameters["EXTERNAL"] == "TRUE"
    entry = catalog.find("lake.trips")
    assert entry is not None and entry.parameters["last_commit_time_sync"] == commit.instant
    assert entry.columns[-3:-1] == (Column("id", "bigint"), Column("n", "int"))
    assert set(catalog.partitions("lake.trips")) == {("oslo",), ("a%2Fb%3Dc",)}
    table.delete_partitions("oslo")
    table.alter(widen={"n": "bigint"}, add={"fare": "double"})
    entry = catalog.find("lake.trips_rt")
    assert entry is not None
    assert Column("n", "bigint") in entry.columns
    assert entry.columns[-1] == Column("fare", "double")
    assert set(catalog.partitions("lake.trips")) == {("a%2Fb%3Dc",)}
    found = hoodoo.open(f"hms://{server}/lake.trips")
    assert found.path == table.path and found.read().count() == 1
    with pytest.raises(NotATableError, match="has no table"):
        hoodoo.open(f"hms://{server}/lake.other")


@pytest.mark.trial
def test_a_change_that_it_refuses_is_said(catalog: HiveCatalog) -> None:
    made = TestHive().table()
    assert catalog.put(made)
    entry = catalog.find("db.t")
    assert entry is not None
    other = (Column("id", "bigint"), Column("name", "int"))
    with pytest.raises(CatalogError, match="refuses the change"):
        catalog.put(evolve(entry, columns=other))


@pytest.mark.trial
@pytest.mark.skipif(VERSION != "4.0.1", reason="3.1.3 compares nothing")
def test_the_server_compares(catalog: HiveCatalog) -> None:
    """Another one updates the entry between the look and the update."""
    assert catalog.put(TestHive().table())
    entry = catalog.find("db.t")
    assert entry is not None
    name = Name.of("db.t")
    with catalog._client("test") as client:
        known = _table(client, name)
        assert catalog.put(evolve(entry, parameters={**entry.parameters, "a": "1"}))
        late = evolve(entry, parameters={**entry.parameters, "a": "late"})
        assert not catalog._replace(client, name, late, known)
    found = catalog.find("db.t")
    assert found is not None and found.parameters["a"] == "1"


@pytest.mark.trial
@pytest.mark.skipif(INSIDE in os.environ, reason="this is the run in the namespace")
def test_the_same_on_the_old_one() -> None:
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        pytest.skip("network namespaces need unshare and ip")
    run = f"ip link set lo up && exec {sys.executable} -m pytest -q -rs {__file__}::TestHive"
    run += f" {__file__}::test_a_table_and_what_becomes_of_it"
    done = subprocess.run(
        ["unshare", "-rn", "sh", "-c", run],
        env={**os.environ, INSIDE: "3.1.3"},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    if "Operation not permitted" in done.stderr or "no Hive Metastore" in done.stdout:
        pytest.skip((done.stderr or done.stdout)[-500:])
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
