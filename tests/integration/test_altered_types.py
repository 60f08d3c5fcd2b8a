"""Columns of tables with VECTOR, VARIANT and BLOB are renamed, moved and dropped without rewriting a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hoodoo
import pytest
from hoodoo.errors import SchemaError

SCHEMA = "id bigint, a string, e VECTOR(2), i VECTOR(3, INT8), v VARIANT, w VARIANT, b BLOB, c BLOB"
KINDS = {
    "copy on write": ("cow", {}),
    "avro blocks": ("mor", {}),
    "parquet blocks": ("mor", {"hoodie.logfile.data.block.format": "parquet"}),
    "no meta columns": ("mor", {"hoodie.populate.meta.fields": "false"}),
}
OUTSIDE = {"external_path": "f", "offset": 3, "length": None, "managed": False}


def row(number: int, version: int) -> dict[str, Any]:
    return {
        "id": number,
        "a": f"a{version}",
        "e": [number + 0.5, float(version)] if number % 3 else None,
        "i": [-1, number, version],
        "v": {"k": [version, None]} if number % 2 else None,
        "w": version,
        "b": {"type": "INLINE", "data": b"%d" % version, "reference": None},
        "c": {"type": "OUT_OF_LINE", "data": None, "reference": OUTSIDE} if number % 2 else None,
    }


def named(one: dict[str, Any], names: dict[str, str], without: str = "") -> dict[str, Any]:
    return {names.get(name, name): value for name, value in one.items() if name not in without}


def rows_of(table: Any, **how: Any) -> list[dict[str, Any]]:
    return sorted(table.read(**how).to_pylist(), key=lambda one: int(one["id"]))


@pytest.fixture(params=KINDS)
def table(request: Any, tmp_path: Path) -> Any:
    kind, options = KINDS[request.param]
    table = hoodoo.create(tmp_path / "t", SCHEMA, record_key="id", table_type=kind, options=options)
    table.upsert([row(n, 1) for n in range(6)])
    table.upsert([row(n, 2) for n in (1, 2)])
    return table


def test_values_stay_under_new_names(table: Any) -> None:
    first = table.timeline().writes()[0].requested
    files = {s.base_file.path for s in table.file_slices() if s.base_file}
    names = {"a": "a2", "e": "emb", "v": "event", "b": "photo"}
    commit = table.alter(rename=names, drop=["i", "w"], reorder=["photo"])
    assert {s.base_file.path for s in table.file_slices() if s.base_file} == files
    found = [named(row(n, 2 if n in (1, 2) else 1), names, "iw") for n in range(6)]
    assert rows_of(table) == found
    assert table.schema.names == ["photo", "id", "a2", "emb", "event", "c"]
    assert [f.type for f in table.schema][3] == hoodoo.vector(2)
    assert rows_of(table, as_of=first) == [row(n, 1) for n in range(6)]
    table.upsert([named(row(n, 3), names, "iw") for n in (2, 3, 7)])
    found = [*found[:2], *(named(row(n, 3), names, "iw") for n in (2, 3)), *found[4:]]
    found.append(named(row(7, 3), names, "iw"))
    assert rows_of(table) == found
    if table.config.populate_meta_fields:
        later = table.incremental(since=commit.instant)
        assert sorted(later.to_pylist(), key=lambda one: int(one["id"])) == [*found[2:4], found[6]]
    if table.config.table_type == "MERGE_ON_READ":
        table.compact()
        assert rows_of(table) == found
    table.cluster()
    assert rows_of(hoodoo.open(table.path)) == found
    assert table.read(where="photo is null").to_pylist() == []
    assert table.search("emb", [3.5, 3.0], k=1, columns=["id"])["id"].to_pylist() == [2]


def test_the_schema_is_as_hudi_has_it(table: Any, tmp_path: Path) -> None:
    """Spark Hudi 1.2 writes these texts and ids, but for those within ``reference``, which clash there."""
    table.alter(rename={"a": "a2"})
    (path,) = tmp_path.glob("t/.hoodie/.schema/*.schemacommit")
    newest = json.loads(path.read_text())["schemas"][0]
    kinds = {one["name"]: one["type"] for one in newest["fields"]}
    assert kinds["e"] == "vector[2, FLOAT, FIXED_BYTES]"
    assert kinds["i"] == "vector[3, INT8, FIXED_BYTES]"
    assert [(f["id"], f["name"]) for f in kinds["v"]["fields"]] == [(-2, "metadata"), (-1, "value")]
    assert kinds["v"] == kinds["w"]
    blobs = [f for f in newest["fields"] if f["name"] in "bc"]
    assert [[f["id"] for f in one["type"]["fields"]] for one in blobs] == [[-10, -11, -12]] * 2
    within = [f["id"] for one in blobs for f in one["type"]["fields"][2]["type"]["fields"]]
    own = [f["id"] for f in newest["fields"]]
    assert len({*within, *own}) == len(within) + len(own)
    assert newest["max_column_id"] == max(within)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"rename": {"v.value": "x"}}, "is not in the table"),
        ({"drop": ["b.reference.offset"]}, "is not in the table"),
        ({"drop": ["e.element"]}, "is not in the table"),
        ({"rename": {"a": "e"}}, "would be called e"),
        ({"add": {"gone": "VARIANT"}}, "has been dropped or renamed"),
        ({"rename": {"a": "gone"}}, "has been dropped or renamed"),
    ],
)
def test_what_is_refused_leaves_the_table(tmp_path: Path, how: Any, why: str) -> None:
    table = hoodoo.create(tmp_path / "t", SCHEMA + ", gone VECTOR(2)", record_key="id")
    table.upsert([{**row(1, 1), "gone": [1.0, 2.0]}])
    table.alter(drop=["gone"])
    before = sorted(str(p) for p in tmp_path.rglob("*"))
    with pytest.raises(SchemaError, match=why) as raised:
        table.alter(**how)
    assert raised.value.fix
    assert sorted(str(p) for p in tmp_path.rglob("*")) == before
    assert rows_of(table) == [row(1, 1)]
