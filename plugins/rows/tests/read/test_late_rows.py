"""A filter reads its own columns first, and of the others what it lets through. Of merged rows those
of other keys than it asks for are left out on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.errors import CorruptTableError
from hoodoo_formats.parquet.reader import ParquetReader
from hoodoo_rows.read.late import matching_rows

ROWS = 60_000
SCHEMA = pa.schema(
    [("id", pa.string()), ("ts", pa.int64()), ("n", pa.int64()), ("text", pa.string())]
)


def numbered(numbers: Any, ts: int = 1) -> pa.Table:
    numbers = np.asarray(numbers)
    return pa.table(
        [
            pa.array(np.char.add("k", numbers.astype(str))),
            pa.array(np.full(len(numbers), ts)),
            pa.array(numbers * 7919 % 1000),
            pa.array(np.char.add(f"text {ts} of ", numbers.astype(str))),
        ],
        schema=SCHEMA,
    )


def made(path: Path, **how: Any) -> Any:
    table = hoodoo.create(path, SCHEMA, name="t", record_key="id", ordering="ts", **how)
    table.bulk_insert(numbered(np.arange(ROWS)))
    return table


class Decoded:
    """Rows that were decoded of each column, in whole row groups; and those that were picked."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.rows: dict[str, int] = {}
        self.picked: list[int] = []
        batches, rows_at = ParquetReader._batches, ParquetReader.rows_at

        def counted(reader: Any, columns: Any, groups: Sequence[int], *more: Any) -> Any:
            for name in reader.schema.names if columns is None else columns:
                count = sum(reader.groups()[n][0] for n in groups)
                self.rows[name] = self.rows.get(name, 0) + count
            return batches(reader, columns, groups, *more)

        def few(reader: Any, number: int, at: Any, columns: Any) -> Any:
            found = rows_at(reader, number, at, columns)
            self.picked += [] if found is None else [len(at)]
            return found

        patch.setattr(ParquetReader, "_batches", counted)
        patch.setattr(ParquetReader, "rows_at", few)


def test_one_row_decodes_its_own_columns_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path / "t")
    decoded = Decoded(monkeypatch)
    found = table.read(where=pc.field("id") == "k4711").to_arrow()
    assert found.to_pylist() == numbered([4711]).to_pylist()
    assert decoded.rows == {"id": ROWS} and decoded.picked == [1]


def test_of_row_groups_without_a_row_no_other_column_is_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their statistics do not tell."""
    table = made(tmp_path / "t", options={"hoodie.parquet.block.size": "600000"})
    decoded = Decoded(monkeypatch)
    where = (pc.field("n") == 500) & (pc.field("n") != 500)
    assert table.read(where=where).to_arrow().num_rows == 0
    assert set(decoded.rows) <= {"n"}
    found = table.read(where=pc.field("id") == "k17").to_arrow()
    assert found.to_pylist() == numbered([17]).to_pylist()
    assert decoded.rows["text"] < decoded.rows["id"] <= ROWS


@pytest.mark.sampled(1)
@pytest.mark.parametrize("most", [1, 20, 500, 999, 1000])
def test_rows_are_those_of_a_whole_read(tmp_path: Path, most: int) -> None:
    table = made(tmp_path / "t", options={"hoodie.parquet.block.size": "900000"})
    where = pc.field("n") < most
    whole = table.read().to_arrow()
    assert table.read(where=where).to_arrow().equals(whole.filter(where))
    some = table.read(["text", "n"], where).to_arrow()
    assert some.equals(whole.select(["text", "n"]).filter(where))
    assert table.read([], where).count() == whole.filter(where).num_rows
    assert table.read(["text"], where).head(3).num_rows == min(3, whole.filter(where).num_rows)


def test_keys_of_merged_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that were updated, deleted, or come too late; that only logs have; that are there twice."""
    table = made(tmp_path / "t", table_type="MERGE_ON_READ")
    table.upsert(numbered([5, 6, 7, ROWS + 1], ts=3))
    table.upsert(numbered([6, 8], ts=2))
    table.upsert(numbered([9], ts=0))
    table.delete(numbered([7, 10]).select(["id"]))
    assert any(s.log_files for s in table.read().plan.slices)
    whole = table.read().to_arrow().sort_by("id")
    decoded = Decoded(monkeypatch)
    for numbers in ([5], [6], [7], [8], [9], [10], [11], [ROWS + 1], [5, 7, 9, 12], [ROWS + 9]):
        keys = [f"k{n}" for n in numbers]
        for where in (pc.field("id").isin(keys), pc.field("id").isin(keys) & (pc.field("ts") > 1)):
            found = table.read(where=where).to_arrow().sort_by("id")
            assert found.equals(whole.filter(where)), (keys, where)
    few = 10  # of row groups that an upsert has added, which are read whole
    assert decoded.rows.get("text", 0) < few and decoded.picked


class Groups:
    """A reader whose row groups have these numbers of rows: of the filter's column, and of
    others."""

    def __init__(self, *counts: tuple[int, int]) -> None:
        self.counts = counts

    def groups_left(self, where: Any) -> list[int]:
        return list(range(len(self.counts)))

    def group_batches(self, numbers: Sequence[int], columns: Any = None, *more: Any) -> Any:
        for number in numbers:
            count = self.counts[number][columns != ["a"]]
            if count:
                yield pa.record_batch([pa.array(range(count)) for _ in columns], names=columns)

    def rows_near(self, number: int, where: pc.Expression, columns: Sequence[str]) -> None: ...

    def rows_at(self, *asked: Any) -> None:
        return None


def test_row_groups_without_rows_and_of_two_lengths() -> None:
    where = pc.field("a") >= 1
    found = list(matching_rows(Groups((3, 3), (0, 0), (2, 2)), ["a", "b"], ["a"], where))
    assert [batch.to_pydict() for batch in found] == [
        {"a": [1, 2], "b": [1, 2]},
        {"a": [1], "b": [1]},
    ]
    with pytest.raises(CorruptTableError, match="has 3 rows of some columns and 2 of others"):
        list(matching_rows(Groups((3, 2)), ["a", "b"], ["a"], where))
