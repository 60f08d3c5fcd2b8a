"""Columns that are renamed, dropped and moved: readers of Iceberg find them by ids, in files of any
age; where Delta Lake is published, too, a rename is refused before the commit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import SchemaError, UnsupportedTableError
from open_readers import check_names, delta, iceberg, shown, snapshots, texts
from test_field_ids import lacking, metadata, newest, without_names

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("a", pa.int32()),
        ("x", pa.string()),
        ("s", pa.struct([("p", pa.int32()), ("q", pa.string())])),
        ("l", pa.list_(pa.struct([("v", pa.int32())]))),
    ]
)
ICEBERG = {"hoodoo.open.formats": "iceberg"}


def made(path: Path, **options: str) -> hoodoo.Table:
    table = hoodoo.create(str(path), SCHEMA, record_key="id", options={**ICEBERG, **options})
    table.insert([row(1), row(2)])
    return table


def row(number: int) -> dict[str, Any]:
    inner = {"p": number, "q": f"q{number}"}
    return {"id": number, "a": number * 10, "x": f"x{number}", "s": inner, "l": [{"v": number}]}


def check(table: hoodoo.Table) -> None:
    found = iceberg(table.path.removeprefix("file://"))
    assert found.column_names == table.schema.names
    assert texts(found, found.column_names) == shown(table)


def ids(path: Path) -> dict[str, int]:
    found = metadata(path)
    each = {schema["schema-id"]: schema["fields"] for schema in found["schemas"]}
    return {f["name"]: f["id"] for f in each[found["current-schema-id"]]}


@pytest.mark.parametrize("late", [False, True])
def test_a_renamed_column_is_found_in_files_of_any_age(tmp_path: Path, late: bool) -> None:
    """``late``: older files have no ids, and are found by the names that they have."""
    path = tmp_path / "t"
    table = made(path, **({"hoodoo.open.formats": ""} if late else {}))
    if late:
        assert lacking(newest(path))
        table.publish("iceberg", keep=True)
    before = ids(path)
    table.alter(rename={"a": "b", "s.p": "r", "l.element.v": "w"})
    check(table)
    assert ids(path)["b"] == before["a"]
    table.alter(rename={"s": "t"}, reorder=["x"])
    check(table)
    table.insert([{"id": 3, "b": 30, "x": "x3", "t": {"r": 3, "q": "q3"}, "l": [{"w": 3}]}])
    assert not lacking(newest(path))
    check(table)
    table.update({"x": "'y'"}, where="id = 1")
    check(table)
    found = iceberg(str(path), row_filter="b >= 20")
    assert sorted(found["id"].to_pylist()) == [2, 3]
    if not late:
        assert without_names(path, tmp_path).num_rows == 3
    first = snapshots(str(path))[0]
    assert "a" in iceberg(str(path), first.snapshot_id).column_names


def test_dropped_columns_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = made(path)
    table.alter(drop=["x", "s.q"])
    check(table)
    table.alter(add={"y": "string"})
    table.insert([{"id": 3, "a": 1, "s": {"p": 1}, "l": [], "y": "y"}])
    check(table)
    known = metadata(path)
    assert ids(path)["y"] > max(f["id"] for f in known["schemas"][0]["fields"])


def test_a_rename_that_is_undone_gives_the_name_back(tmp_path: Path) -> None:
    """Another column may have the name then: it has an id of its own."""
    path = tmp_path / "t"
    table = made(path)
    before = ids(path)
    table.savepoint()
    table.alter(rename={"a": "b"})
    table.insert([{"id": 3, "b": 30, "x": "x3", "s": None, "l": []}])
    table.restore(table.savepoints()[0].instant)
    check(table)
    assert before.items() <= ids(path).items()
    table.alter(add={"b": "string"})
    assert ids(path)["b"] not in before.values()
    table.insert([{**row(4), "b": "new"}])
    check(table)
    assert not lacking(newest(path))
    numbers = [pq.ParquetFile(newest(path)).schema_arrow.field(n).metadata for n in ("a", "b")]
    assert numbers[0] != numbers[1]


def test_a_table_that_was_renamed_before_is_published(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = made(path, **{"hoodoo.open.formats": ""})
    table.alter(rename={"a": "b"}, drop=["s.q", "x"])
    table.insert([{"id": 3, "b": 30, "s": {"p": 3}, "l": []}])
    table.publish("iceberg")
    check(table)
    with pytest.raises(UnsupportedTableError, match="Publish Iceberg alone"):
        table.publish("delta")


def test_a_rename_is_refused_where_readers_go_by_names(tmp_path: Path) -> None:
    table = made(tmp_path / "t", **{"hoodoo.open.formats": "Delta, iceberg"})
    before = table.timeline().instants
    for change in ({"rename": {"a": "b"}}, {"drop": ["s.q"]}):
        with pytest.raises(SchemaError, match=r'table\.publish\("iceberg", keep=True\)'):
            table.alter(**change)
    assert table.timeline().instants == before
    table.alter(drop=["x"])  # what lies in no other column is not looked for any more
    check(table)
    table.alter(add={"y": "string", "s.z": "int"})
    table.insert([{"id": 3, "a": 1, "s": {"p": 1, "q": "q", "z": 2}, "l": [], "y": "y"}])
    check(table)
    found = delta(table.path.removeprefix("file://"))
    assert texts(found, table.schema.names) == shown(table)
    table.publish("iceberg", keep=True)
    table.alter(rename={"a": "b"})
    check(table)


def test_the_mapping_names_each_column_once(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = made(path)
    table.alter(rename={"a": "b", "s.p": "r"}, drop=["x"])
    mapping = json.loads(metadata(path)["properties"]["schema.name-mapping.default"])
    by_name = [name for one in mapping for name in one["names"]]
    assert len(by_name) == len(set(by_name)) and {"a", "b", "x"} <= set(by_name)
    inner = next(one for one in mapping if one["names"] == ["s"])["fields"]
    assert [sorted(one["names"]) for one in inner] == [["p", "r"], ["q"]]


def undo_by_restore(table: hoodoo.Table, before: str) -> None:
    table.restore(before)


def undo_by_rollback(table: hoodoo.Table, before: str) -> None:
    while (newest := table.timeline().writes()[-1].requested) != before:
        table.rollback(newest)


@pytest.mark.parametrize("undo", [undo_by_restore, undo_by_rollback])
@pytest.mark.parametrize("between", [{}, {"add": {"d": "string"}}])
def test_a_column_that_is_called_as_one_that_was_undone(
    tmp_path: Path, undo: Any, between: dict[str, Any]
) -> None:
    """Its new files have its own id, and not that of the other one."""
    table = made(tmp_path / "t")
    before = table.timeline().writes()[-1].requested
    table.alter(add={"c": "string"})
    table.insert([{**row(3), "c": "of another"}])
    undo(table, before)
    if between:
        table.alter(**between)
    was = "d" if between else "x"
    table.alter(rename={was: "c"})
    rest = {name: value for name, value in row(4).items() if name != was}
    table.insert([{**rest, "c": "its own"}])
    assert not lacking(newest(tmp_path / "t"))
    check(table)


def test_ids_of_dropped_columns_are_given_to_no_other(tmp_path: Path) -> None:
    """Also where the metadata was deleted, and is made again."""
    path = tmp_path / "t"
    table = made(path)
    table.alter(add={"c": "string"})
    table.insert([{**row(3), "c": "of c"}])
    table.alter(drop=["c"])
    table.insert([row(4)])
    assert not lacking(newest(path))
    shutil.rmtree(path / "metadata")
    table.alter(add={"d": "string"})
    table.insert([{**row(5), "d": "of d"}])
    check(table)
    assert sorted(filter(None, iceberg(str(path))["d"].to_pylist())) == ["of d"]


@pytest.mark.parametrize("late", [False, True])
def test_a_name_stands_for_one_column_after_renames_of_both_levels(
    tmp_path: Path, late: bool
) -> None:
    """A renamed field of a column that is renamed later is one field with all its names. ``late``:
    in files without ids, too, which are found by the names."""
    path = tmp_path / "t"
    table = made(path, **({"hoodoo.open.formats": ""} if late else {}))
    table.publish(["iceberg"], keep=True)
    table.alter(rename={"s.p": "r"})
    table.alter(rename={"s": "z"})
    check_names(str(path))
    mapping = json.loads(metadata(path)["properties"]["schema.name-mapping.default"])
    [outer] = [column for column in mapping if "z" in column["names"]]
    assert {*outer["names"]} == {"z", "s"}
    assert sorted(sorted(field["names"]) for field in outer["fields"]) == [["p", "r"], ["q"]]
    assert bool(lacking(newest(path))) == late
    check(table)
