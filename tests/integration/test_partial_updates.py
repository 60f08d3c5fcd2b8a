"""Partial updates: columns that the data lacks keep their stored values, and do not travel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import hudi
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, MissingColumnError
from hoodoo.model.log_block import LogBlock
from hoodoo.testing import log_builders

SCHEMA = pa.schema(
    [("id", pa.int64()), ("ts", pa.int64()), ("price", pa.float64()), ("note", pa.string())]
)
KINDS = [
    (kind, version, index)
    for kind in ("MERGE_ON_READ", "COPY_ON_WRITE")
    for version in (6, 9)
    for index in ("simple", "bucket")
]


def _table(path: Path, kind: str, version: int, index: str, **more: Any) -> hoodoo.Table:
    options = {"hoodie.bucket.index.num.buckets": 2} if index == "bucket" else None
    return hoodoo.create(
        str(path), SCHEMA, record_key="id", ordering="ts", table_type=kind, table_version=version,
        index=index, merger="partial", options=options, **more,
    )  # fmt: skip


def _rows(table: hoodoo.Table) -> dict[int, tuple[Any, ...]]:
    found = table.read(columns=SCHEMA.names).to_arrow().to_pylist()
    return {row["id"]: (row["ts"], row["price"], row["note"]) for row in found}


def _theirs(path: Path) -> dict[int, tuple[Any, ...]]:
    batches = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read(hudi.HudiReadOptions())
    found = pa.Table.from_batches(batches).to_pylist()
    return {row["id"]: (row["ts"], row["price"], row["note"]) for row in found}


def _blocks(path: Path) -> list[LogBlock]:
    return log_builders.blocks(*sorted(path.glob(".*.log.*")))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("kind", "version", "index"), KINDS)
def test_absent_columns_keep_their_values(
    tmp_path: Path, kind: str, version: int, index: str
) -> None:
    table = _table(tmp_path, kind, version, index)
    table.bulk_insert(
        pa.table({"id": [1, 2, 3], "ts": [5, 5, 5], "price": [1.0, 2.0, 3.0],
                  "note": ["a", "b", "c"]}, SCHEMA)
    )  # fmt: skip
    table.upsert(pa.table({"id": [1, 2, 4], "ts": [6, 4, 6], "price": [10.0, 20.0, 40.0]}))
    expected = {1: (6, 10.0, "a"), 2: (5, 2.0, "b"), 3: (5, 3.0, "c"), 4: (6, 40.0, None)}
    assert _rows(table) == _theirs(tmp_path) == expected
    table.upsert(pa.table({"id": [1, 3], "ts": [7, 7], "note": ["A", "C"]}))
    expected |= {1: (7, 10.0, "A"), 3: (7, 3.0, "C")}
    assert _rows(hoodoo.open(str(tmp_path))) == _theirs(tmp_path) == expected
    table.delete([2])
    table.upsert(pa.table({"id": [3], "ts": [8], "price": [None]}, SCHEMA.remove(3)))
    del expected[2]
    expected[3] = (8, None, "C")
    assert _rows(table) == _theirs(tmp_path) == expected
    if kind == "MERGE_ON_READ":
        assert table.compact().instant
        assert _rows(table) == _theirs(tmp_path) == expected


def test_only_the_columns_of_the_data_are_stored(tmp_path: Path) -> None:
    table = _table(tmp_path, "MERGE_ON_READ", 9, "bucket")
    table.bulk_insert(pa.table({"id": [1], "ts": [5], "price": [1.0], "note": ["a"]}, SCHEMA))
    table.upsert(pa.table({"id": [1, 9], "ts": [6, 6], "price": [2.0, 9.0]}))
    partial = [block.is_partial for block in _blocks(tmp_path)]
    assert sorted(partial) == [False, True]  # a row that is stored nowhere is written whole
    for block in _blocks(tmp_path):
        assert ('"note"' in block.schema_text) != block.is_partial


def test_whole_rows_make_whole_blocks(tmp_path: Path) -> None:
    table = _table(tmp_path, "MERGE_ON_READ", 9, "bucket")
    table.bulk_insert(pa.table({"id": [1], "ts": [5], "price": [1.0], "note": ["a"]}, SCHEMA))
    table.upsert(pa.table({"id": [1], "ts": [6], "price": [2.0], "note": [None]}, SCHEMA))
    assert [block.is_partial for block in _blocks(tmp_path)] == [False]
    assert _rows(table) == {1: (6, 2.0, None)}


def test_without_the_merger_absent_columns_become_null(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path), SCHEMA, record_key="id", ordering="ts")
    table.upsert(pa.table({"id": [1], "ts": [5], "price": [1.0], "note": ["a"]}, SCHEMA))
    table.upsert(pa.table({"id": [1], "ts": [6], "price": [2.0]}))
    assert _rows(table) == {1: (6, 2.0, None)}


def test_rows_of_one_key_in_the_data_are_put_together(tmp_path: Path) -> None:
    """All rows of an upsert have the same columns: the winner among them is what is written."""
    table = _table(tmp_path, "MERGE_ON_READ", 9, "simple")
    table.upsert(pa.table({"id": [1], "ts": [5], "price": [1.0], "note": ["a"]}, SCHEMA))
    table.upsert(pa.table({"id": [1, 1], "ts": [7, 6], "price": [7.0, 6.0]}))
    assert _rows(table) == {1: (7, 7.0, "a")}


def test_the_ordering_column_must_be_there(tmp_path: Path) -> None:
    table = _table(tmp_path, "MERGE_ON_READ", 9, "simple")
    with pytest.raises(MissingColumnError, match="ts"):
        table.upsert(pa.table({"id": [1], "price": [7.0]}))


def test_a_key_that_would_move_is_refused(tmp_path: Path) -> None:
    table = hoodoo.create(
        str(tmp_path), SCHEMA, record_key="id", ordering="ts", partition_by="note",
        index="global_simple", merger="partial",
    )  # fmt: skip
    table.upsert(pa.table({"id": [1], "ts": [5], "price": [1.0], "note": ["a"]}, SCHEMA))
    with pytest.raises(ConfigError, match="price"):
        table.upsert(pa.table({"id": [1], "ts": [6], "note": ["b"]}))
    assert _rows(table) == {1: (5, 1.0, "a")}
