"""Tables as Flink lays them out are read, written, compacted and cleaned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import flink_tables
import hoodoo
import pyarrow as pa
import pytest
from flink_tables import BUCKETS, TABLES, instant
from hoodoo.errors import ConfigError, HoodooError

INDEX = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": str(BUCKETS)}
KEYED = [name for name in TABLES if name != "appended"]
MERGED = [name for name in KEYED if name != "buckets_cow"]


def left(table: hoodoo.Table) -> dict[str, int]:
    found = table.read(columns=["id", "v"]).to_arrow().to_pydict()
    assert len(found["id"]) == len(set(found["id"]))
    return dict(zip(found["id"], found["v"], strict=True))


def writes(path: Path) -> hoodoo.Table:
    return hoodoo.open(str(path), {**INDEX, "hoodie.clean.automatic": "false"})


@pytest.mark.parametrize("name", TABLES)
def test_rows_are_read(tmp_path: Path, name: str) -> None:
    rows = TABLES[name](tmp_path / "t")
    table = hoodoo.open(str(tmp_path / "t"))
    assert left(table) == rows
    assert table.read(meta=True).to_arrow().num_rows == len(rows)
    assert table.read().count() == len(rows)
    assert [f for f in table.verify().findings] == []


@pytest.mark.parametrize("name", [n for n in TABLES if n != "changelog"])
def test_the_independent_reader_reads_the_same(
    tmp_path: Path, name: str, oracle: Callable[..., pa.Table | None]
) -> None:
    """But for changelogs: it does not know the column, and takes deletes for rows."""
    rows = TABLES[name](tmp_path / "t")
    found = oracle(tmp_path / "t")
    assert found is not None
    assert dict(zip(found["id"].to_pylist(), found["v"].to_pylist(), strict=True)) == rows


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", KEYED)
def test_upserts_and_deletes_go_into_the_groups_of_flink(tmp_path: Path, name: str) -> None:
    path = tmp_path / "t"
    rows = TABLES[name](path)
    groups = _groups(path)
    table = writes(path)
    table.upsert([{"id": "k3", "v": 303, "ts": 50}, {"id": "k99", "v": 99, "ts": 50}])
    table.delete(pa.table({"id": ["k4"]}))
    rows = {**rows, "k3": 303, "k99": 99}
    del rows["k4"]
    assert left(table) == rows
    assert _groups(path) == groups
    assert left(hoodoo.open(str(path))) == rows
    assert hoodoo.open(str(path)).verify().ok


def _groups(path: Path) -> set[str]:
    files = [f.name for f in path.iterdir() if ".parquet" in f.name or ".log." in f.name]
    return {name.removeprefix(".").split("_")[0] for name in files}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", MERGED)
def test_compacted_and_cleaned(tmp_path: Path, name: str) -> None:
    path = tmp_path / "t"
    rows = TABLES[name](path)
    table = writes(path)
    table.compact()
    assert left(table) == rows
    compacted = table.read(columns=["id", "v"], mode="read_optimized").to_arrow().to_pydict()
    assert dict(zip(compacted["id"], compacted["v"], strict=True)) == rows
    for n in range(3):
        table.upsert([{"id": "k5", "v": 500 + n, "ts": 60 + n}])
        table.compact()
    cleaned = hoodoo.open(str(path), {**INDEX, "hoodie.clean.commits.retained": "1"})
    cleaned.clean()
    assert left(cleaned) == {**rows, "k5": 502}
    assert not [f for f in path.iterdir() if f".log.1_{flink_tables.TOKEN}" in f.name]
    assert cleaned.verify().ok


def test_copied_on_write_and_cleaned(tmp_path: Path) -> None:
    path = tmp_path / "t"
    rows = flink_tables.buckets_cow(path)
    table = writes(path)
    for n in range(3):
        table.upsert([{"id": "k5", "v": 500 + n, "ts": 60 + n}])
    cleaned = hoodoo.open(str(path), {**INDEX, "hoodie.clean.commits.retained": "1"})
    cleaned.clean()
    assert left(cleaned) == {**rows, "k5": 502}
    assert cleaned.verify().ok


def test_rows_are_appended_where_flink_made_the_keys(tmp_path: Path) -> None:
    path = tmp_path / "t"
    rows = flink_tables.appended(path)
    table = hoodoo.open(str(path))
    table.insert([{"id": "new", "v": 7, "ts": 9, "p": "a"}])
    assert left(table) == {**rows, "new": 7}
    keys = table.read(columns=["_hoodie_record_key"], meta=True).to_arrow()["_hoodie_record_key"]
    assert len(set(keys.to_pylist())) == len(rows) + 1
    with pytest.raises(ConfigError, match="keys of this table are made"):
        table.upsert([{"id": "new", "v": 8, "ts": 9, "p": "a"}])
    table.cluster()
    assert left(table) == {**rows, "new": 7}
    assert table.verify().ok


def test_another_number_of_buckets_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t"
    flink_tables.buckets_mor(path)
    table = hoodoo.open(str(path), {**INDEX, "hoodie.bucket.index.num.buckets": "2"})
    with pytest.raises(HoodooError, match="buckets"):
        table.upsert([{"id": "k3", "v": 303, "ts": 50}])


def test_what_flink_keeps_beside_the_timeline_stays(tmp_path: Path) -> None:
    path = tmp_path / "t"
    flink_tables.buckets_mor(path)
    aux = path / ".hoodie/.aux"
    before = {f.relative_to(aux) for f in aux.rglob("*")}
    assert Path(f"ckp_meta/{instant(1)}.COMPLETED") in before
    table = writes(path)
    table.upsert([{"id": "k3", "v": 303, "ts": 50}])
    table.compact()
    table.clean()
    assert {f.relative_to(aux) for f in aux.rglob("*")} == before


def test_file_ids_without_a_number_are_in_the_record_index(tmp_path: Path) -> None:
    """A file id of Flink's buckets is a UUID and nothing else; a record index has it as such."""
    path = tmp_path / "t"
    rows = flink_tables.buckets_cow(path)
    groups = _groups(path)
    table = writes(path)
    table.switch_index("record_index")
    table = hoodoo.open(str(path))
    table.upsert([{"id": "k3", "v": 303, "ts": 50}])
    assert left(table) == {**rows, "k3": 303}
    assert _groups(path) == groups
    assert table.verify().findings == ()
    assert table.read(where="id = 'k3'").to_arrow()["v"].to_pylist() == [303]
