"""`hoodoo.catalog`: tables by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, HoodooError, NotATableError, TableExistsError
from hoodoo_catalogs.file import FileCatalog
from hoodoo_catalogs.hookspecs.catalog import CatalogError
from hoodoo_catalogs.places import Place
from hoodoo_cli.commandline import main

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string())])
ROWS = [{"id": 1, "city": "oslo"}, {"id": 2, "city": "rome"}]


def test_created_found_and_dropped(tmp_path: Path) -> None:
    lake = hoodoo.catalog(str(tmp_path / "lake"))
    assert lake.tables() == ()
    table = lake.create("trips", SCHEMA, record_key="id", partition_by="city")
    assert table.path == f"file://{tmp_path}/lake/trips"
    commit = table.upsert(ROWS)
    assert lake.tables() == ("trips",)
    assert lake.open("trips").read().count() == 2
    entry = lake.entry("trips")
    assert [c.name for c in entry.columns] == ["id"]
    assert [c.name for c in entry.partition_keys] == ["city"]
    assert entry.parameters["last_commit_time_sync"] == commit.instant
    with pytest.raises(TableExistsError, match="trips"):
        lake.create("trips", SCHEMA)
    assert lake.drop("trips") and not lake.drop("trips")
    with pytest.raises(NotATableError, match="trips"):
        lake.open("trips")
    # It is a table as before, and no write makes it one of the catalog again.
    again = hoodoo.open(table.path)
    again.upsert(ROWS)
    assert again.read().count() == 2 and lake.tables() == ()


def test_created_again(tmp_path: Path) -> None:
    lake = hoodoo.catalog(str(tmp_path / "lake"))
    for _ in range(2):
        table = lake.create("trips", SCHEMA, record_key="id", exist_ok=True)
        table.upsert(ROWS)
    assert table.read().count() == 2
    lake.create("trips", pa.Table.from_pylist(ROWS, SCHEMA), record_key="id", exist_ok=True)
    hoodoo.catalog(str(tmp_path / "other")).register("mine", table.path)
    lake.create("trips", SCHEMA, f"{tmp_path}/lake/trips/", record_key="id", exist_ok=True)
    with pytest.raises(TableExistsError, match="trips"):
        lake.create("trips", SCHEMA, str(tmp_path / "x"), record_key="id", exist_ok=True)
    # A table that is there, and has no entry, gets one.
    there = hoodoo.create(str(tmp_path / "lake/there"), SCHEMA, record_key="id")
    lake.create("there", SCHEMA, record_key="id", exist_ok=True)
    commit = hoodoo.open(there.path).upsert(ROWS)
    assert lake.entry("there").parameters["last_commit_time_sync"] == commit.instant


def test_the_entry_of_a_damaged_table_is_dropped(tmp_path: Path) -> None:
    lake = hoodoo.catalog(str(tmp_path / "lake"))
    for name, text in (("damaged", "\0no properties"), ("newer", "hoodie.table.version=99\n")):
        lake.create(name, SCHEMA, record_key="id")
        for file in (tmp_path / "lake" / name / ".hoodie").glob("hoodie.properties*"):
            file.write_text(text)
        assert lake.drop(name)
    assert lake.tables() == ()


def test_a_folder_is_noted_with_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    options = {"hoodoo.catalogs": "lake, ./other#trips"}
    hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id", options=options)
    monkeypatch.chdir(tmp_path / "there")
    commit = hoodoo.open(str(tmp_path / "t")).upsert(ROWS)
    assert not list((tmp_path / "there").iterdir())
    for place, name in (("lake", "t"), ("other", "trips")):
        entry = hoodoo.catalog(str(tmp_path / "here" / place)).entry(name)
        assert entry.parameters["last_commit_time_sync"] == commit.instant


def test_any_writer_updates_the_catalog(tmp_path: Path) -> None:
    """The table notes its catalogs: nobody has to name them."""
    lake = hoodoo.catalog(str(tmp_path / "lake"))
    lake.create("db.trips", SCHEMA, record_key="id")
    table = hoodoo.open(str(tmp_path / "lake/db/trips"))
    commit = table.upsert(ROWS)
    assert lake.entry("db.trips").parameters["last_commit_time_sync"] == commit.instant
    table.alter(add={"fare": "double"})
    assert [c.name for c in lake.entry("db.trips").columns] == ["id", "city", "fare"]


def test_a_table_that_is_there_is_registered_in_several(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    table.upsert(ROWS)
    one, two = (hoodoo.catalog(str(tmp_path / name)) for name in ("one", "two"))
    for lake in (one, one, two):
        lake.register("mine", str(tmp_path / "t"))
    noted = hoodoo.open(str(tmp_path / "t")).config.get("hoodoo.catalogs")
    assert noted == f"file://{tmp_path}/one#mine,file://{tmp_path}/two#mine"
    commit = hoodoo.open(str(tmp_path / "t")).upsert(ROWS)
    for lake in (one, two):
        assert lake.entry("mine").parameters["last_commit_time_sync"] == commit.instant
    assert one.drop("mine")
    assert hoodoo.open(str(tmp_path / "t")).config.get("hoodoo.catalogs") == noted.split(",")[1]


def test_two_tables_of_one_name(tmp_path: Path) -> None:
    lake = hoodoo.catalog(str(tmp_path / "lake"))
    lake.create("trips", SCHEMA, record_key="id")
    other = hoodoo.create(str(tmp_path / "other"), SCHEMA, record_key="id")
    with pytest.raises(CatalogError, match="is the table at"):
        lake.register("trips", str(tmp_path / "other"))
    assert hoodoo.open(other.path).config.get("hoodoo.catalogs") is None
    assert lake.entry("trips").location.endswith("lake/trips")


def test_a_name_that_cannot_be_leaves_no_table(tmp_path: Path) -> None:
    lake = hoodoo.catalog(str(tmp_path / "lake"))
    for name in ("a b", "../up", "", "a/b"):
        with pytest.raises(ConfigError):
            lake.create(name, SCHEMA, record_key="id")
    assert lake.tables() == ()
    assert not [p for p in tmp_path.rglob("hoodie.properties")]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("glue://", ("glue", "glue://", None)),
        ("glue://db.trips", ("glue", "glue://", "db.trips")),
        ("hms://host:9083", ("hms", "hms://host:9083", None)),
        ("hms://host:9083/db.trips", ("hms", "hms://host:9083", "db.trips")),
        ("hms://host/", ("hms", "hms://host", None)),
        ("hms://host/a.b.c", ("hms", "hms://host", "a.b.c")),
        ("s3://lake", ("file", "s3://lake", None)),
        ("s3://lake/x/#db.trips", ("file", "s3://lake/x", "db.trips")),
        ("/a#b/lake", ("file", "file:///a#b/lake", None)),
    ],
)
def test_places(text: str, wanted: tuple[Any, ...]) -> None:
    found = Place.of(text)
    assert (found.plugin, found.uri, found.table) == wanted
    assert Place.of(str(found)) == found


def test_a_table_that_lies_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is listed, and the name that errors show leads to it."""
    lake = hoodoo.catalog(f"{tmp_path}/lake")
    table = hoodoo.create(tmp_path / "elsewhere", [{"id": 1}], record_key="id")
    lake.register("rides", table.path)
    lake.create("here", pa.schema([("id", pa.int64())]), record_key="id")
    hoodoo.create(tmp_path / "lake" / "plain", [{"id": 1}], record_key="id")
    with pytest.raises(SystemExit) as ended:
        main(["ls", f"{tmp_path}/lake", "--json"])
    assert not ended.value.code
    found = {one["name"]: one["path"] for one in json.loads(capsys.readouterr().out)}
    assert found == {
        name: f"file://{tmp_path}/{where}"
        for name, where in {
            "rides": "elsewhere",
            "here": "lake/here",
            "plain": "lake/plain",
        }.items()
    }
    for call in (hoodoo.open, hoodoo.catalog):
        with pytest.raises(HoodooError) as caught:
            call(f"{tmp_path}/lake#rides")
        assert f"hoodoo.catalog('file://{tmp_path}/lake').open('rides')" in caught.value.fix
    assert table.path in hoodoo_error(lambda: hoodoo.open(f"{tmp_path}/lake#rides"))
    assert "rides" not in hoodoo_error(lambda: hoodoo.open(f"{tmp_path}/lake#none")).split("Fix")[1]


@pytest.mark.parametrize("folder", ["lake", "of#2026", "of#2026/"])
def test_tables_of_a_catalog_are_listed_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], folder: str
) -> None:
    """Through links, and in folders whose names look like those of tables."""
    lake = hoodoo.catalog(f"{tmp_path}/{folder.rstrip('/')}/")
    lake.create("trips", SCHEMA, record_key="id")
    lake.register("rides", hoodoo.create(tmp_path / "rides", SCHEMA, record_key="id").path)
    (tmp_path / "link").symlink_to(tmp_path / folder, target_is_directory=True)
    for place in (f"{tmp_path}/{folder}", f"{tmp_path}/link"):
        with pytest.raises(SystemExit) as ended:
            main(["ls", place, "--json"])
        assert not ended.value.code
        listed = [one["name"] for one in json.loads(capsys.readouterr().out)]
        assert listed == ["rides", "trips"], place


def test_a_catalog_that_can_not_be_read_hides_no_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hoodoo.create(tmp_path / "trips", SCHEMA, record_key="id")

    def denied(_self: object) -> None:
        raise CatalogError("catalog", "can't be listed: Permission denied.", "Ask for the right.")

    monkeypatch.setattr(FileCatalog, "tables", denied)
    with pytest.raises(SystemExit) as ended:
        main(["ls", str(tmp_path), "--json"])
    assert ended.value.code == 1
    listed = {one["name"]: one["state"] for one in json.loads(capsys.readouterr().out)}
    assert listed == {"catalog": "unreachable", "trips": "ok"}


def hoodoo_error(call: Any) -> str:
    with pytest.raises(HoodooError) as caught:
        call()
    return str(caught.value)


def test_a_folder_names_its_tables_and_not_its_catalog(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "lake"
    lake = hoodoo.catalog(str(place))
    lake.create("trips", "id bigint", record_key="id")
    lake.register("too", str(place / "trips"))
    with pytest.raises(NotATableError) as caught:
        hoodoo.open(place)
    assert caught.value.rule.endswith("it is a directory of Hudi tables: trips.")
    assert caught.value.fix == f'Open one of them: hoodoo.open("{place}/trips").'
    with pytest.raises(SystemExit):
        main(["doctor", str(place), "--no-probe"])
    assert "/.hoodoo-catalog" not in capsys.readouterr().out
