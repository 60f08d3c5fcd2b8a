"""Entries for readers of other formats: in AWS Glue (moto), in the file catalog, and in catalogs of
Iceberg (SQL, and REST by a stub), beside a catalog that fails."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from glue_server import glue_client
from hoodoo.errors import ConfigError, HoodooWarning, PluginError
from hoodoo.kernel.registry import kernel
from hoodoo_catalogs.hookspecs.catalog import CatalogError
from hoodoo_publishing.catalogs.faces import Face, faces
from open_readers import SCHEMA, some_rows, texts
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.glue import GlueCatalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from rest_catalog import rest_catalog

NAMES = SCHEMA.names
BOTH = {"hoodoo.open.formats": "iceberg,delta"}


@pytest.fixture
def glue(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    yield from glue_client(monkeypatch)


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SqlCatalog:
    """The catalog ``lake`` of pyiceberg's configuration."""
    uri, warehouse = f"sqlite:///{tmp_path}/lake.db", f"file://{tmp_path}/warehouse"
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", uri)
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", warehouse)
    return SqlCatalog("lake", uri=uri, warehouse=warehouse)


def made(path: Path, **options: str) -> hoodoo.Table:
    given = {**BOTH, "hoodie.metadata.enable": "false", **options}
    return hoodoo.create(str(path), SCHEMA, record_key="id", options=given)


def right(table: hoodoo.Table) -> list[str]:
    return texts(table.read().to_arrow(), table.schema.names)


@pytest.mark.sampled(1, among="long")
def test_iceberg_and_delta_in_glue(tmp_path: Path, glue: Any) -> None:
    places = "iceberg=glue://Lake.trips, delta=glue://lake.trips_delta"
    table = made(tmp_path / "t", **{"hoodoo.open.catalogs": places})
    reader = GlueCatalog("glue")
    for value in (1, 2):
        newest = table.upsert(some_rows(range(5), value))
        found = reader.load_table("lake.trips")
        assert texts(found.scan().to_arrow(), NAMES) == right(table)
        assert found.current_snapshot().summary["hoodoo.instant"] == newest.instant
    table.alter(add={"more": "string"})
    entries = {t["Name"]: t for t in glue.get_tables(DatabaseName="lake")["TableList"]}
    for entry in entries.values():
        columns = [c["Name"] for c in entry["StorageDescriptor"]["Columns"]]
        assert columns == [*(n.lower() for n in NAMES), "more"] and not entry["PartitionKeys"]
    iceberg, delta = (entries[name]["Parameters"] for name in ("trips", "trips_delta"))
    assert iceberg["table_type"] == "ICEBERG"
    assert iceberg["metadata_location"].endswith("/metadata/v3.metadata.json")
    assert iceberg["previous_metadata_location"].endswith("/metadata/v2.metadata.json")
    assert delta["spark.sql.sources.provider"] == "delta"
    assert entries["trips_delta"]["StorageDescriptor"]["Location"] == table.path
    assert hoodoo.open("glue://lake.trips").path == table.path
    table.rollback(table.upsert(some_rows(range(3), 9, table.schema)).instant)
    assert texts(reader.load_table("lake.trips").scan().to_arrow(), NAMES) == texts(
        table.read().to_arrow(), NAMES
    )


@pytest.mark.sampled(1, among="long")
def test_a_hudi_entry_stays(tmp_path: Path, glue: Any) -> None:
    table = made(tmp_path / "t", **{"hoodoo.catalogs": "glue://db.t"})
    table.upsert(some_rows(range(3), 1))
    with pytest.raises(CatalogError, match="shows the table as hudi, not as iceberg"):
        table.publish("iceberg", catalog="glue://db.t")
    assert table.publish("iceberg", catalog="glue://db.t_iceberg") == (
        "iceberg=glue://db.t_iceberg",
    )
    assert table.publish("iceberg", catalog="glue://db.t_iceberg") == ()
    found = glue.get_table(DatabaseName="db", Name="t_iceberg")["Table"]
    found["Parameters"]["metadata_location"] = "s3://elsewhere/metadata/v1.metadata.json"
    said = {key: found[key] for key in ("Name", "Parameters", "StorageDescriptor", "TableType")}
    glue.update_table(DatabaseName="db", TableInput=said)
    with pytest.raises(PluginError, match="which another program wrote"):
        table.publish("iceberg", catalog="glue://db.t_iceberg")


def test_the_file_catalog_shows_other_formats(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.upsert(some_rows(range(3), 1))
    table.publish("delta", catalog=f"{tmp_path}/lake#t_delta")
    entry = hoodoo.catalog(f"{tmp_path}/lake").entry("t_delta")
    assert entry.provider == "delta" and [c.name for c in entry.columns] == NAMES


@pytest.mark.parametrize(
    ("form", "place"),
    [
        ("delta", "unity://h/main.db.t"),
        ("manifest", "bigquery://a.b.c"),
        ("delta", "polaris://a.b"),
    ],
)
def test_what_brings_a_catalog_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, place: str
) -> None:
    """Where hoodoo-rest-catalogs is not installed."""
    monkeypatch.setenv("HOODOO_DISABLE", "rest_catalogs")
    kernel.cache_clear()
    try:
        table = made(tmp_path / "t", **{"hoodoo.open.formats": form})
        table.upsert(some_rows(range(3), 1))
        with pytest.raises(ConfigError, match=r"pip install hoodoo-rest-catalogs\.$"):
            table.publish(form, catalog=place)
        with pytest.raises(ConfigError, match=r"pip install hoodoo-rest-catalogs\.$"):
            hoodoo.catalog(f"{place.partition('/')[0]}//h")
        with pytest.warns(HoodooWarning, match=r"pip install hoodoo-rest-catalogs\."):
            hoodoo.open(table.path, {"hoodoo.catalogs": place}).upsert(some_rows(range(3), 2))
    finally:
        kernel.cache_clear()


@pytest.fixture(params=["sql", "rest"])
def own(request: Any, lake: SqlCatalog, monkeypatch: pytest.MonkeyPatch) -> Iterator[Catalog]:
    """A catalog of Iceberg's own, which is ``lake`` as well."""
    if request.param == "sql":
        yield lake
        return
    with rest_catalog() as uri:
        monkeypatch.delenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE")
        monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", uri)
        yield RestCatalog("lake", uri=uri)


@pytest.mark.sampled(1, among="long")
def test_a_catalog_of_iceberg_follows(tmp_path: Path, own: Catalog) -> None:
    table = made(tmp_path / "t", **{"hoodoo.open.catalogs": "iceberg=iceberg://lake/db.trips"})
    lake = own

    def check() -> None:
        found = lake.load_table("db.trips")
        names = [n for n in table.schema.names]
        assert texts(found.scan().to_arrow(), names) == right(table)
        published = json.loads(newest.read_text()) if (newest := newest_file()) else {}
        listed = {s["snapshot-id"] for s in published["snapshots"]}
        assert {s.snapshot_id for s in found.metadata.snapshots} == listed
        for snapshot in found.metadata.snapshots:
            found.scan(snapshot_id=snapshot.snapshot_id).to_arrow()

    def newest_file() -> Path:
        version = (tmp_path / "t/metadata/version-hint.text").read_text()
        return tmp_path / f"t/metadata/v{version}.metadata.json"

    for value in range(1, 4):
        table.upsert(some_rows(range(6), value))
        check()
    table.alter(add={"more": "string"})
    table.upsert(some_rows(range(3), 4, table.schema))
    check()
    assert table.clean(commits_retained=1).instant
    check()
    table.rollback(table.upsert(some_rows(range(8), 5, table.schema)).instant)
    check()
    assert table.publish() == ()
    assert table.verify().ok


def test_a_catalog_catches_up(tmp_path: Path, lake: SqlCatalog) -> None:
    table = made(tmp_path / "t")
    for value in (1, 2):
        table.upsert(some_rows(range(4), value))
    assert table.publish("iceberg", catalog="iceberg://lake/db.t") == (
        "iceberg=iceberg://lake/db.t",
    )
    for value in (3, 4):
        table.upsert(some_rows(range(4), value))
    assert len(lake.load_table("db.t").metadata.snapshots) == 2
    table.publish("delta,iceberg", catalog="iceberg=iceberg://lake/db.t", keep=True)
    assert len(lake.load_table("db.t").metadata.snapshots) == 4
    hoodoo.open(str(tmp_path / "t")).upsert(some_rows(range(4), 5))
    assert texts(lake.load_table("db.t").scan().to_arrow(), NAMES) == right(table)
    table.publish("", keep=True)
    assert "hoodoo.open.catalogs" not in hoodoo.open(str(tmp_path / "t")).config.properties


def test_what_others_wrote_is_not_lost(tmp_path: Path, lake: SqlCatalog) -> None:
    table = made(tmp_path / "t")
    table.upsert(some_rows(range(4), 1))
    table.publish("iceberg", catalog="iceberg://lake/db.t")
    lake.load_table("db.t").delete("id = 1")
    with pytest.raises(PluginError, match="changed by another program"):
        table.publish("iceberg", catalog="iceberg://lake/db.t")
    other = made(tmp_path / "other")
    other.upsert(some_rows(range(2), 1))
    with pytest.raises(PluginError, match="is the table at"):
        other.publish("iceberg", catalog="iceberg://lake/db.t")


@pytest.mark.sampled(1, among="long")
def test_a_catalog_that_fails_delays_no_commit(
    tmp_path: Path, lake: SqlCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = {"hoodoo.open.catalogs": "iceberg=iceberg://lake/db.t"}
    table = made(tmp_path / "t", **places, **{"hoodoo.open.catalogs.wait": "0.3"})
    with monkeypatch.context() as patch:
        patch.setattr(SqlCatalog, "load_table", lambda *given: 1 / 0)
        with pytest.warns(HoodooWarning, match=r"iceberg://lake/db\.t is not updated.*division"):
            assert table.upsert(some_rows(range(4), 1)).instant
    with monkeypatch.context() as patch:
        load = SqlCatalog.load_table

        def slow(*given: Any) -> Any:
            time.sleep(1.5)
            return load(*given)

        patch.setattr(SqlCatalog, "load_table", slow)
        begin = time.monotonic()
        with pytest.warns(HoodooWarning, match="takes longer than the action may wait"):
            table.upsert(some_rows(range(4), 2))
        assert time.monotonic() - begin < 1.4
        time.sleep(2)
    table.upsert(some_rows(range(4), 3))
    assert texts(lake.load_table("db.t").scan().to_arrow(), NAMES) == right(table)


def test_places_that_are_refused(tmp_path: Path) -> None:
    assert faces(["glue://a.b", "iceberg=glue://a.b"], ["iceberg"]) == (
        Face("iceberg", "glue://a.b"),
    )
    for text, why in (
        ("glue://a.b", "does not name a format"),
        ("orc=glue://a.b", "does not name a format"),
        ("delta=iceberg://lake/a.b", "of Iceberg tables alone"),
    ):
        with pytest.raises(ConfigError, match=why):
            made(tmp_path / "t", **{"hoodoo.open.catalogs": text})
    table = made(tmp_path / "t")
    table.upsert(some_rows(range(2), 1))
    for place, why in (
        ("iceberg://nowhere/a.b", "has no catalog nowhere"),
        ("iceberg://lake", "names no catalog of pyiceberg, or no table"),
        ("glue://", "without the name"),
    ):
        with pytest.raises(ConfigError, match=why):
            table.publish("iceberg", catalog=place)
    assert pa.types.is_integer(table.schema.field("id").type)
