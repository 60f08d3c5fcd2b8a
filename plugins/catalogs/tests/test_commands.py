"""`hoodoo sync`, and `hoodoo ls` of a catalog."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from attrs import evolve
from hoodoo_catalogs import participant
from hoodoo_catalogs.hookspecs.catalog import CatalogTable
from hoodoo_cli.commandline import main

SCHEMA = pa.schema([("id", pa.int64())])
ROWS = [{"id": 1}]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    def call(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as caught:
            main(list(arguments))
        return int(caught.value.code or 0), capsys.readouterr().out

    return call


Run = Callable[..., tuple[int, str]]


def test_sync(tmp_path: Path, fake: list[Any], run: Run) -> None:
    path = str(tmp_path / "t")
    table = hoodoo.create(path, SCHEMA, record_key="id")
    assert "in no catalog" in run("sync", path)[1]
    table.upsert(ROWS)
    given = ("-o", "hoodoo.catalogs=fake://db.t")
    assert "fake:// db.t: created" in run("sync", path, *given)[1]
    (again,) = json.loads(run("sync", path, *given, "--json")[1])
    assert again["skipped"] and again["name"] == "db.t"
    assert participant._running == {}


def test_tables_of_a_catalog_are_listed(tmp_path: Path, fake: list[Any], run: Run) -> None:
    options = {"hoodoo.catalogs": "fake://db.t"}
    hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id", options=options).upsert(ROWS)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/f.parquet").touch()
    fake[0].put(CatalogTable("db.other", str(tmp_path / "other")))
    gone = evolve(fake[0].find("db.t"), name="db.z", location=f"{tmp_path}/none", version=None)
    fake[0].put(gone)
    code, out = run("ls", "fake://", "--json")
    found = json.loads(out)
    assert code == 1  # one of them is not there
    assert [one["name"] for one in found] == ["db.t", "db.z"]
    assert found[0]["state"] == "ok" and "does not exist" in found[1]["error"]
