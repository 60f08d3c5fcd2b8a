"""Field ids of new base files: those of the Iceberg metadata, so that readers need no names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import ConfigError
from hoodoo.options.table import FIELD_IDS
from open_readers import SCHEMA, check, iceberg, shown, some_rows, texts

ICEBERG = {"hoodoo.open.formats": "iceberg,delta", "hoodie.metadata.enable": "false"}


def newest(path: Path) -> Path:
    return max(path.rglob("*.parquet"), key=lambda file: (file.stat().st_mtime_ns, file.name))


def metadata(path: Path) -> dict[str, Any]:
    version = (path / "metadata/version-hint.text").read_text()
    found: dict[str, Any] = json.loads((path / f"metadata/v{version}.metadata.json").read_text())
    return found


def without_names(path: Path, folder: Path) -> pa.Table:
    """What a reader finds that has no name mapping."""
    found = metadata(path)
    del found["properties"]["schema.name-mapping.default"]
    target = folder / "x.metadata.json"
    target.write_text(json.dumps(found))
    return iceberg(str(target))


def lacking(file: Path) -> list[str]:
    """Columns without an id; the levels of lists and maps have none."""
    lines = str(pq.ParquetFile(file).schema).splitlines()[2:]
    return [one for one in lines if "field_id=-1" in one and "repeated group" not in one]


def test_new_files_have_the_ids_of_iceberg(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = hoodoo.create(str(path), SCHEMA, record_key="id", partition_by="place", options=ICEBERG)
    table.upsert(some_rows(range(9), 1))
    check(table)
    assert not lacking(newest(path))
    table.alter(add={"more": "string"})
    table.upsert(some_rows(range(4), 3, table.schema))
    assert not lacking(newest(path))
    table.cluster(order="linear", columns=["id"])
    assert not lacking(newest(path))
    check(table)
    assert texts(without_names(path, tmp_path), table.schema.names) == shown(table)
    ids = json.loads(hoodoo.open(str(path)).config.properties[FIELD_IDS])
    assert {
        f["name"]: f["id"] for f in metadata(path)["schemas"][-1]["fields"]
    }.items() <= ids.items()
    assert table.verify().ok


def test_ids_come_with_the_format(tmp_path: Path) -> None:
    """Files from before have none: readers know their columns by names."""
    path = tmp_path / "t"
    table = hoodoo.create(str(path), SCHEMA, record_key="id")
    table.insert(some_rows(range(4), 1))
    table.publish("iceberg")
    assert FIELD_IDS not in table.config.properties and lacking(newest(path))
    table.publish("iceberg,delta", keep=True)
    table.insert(some_rows(range(10, 14), 2))
    assert FIELD_IDS in hoodoo.open(str(path)).config.properties
    table.bulk_insert(some_rows(range(20, 24), 3))
    assert not lacking(newest(path))
    check(table)


def test_metadata_that_is_made_again_has_the_same_ids(tmp_path: Path) -> None:
    import shutil

    path = tmp_path / "t"
    schema = pa.schema([("b", pa.int64()), ("a", pa.string())])
    table = hoodoo.create(str(path), schema, record_key="b", options=ICEBERG)
    table.upsert([{"b": 1, "a": "x"}])
    table.alter(add={"n": "int"})
    before = metadata(path)["schemas"][-1]["fields"]
    shutil.rmtree(path / "metadata")
    table.upsert([{"b": 2, "a": "y", "n": 5}])
    assert metadata(path)["schemas"][-1]["fields"] == before
    assert sorted(without_names(path, tmp_path)["n"].to_pylist(), key=str) == [5, None]
    shutil.move(path, tmp_path / "moved")
    moved = hoodoo.open(str(tmp_path / "moved"))
    moved.publish()
    assert texts(without_names(tmp_path / "moved", tmp_path), ["b", "a", "n"]) == shown(moved)


def test_rows_that_are_copied_in_place_keep_ids(tmp_path: Path) -> None:
    path = tmp_path / "t"
    schema = pa.schema([("id", pa.int64()), ("x", pa.float64()), ("y", pa.float64())])
    table = hoodoo.create(
        str(path), schema, record_key="id", options={**ICEBERG, "hoodoo.open.formats": "iceberg"}
    )
    chance = np.random.default_rng(1)
    count = 60_000
    table.upsert(
        pa.table({"id": range(count), "x": chance.random(count), "y": chance.random(count)})
    )
    table.upsert([{"id": 5, "x": 1.0, "y": 2.0}])
    assert not lacking(newest(path))
    found = without_names(path, tmp_path)
    assert found.sort_by("id").equals(
        table.read().to_arrow().select(["id", "x", "y"]).sort_by("id")
    )


def test_a_damaged_property_is_named(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id", options=ICEBERG)
    table.handle.change_properties({FIELD_IDS: "[1]"})
    with pytest.raises(ConfigError, match=r"hoodoo\.parquet\.field\.ids.*no JSON object"):
        table.upsert(some_rows(range(2), 1))
    table.handle.change_properties({FIELD_IDS: '{"id": 1}'})  # files have all ids, or none
    table.upsert(some_rows(range(2), 1))
    assert len(lacking(newest(tmp_path / "t"))) > 10
    check(table)
