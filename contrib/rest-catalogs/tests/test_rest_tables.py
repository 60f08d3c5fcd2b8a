"""Tables in these catalogs: after each action their entries are what the table is, and readers find
by them the rows of the table."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import rest_catalog_stubs as stubs
from cities import SCHEMA, made, trips
from deltalake import DeltaTable
from hoodoo.errors import HoodooWarning, NotATableError
from hoodoo_catalogs.hookspecs.catalog import CatalogError

ROWS = trips(*3 * ["oslo", "rome"])


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOODOO_CATALOG_TOKEN", stubs.TOKEN)


def serving(kind: type[stubs.Stub], *places: str) -> Any:
    """A fixture: host and port of a stub, and its class."""

    @pytest.fixture
    def served() -> Iterator[tuple[str, Any]]:
        with stubs.serving(kind, *places) as found:
            yield found

    return served


polaris, unity = serving(stubs.Polaris), serving(stubs.Unity)
bigquery = serving(stubs.BigQuery, "db")


def listing(path: Path, options: dict[str, str], **arguments: Any) -> hoodoo.Table:
    """A table without a metadata table."""
    return made(path, {"hoodie.metadata.enable": "false", **options}, **arguments)


def test_a_hudi_table_in_polaris(tmp_path: Path, polaris: Any) -> None:
    host, server = polaris
    place = f"polaris://{host}/lake.db.trips"
    table = listing(tmp_path / "t", {"hoodoo.catalogs": place})
    table.upsert(ROWS)
    stored = server.tables["db/trips"]
    assert stored["format"] == "hudi" and stored["base-location"] == table.path
    assert hoodoo.open(place).path == table.path
    assert hoodoo.catalog(f"polaris://{host}").tables() == ("lake.db.trips",)
    with pytest.raises(NotATableError):
        hoodoo.open(f"polaris://{host}/lake.db.other")
    # What changes no column leaves the entry: it would have to be dropped and created.
    server.asked.clear()
    table.upsert(ROWS[:2])
    table.delete([3])
    assert not [asked for asked in server.asked if not asked.startswith("GET")]
    table.alter(add={"more": "string"})
    names = [c.name for c in hoodoo.catalog(f"polaris://{host}").entry("lake.db.trips").columns]
    assert "more" in names and names[:2] == ["id", "n"]
    (done,) = table.sync()
    assert done.skipped and "Polaris" in done.limits[0]


def test_a_table_is_created_in_polaris(tmp_path: Path, polaris: Any) -> None:
    host, server = polaris
    lake = hoodoo.catalog(f"polaris://{host}")
    table = lake.create("lake.db.trips", SCHEMA, f"{tmp_path}/t", record_key="id")
    assert lake.open("lake.db.trips").path == table.path
    other = hoodoo.create(f"{tmp_path}/other", SCHEMA, record_key="id")
    with pytest.raises(CatalogError, match="is the table at"):
        lake.register("lake.db.trips", other.path)
    assert lake.drop("lake.db.trips") and not server.tables


def test_an_entry_that_could_not_be_created_again_comes_back(tmp_path: Path, polaris: Any) -> None:
    host, server = polaris
    table = listing(tmp_path / "t", {"hoodoo.catalogs": f"polaris://{host}/lake.db.trips"})
    table.upsert(ROWS)
    server.fault = lambda call, path: (503, None) if call == "POST" else None
    with pytest.warns(HoodooWarning, match="is not updated"):
        table.alter(add={"more": "string"})  # dropped, and could not be created
    assert not server.tables
    server.fault = None
    table.upsert(ROWS[:1])
    assert server.tables


def test_delta_in_unity(tmp_path: Path, unity: Any) -> None:
    host, server = unity
    place = f"unity://{host}/main.db.trips"
    options = {"hoodoo.open.formats": "delta", "hoodoo.open.catalogs": place}
    table = listing(tmp_path / "t", options)
    table.upsert(ROWS)
    stored = server.tables["main.db.trips"]
    assert (stored["table_type"], stored["data_source_format"]) == ("EXTERNAL", "DELTA")
    location = stored["storage_location"]
    assert DeltaTable(location).to_pyarrow_table().num_rows == len(ROWS)
    assert [c["type_name"] for c in stored["columns"]] == ["LONG", "INT", "TIMESTAMP", "STRING"]
    server.asked.clear()
    table.upsert(ROWS[:2])
    assert not [asked for asked in server.asked if not asked.startswith("GET")]
    table.alter(add={"more": "decimal(10, 2)"})
    names = [c["name"] for c in server.tables["main.db.trips"]["columns"]]
    assert sorted(names) == ["City", "at", "id", "more", "n"]
    assert hoodoo.open(place).path == table.path


def test_unity_has_no_hudi_tables(tmp_path: Path, unity: Any) -> None:
    host, server = unity
    table = listing(tmp_path / "t", {})
    table.upsert(ROWS)
    with pytest.raises(CatalogError, match=r'table\.publish\("delta"'):
        hoodoo.catalog(f"unity://{host}").register("main.db.trips", table.path)
    assert not server.tables
    # The fix of the message works.
    place = f"unity://{host}/main.db.trips"
    assert table.publish("delta", catalog=place, keep=True)[-1] == f"delta={place}"


def listed(server: Any, name: str) -> pa.Table:
    """The rows that a reader of an external table of BigQuery finds: those of the files in the
    list, by the columns of the entry."""
    external = server.tables[name]["externalDataConfiguration"]
    assert external["fileSetSpecType"].endswith("NEW_LINE_DELIMITED_MANIFEST")
    (pattern,) = external["sourceUris"]
    folder = Path(pattern.removeprefix("file://").removesuffix("/*"))
    (file,) = folder.iterdir()
    names = [field["name"] for field in external["schema"]["fields"]]
    parts = []
    for line in file.read_text().splitlines():
        found = pq.ParquetFile(line.removeprefix("file://")).read()
        missing = [n for n in names if n not in found.column_names]
        for lacking in missing:
            found = found.append_column(lacking, pa.nulls(found.num_rows, pa.string()))
        parts.append(found.select(names))
    return pa.concat_tables(parts) if parts else pa.table({n: [] for n in names})


def right(table: hoodoo.Table, names: list[str]) -> list[Any]:
    return sorted(table.read().to_arrow().select(names).to_pylist(), key=lambda r: r["id"])


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_the_list_of_files_in_bigquery(tmp_path: Path, bigquery: Any, kind: str) -> None:
    host, server = bigquery
    place = f"bigquery://{host}/acme.db.trips"
    options = {"hoodoo.open.formats": "manifest", "hoodoo.open.catalogs": place}
    if kind == "MERGE_ON_READ":
        options |= {"hoodoo.open.read.optimized": "true", "hoodie.compact.inline": "false"}
    table = listing(tmp_path / "t", options, table_type=kind)

    def agrees() -> None:
        found = listed(server, "db.trips")
        assert sorted(found.to_pylist(), key=lambda r: r["id"]) == right(table, found.column_names)

    def compacted() -> None:
        if kind == "MERGE_ON_READ":
            table.compact()
        agrees()

    table.upsert(ROWS)
    compacted()
    table.upsert([{**row, "n": 9} for row in ROWS[:3]])
    compacted()
    table.alter(add={"more": "string"})
    table.upsert([{**ROWS[0], "id": 9, "City": "pisa", "more": "x"}])
    compacted()
    table.delete_partitions(["pisa"])
    agrees()
    table.clean(commits_retained=1)
    agrees()
    newest = table.upsert([{**ROWS[0], "id": 10, "City": "pisa", "more": "x"}])
    table.rollback(newest.instant)
    agrees()
    assert hoodoo.open(place).path == table.path


def test_hudis_option_for_bigquery_leads_on(tmp_path: Path) -> None:
    options = {
        "hoodie.datasource.meta.sync.enable": "true",
        "hoodie.meta.sync.client.tool.class": "org.apache.hudi.gcp.bigquery.BigQuerySyncTool",
    }
    with pytest.raises(hoodoo.errors.ConfigError, match=r'table\.publish\("manifest"'):
        listing(tmp_path / "t", options)


@pytest.mark.parametrize("kind", ["polaris", "unity", "bigquery"])
@pytest.mark.parametrize("seed", range(6))
def test_a_catalog_that_fails_at_random(
    tmp_path: Path, request: pytest.FixtureRequest, kind: str, seed: int
) -> None:
    """Before a call, after it, or with an answer that says no: no row is lost, no write is refused,
    and the next action brings the entry up to the table."""
    host, server = request.getfixturevalue(kind)
    if kind == "polaris":
        options = {"hoodoo.catalogs": f"polaris://{host}/lake.db.trips"}
    elif kind == "unity":
        place = f"unity://{host}/main.db.trips"
        options = {"hoodoo.open.formats": "delta", "hoodoo.open.catalogs": place}
    else:
        place = f"bigquery://{host}/acme.db.trips"
        options = {"hoodoo.open.formats": "manifest", "hoodoo.open.catalogs": place}
    chance, failed = random.Random(seed), []

    def fault(call: str, path: str) -> Any:
        if chance.random() < 0.4:
            failed.append(call)
            return chance.choice([(500, None), (503, {}), (403, {}), (429, None), (404, {})])
        return None

    server.fault = fault
    table, expected = listing(tmp_path / "t", options), dict[int, int]()
    for turn in range(12):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HoodooWarning)  # that the entry is behind
            ids = chance.sample(range(12), 3)
            if chance.random() < 0.3:
                table.delete(where=f"id in {tuple(ids)}")
                expected = {k: v for k, v in expected.items() if k not in ids}
            elif turn in (5, 8):
                table.alter(add={f"more{turn}": "string"})
            else:
                table.upsert([{**ROWS[0], "id": n, "n": turn} for n in ids])
                expected |= dict.fromkeys(ids, turn)
    assert {r["id"]: r["n"] for r in table.read().to_arrow().to_pylist()} == expected
    assert failed
    server.fault = None
    table.upsert([{**ROWS[0], "n": 9}])
    (name,) = server.tables
    found = server.tables[name]
    if kind == "polaris":
        columns = json.loads(found["properties"]["hoodoo.columns"])
        columns += json.loads(found["properties"]["hoodoo.partition.columns"])
    elif kind == "unity":
        columns = found["columns"]
    else:
        columns = found["externalDataConfiguration"]["schema"]["fields"]
        rows = listed(server, name).select(["id", "n"]).to_pylist()
        assert {r["id"]: r["n"] for r in rows} == {**expected, 1: 9}
    assert sorted(c["name"] for c in columns) == sorted(table.schema.names)
