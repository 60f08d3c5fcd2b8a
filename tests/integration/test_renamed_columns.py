"""Columns that Spark Hudi renamed, by schema evolution on read: files of before have them under another name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import UnsupportedTableError

SCHEMA = pa.schema([("id", pa.int64()), ("fare", pa.float64()), ("note", pa.string())])


def internal(version: str, *fields: tuple[int, str]) -> dict[str, Any]:
    kinds = {"id": "long", "note": "string"}
    return {
        "max_column_id": max(number for number, _ in fields),
        "version_id": int(version),
        "type": "record",
        "fields": [
            {"id": n, "name": name, "optional": True, "type": kinds.get(name, "double")}
            for n, name in fields
        ],
    }


def altered(path: Path, now: tuple[tuple[int, str], ...]) -> hoodoo.Table:
    """A table whose newest commit, and the history of schemas, say what Spark Hudi's ALTER TABLE writes."""
    table = hoodoo.create(str(path), SCHEMA, record_key="id", table_version=6)
    first = table.upsert([{"id": 1, "fare": 1.0, "note": "a"}])
    newest = table.upsert([{"id": 2, "fare": 2.0, "note": "b"}])
    before = internal(first.instant, (0, "id"), (1, "fare"), (2, "note"))
    after = internal(newest.instant, *now)
    file = path / ".hoodie" / f"{newest.instant}.commit"
    told = json.loads(file.read_text())
    told["extraMetadata"]["latest_schema"] = json.dumps(after)
    file.write_text(json.dumps(told))
    history = path / ".hoodie" / ".schema"
    history.mkdir(exist_ok=True)
    (history / f"{newest.instant}.schemacommit").write_text(
        json.dumps({"schemas": [after, before]})
    )
    return hoodoo.open(str(path))


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (((0, "id"), (1, "price"), (2, "note")), "column price .* was called fare"),
        (((0, "id"), (3, "fare"), (2, "note")), "column fare .* took another's name"),
    ],
    ids=["renamed", "dropped and added"],
)
def test_names_that_mean_other_columns_are_refused(
    tmp_path: Path, now: tuple[tuple[int, str], ...], said: str
) -> None:
    table = altered(tmp_path / "t", now)
    with pytest.raises(UnsupportedTableError, match=said):
        table.read().to_arrow()
    before = sorted(p.name for p in (tmp_path / "t").rglob("*") if p.is_file())
    with pytest.raises(UnsupportedTableError, match=said):
        table.upsert([{"id": 1, "fare": 1.0, "note": "a"}])
    assert sorted(p.name for p in (tmp_path / "t").rglob("*") if p.is_file()) == before
    first = next(iter(table.timeline().writes()))
    assert table.read(as_of=first.requested).to_pylist() == [{"id": 1, "fare": 1.0, "note": "a"}]


@pytest.mark.parametrize(
    "now",
    [((0, "id"), (2, "note")), ((0, "id"), (2, "note"), (1, "fare"), (3, "tip"))],
    ids=["dropped", "added and moved"],
)
def test_names_that_mean_the_same_are_read(
    tmp_path: Path, now: tuple[tuple[int, str], ...]
) -> None:
    table = altered(tmp_path / "t", now)
    assert sorted(r["id"] for r in table.read(["id"]).to_pylist()) == [1, 2]
