"""A table of this merger, from end to end, by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import OptionConflictError
from hoodoo_rows.testing.tables import Tuples

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("email", pa.string())])

rows = Tuples(SCHEMA)


def names(table: Any) -> dict[int, str]:
    found = table.read(columns=["id", "name"]).to_arrow().to_pylist()
    return {row["id"]: row["name"] for row in found}


@pytest.mark.parametrize("version", [9, 6])
def test_first_stays(tmp_path: Path, version: int) -> None:
    path = str(tmp_path / "people")
    table = hoodoo.create(path, SCHEMA, record_key="id", merger="keep_first", table_version=version)
    table.upsert(rows((1, "first", None), (1, "second of the batch", "x"), (2, "only", None)))
    commit = table.upsert(rows((1, "late", "y"), (3, "new", None)))
    assert (commit.inserted, commit.updated) == (1, 0)
    # Opened anew, the merger is found by the id that the table stores.
    again = hoodoo.open(path)
    again.upsert(rows((2, "late", None)))
    assert names(again) == {1: "first", 2: "only", 3: "new"}


def test_after_a_delete_the_next_row_is_the_first(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "people"), SCHEMA, record_key="id", merger="keep_first")
    table.upsert(rows((1, "first", None)))
    assert table.delete([1]).deleted == 1
    table.upsert(rows((1, "again", None)))
    table.upsert(rows((1, "late", None)))
    assert names(table) == {1: "again"}


def test_the_option_is_the_tables(tmp_path: Path) -> None:
    path, key = str(tmp_path / "people"), "hoodoo.keep_first.unless_null"
    hoodoo.create(path, SCHEMA, record_key="id", merger="keep_first", options={key: "email"})
    table = hoodoo.open(path)
    table.upsert(rows((1, "no address", None), (2, "address", "a@x")))
    table.upsert(rows((1, "address later", "b@x"), (2, "other address", "c@x")))
    assert names(table) == {1: "address later", 2: "address"}
    with pytest.raises(OptionConflictError):
        hoodoo.open(path, options={key: "name"})


@pytest.mark.spark
def test_on_spark(tmp_path: Path, spark: Any) -> None:
    path = str(tmp_path / "people")
    table = hoodoo.create(path, SCHEMA, record_key="id", merger="keep_first", engine="spark")
    table.upsert(rows(*((i, "first", None) for i in range(100))))
    late = spark.range(50, 150).selectExpr("id", "'late' AS name", "CAST(NULL AS STRING) AS email")
    commit = table.upsert(late)
    assert (commit.inserted, commit.updated) == (50, 0)
    found = names(table)
    assert len(found) == 150
    assert {i for i, name in found.items() if name == "late"} == set(range(100, 150))
