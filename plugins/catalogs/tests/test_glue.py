"""AWS Glue, on moto: the contract, entries as Hudi's sync tool makes them, names in the place of
paths."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import evolve
from botocore.exceptions import ClientError
from cities import SCHEMA, made, trips
from glue_server import glue_client
from hoodoo.errors import HoodooWarning, NotATableError, TableExistsError
from hoodoo_catalogs.glue import GlueCatalog
from hoodoo_catalogs.hookspecs.catalog import CatalogError
from hoodoo_catalogs.testing.catalog import CatalogContract
from hoodoo_cli.commandline import main

ROWS = trips("oslo", "rome")


@pytest.fixture(autouse=True)
def glue(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    yield from glue_client(monkeypatch)


class TestGlue(CatalogContract):
    @pytest.fixture
    def catalog(self, glue: Any) -> GlueCatalog:
        return GlueCatalog(glue, {})


def test_entries_as_hudis_sync_tool_makes_them(tmp_path: Path, glue: Any) -> None:
    options = {
        "hoodie.datasource.meta.sync.enable": "true",
        "hoodie.meta.sync.client.tool.class": "org.apache.hudi.aws.sync.AwsGlueCatalogSyncTool",
        "hoodie.datasource.hive_sync.database": "Lake",
        "hoodie.datasource.hive_sync.table": "trips",
    }
    table = made(tmp_path / "t", options, table_type="MERGE_ON_READ")
    commit = table.upsert(ROWS)
    found = {t["Name"]: t for t in glue.get_tables(DatabaseName="lake")["TableList"]}
    assert sorted(found) == ["trips", "trips_ro", "trips_rt"]
    for name, entry in found.items():
        stored = entry["StorageDescriptor"]
        realtime = "realtime.HoodieParquetRealtimeInputFormat"
        wanted = "HoodieParquetInputFormat" if name == "trips_ro" else realtime
        assert stored["InputFormat"] == f"org.apache.hudi.hadoop.{wanted}"
        as_ro = stored["SerdeInfo"]["Parameters"]["hoodie.query.as.ro.table"]
        assert as_ro == ("true" if name == "trips_ro" else "false")
        assert [c["Name"] for c in stored["Columns"]][-3:] == ["id", "n", "at"]
        assert stored["Columns"][-1]["Type"] == "bigint"
        assert [c["Name"] for c in entry["PartitionKeys"]] == ["city"]
        assert entry["Parameters"]["last_commit_time_sync"] == commit.instant
        assert entry["Parameters"]["spark.sql.sources.provider"] == "hudi"
        paths = glue.get_partitions(DatabaseName="lake", TableName=name)["Partitions"]
        assert sorted(p["Values"] for p in paths) == [["oslo"], ["rome"]]
    table.delete_partitions("oslo")
    table.alter(add={"fare": "double"})
    entry = glue.get_table(DatabaseName="lake", Name="trips")["Table"]
    assert entry["StorageDescriptor"]["Columns"][-1] == {"Name": "fare", "Type": "double"}
    paths = glue.get_partitions(DatabaseName="lake", TableName="trips")["Partitions"]
    assert [p["Values"] for p in paths] == [["rome"]]


def test_a_name_in_the_place_of_a_path(tmp_path: Path, glue: Any) -> None:
    place = {"Name": "lake", "LocationUri": f"file://{tmp_path}/lake"}
    glue.create_database(DatabaseInput=place)
    lake = hoodoo.catalog("glue://")
    lake.create("lake.trips", SCHEMA, record_key="id").upsert(ROWS)
    table = hoodoo.open("glue://lake.trips")
    assert table.path == f"file://{tmp_path}/lake/trips" and table.read().count() == 2
    table.upsert([{**ROWS[0], "id": 3}])
    assert lake.tables() == ("lake.trips",) and lake.open("lake.trips").read().count() == 3
    with pytest.raises(NotATableError, match=r"glue://lake\.other: the catalog has no table"):
        hoodoo.open("glue://lake.other")


@pytest.mark.sampled(1, among="long")
def test_new_tables_by_their_names(tmp_path: Path, glue: Any) -> None:
    place = {"Name": "lake", "LocationUri": f"file://{tmp_path}/lake"}
    glue.create_database(DatabaseInput=place)
    lake = hoodoo.catalog("glue://")
    table = hoodoo.create("glue://lake.trips", SCHEMA, record_key="id", exist_ok=True)
    assert lake.tables() == ("lake.trips",) and table.config.name == "trips"
    commit = table.upsert(ROWS)
    assert lake.entry("lake.trips").parameters["last_commit_time_sync"] == commit.instant
    again = hoodoo.create("glue://lake.trips", SCHEMA, record_key="id", exist_ok=True)
    assert again.path == f"file://{tmp_path}/lake/trips" and again.read().count() == 2
    with pytest.raises(TableExistsError):
        hoodoo.create("glue://lake.trips", SCHEMA, record_key="id")
    (tmp_path / "plain").mkdir()
    source = tmp_path / "plain/a.parquet"
    pq.write_table(pa.table({"id": [1, 2]}), source)
    for arguments in (
        ["create", "glue://lake.empty", "--schema", "id bigint", "--record-key", "id"],
        ["convert", str(source.parent), "glue://lake.converted", "--record-key", "id"],
        ["import", "glue://lake.imported", str(source), "--record-key", "id"],
        ["sql", "SELECT count(*) FROM t", "t=glue://lake.imported"],
        ["serve", "glue://lake.imported", "--once"],
    ):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert not caught.value.code, arguments
    names = ("converted", "empty", "imported", "trips")
    assert lake.tables() == tuple(f"lake.{name}" for name in names)
    # A table that lies where this name would be is not in the catalog.
    hoodoo.create(f"{tmp_path}/lake/there", SCHEMA, record_key="id")
    with pytest.raises(NotATableError, match=r"glue://lake\.there: the catalog has no table"):
        hoodoo.open("glue://lake.there")
    with pytest.raises(TableExistsError):
        hoodoo.create("glue://lake.there", SCHEMA, record_key="id")


@pytest.mark.parametrize("how", ["create", "convert", "import", "lake"])
def test_a_table_whose_entry_is_refused_is_named(
    tmp_path: Path,
    glue: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    how: str,
) -> None:
    """A right to look at entries, and none to make them: the sentence leads on from there."""
    glue.create_database(DatabaseInput={"Name": "lake", "LocationUri": f"file://{tmp_path}/lake"})
    (tmp_path / "plain").mkdir()
    source, name, path = tmp_path / "plain/a.parquet", "glue://lake.t", f"{tmp_path}/lake/t"
    pq.write_table(pa.table({"id": [1, 2]}), source)
    calls = {
        "create": lambda: hoodoo.create(name, [{"id": 1}, {"id": 2}], record_key="id"),
        "convert": lambda: hoodoo.convert(str(source.parent), name, record_key="id"),
        "import": lambda: main(["import", name, str(source), "--record-key", "id"]),
        "lake": lambda: hoodoo.catalog("glue://").create("lake.t", "id bigint", record_key="id"),
    }

    def denied(**arguments: Any) -> Any:
        error = {"Error": {"Code": "AccessDeniedException", "Message": "no"}}
        raise ClientError(error, "CreateTable")

    with monkeypatch.context() as patch:
        patch.setattr(glue, "create_table", denied)
        patch.setattr("hoodoo_catalogs.glue.GlueCatalog.from_settings", lambda _: seen)
        seen = GlueCatalog(glue, {})
        with pytest.raises((CatalogError, SystemExit)) as caught:
            calls[how]()
        said = " ".join([str(caught.value), *capsys.readouterr().err.split()])
        assert f"table is there: {path}." in said and "AccessDenied" in said, said
        assert f"Then hoodoo.open({path!r}).sync()" in said
        with pytest.raises(CatalogError, match="AccessDenied"):
            hoodoo.open(path).sync()
    (done,) = hoodoo.open(path).sync()
    assert done.created and hoodoo.open(name).path == f"file://{path}"
    if how == "import":
        with pytest.raises(SystemExit) as caught:
            calls[how]()
        assert not caught.value.code
    else:
        hoodoo.create(name, [{"id": 1}, {"id": 2}], record_key="id", exist_ok=True)
    assert hoodoo.open(name).read().count() == 2


@pytest.mark.sampled(1, among="long")
def test_many_partitions(tmp_path: Path, glue: Any) -> None:
    table = made(tmp_path / "t", {"hoodoo.catalogs": "glue://lake.t"})
    table.bulk_insert(trips(*(f"c{n}" for n in range(230))))
    assert len(GlueCatalog(glue, {}).partitions("lake.t")) == 230


@pytest.mark.sampled(1, among="long")
def test_no_right_and_no_entry_are_two(glue: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = GlueCatalog(glue, {})
    assert catalog.find("lake.t") is None

    def denied(**arguments: Any) -> Any:
        raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "GetTable")

    monkeypatch.setattr(glue, "get_table", denied)
    with pytest.raises(CatalogError, match="may exist: give the user"):
        catalog.find("lake.t")


def test_without_a_region_the_commit_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    table = made(tmp_path / "t", {"hoodoo.catalogs": "glue://lake.t"})
    with pytest.warns(HoodooWarning, match="region"):
        table.upsert(ROWS)
    assert table.read().count() == 2


def test_a_stale_version_is_refused_by_the_server(glue: Any) -> None:
    """Glue's own check, which moto lacks."""
    catalog = GlueCatalog(glue, {})
    assert catalog.put(TestGlue().table())
    entry = catalog.find("db.t")
    assert entry is not None

    class Refuses:
        def __getattr__(self, name: str) -> Any:
            return getattr(glue, name)

        def update_table(self, **arguments: Any) -> Any:
            assert arguments["VersionId"] == entry.version and arguments["SkipArchive"]
            code = "ConcurrentModificationException"
            raise ClientError({"Error": {"Code": code, "Message": "another"}}, "UpdateTable")

    assert not GlueCatalog(Refuses(), {}).put(evolve(entry, parameters={}))
