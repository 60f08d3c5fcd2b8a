"""Decimals that are compared as the bytes of the file."""

from __future__ import annotations

import random
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hoodoo.model.meta import FILE_NAME, RECORD_KEY, with_meta
from hoodoo.testing.directory import DirectoryStorage
from hoodoo_formats.parquet import fixed_bytes, in_place
from hoodoo_formats.parquet.fixed_bytes import FixedBytes
from hoodoo_formats.parquet.format import ParquetFormat
from hoodoo_formats.parquet.reader import ParquetReader
from hoodoo_formats.parquet.writer import WriterOptions

EXACT = Context(prec=60)
KINDS = [(1, 0), (9, 2), (15, 2), (18, 18), (19, 0), (38, 10)]
SCHEMA = with_meta(
    pa.schema([(f"d{p}_{s}", pa.decimal128(p, s)) for p, s in KINDS] + [("n", pa.int64())])
)


def values(draw: random.Random, kind: pa.DataType, count: int) -> pa.Array:
    most = 10**kind.precision - 1
    ends = [0, 1, -1, most, -most]
    drawn = [
        None if draw.random() < 0.2 else draw.choice([*ends, draw.randint(-most, most)])
        for _ in range(count)
    ]
    return pa.array(
        [v if v is None else Decimal(v).scaleb(-kind.scale, EXACT) for v in drawn], kind
    )  # fmt: skip


def drawn(seed: int, count: int) -> pa.Table:
    draw = random.Random(seed)
    columns: dict[str, Any] = {}
    for field in SCHEMA:
        if pa.types.is_decimal(field.type):
            columns[field.name] = values(draw, field.type, count)
        elif field.name == RECORD_KEY:
            columns[field.name] = pa.array([f"k{n:05d}" for n in range(count)])
        elif pa.types.is_integer(field.type):
            columns[field.name] = pa.array(range(count), field.type)
        else:
            columns[field.name] = pa.array(["old"] * count)
    return pa.table(columns, SCHEMA)


@pytest.fixture
def stored(tmp_path: Path) -> ParquetReader:
    path = str(tmp_path / "old.parquet")
    writer = ParquetFormat(WriterOptions("t", "zstd", None)).writer(path, SCHEMA)
    for part in (drawn(1, 300), drawn(2, 200)):
        writer.write(part)
        writer.flush()
    writer.close()
    return ParquetReader(DirectoryStorage(str(tmp_path)), "old.parquet")


@pytest.mark.parametrize("rows", [7, 131_072])
def test_the_same_and_others(
    stored: ParquetReader, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fixed_bytes, "_ROWS", rows)
    found = FixedBytes(stored.layout(), stored)
    assert set(found.lengths) == {f"d{p}_{s}" for p, s in KINDS}
    for part, table in enumerate((drawn(1, 300), drawn(2, 200))):
        at = np.array([0, 3, 8, 9, 120, table.num_rows - 1])
        for name in found.lengths:
            column = table.column(name).combine_chunks()
            here = column.take(pa.array(at))
            assert found.are_there(part, name, at, here)
            padded = pa.concat_arrays([column.slice(0, 5), here])
            assert found.are_there(part, name, at, padded.slice(5)), "a slice"
            for place in range(len(at)):
                other = here.to_pylist()
                unit = Decimal(1).scaleb(-here.type.scale, EXACT)
                other[place] = unit if other[place] is None else None
                assert not found.are_there(part, name, at, pa.array(other, here.type))
                other[place] = unit if here[place].as_py() != unit else -unit
                assert not found.are_there(part, name, at, pa.array(other, here.type))


def test_a_file_that_can_not_be_read_has_nothing(
    stored: ParquetReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = FixedBytes(stored.layout(), stored)

    def broken(**more: Any) -> Any:
        raise OSError("no")

    monkeypatch.setattr(stored, "open_file", broken)
    at = np.array([0])
    assert not found.are_there(0, "d9_2", at, drawn(1, 300).column("d9_2").chunk(0).take([0]))


@pytest.mark.parametrize("changed", [(), ("d15_2",), ("d15_2", "d38_10")])
def test_an_update_encodes_the_decimals_that_change(
    stored: ParquetReader,
    tmp_path: Path,
    changed: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(in_place, "COPIED_FROM", 0)
    encoded: set[str] = set()
    encode = in_place.InPlaceWriter._encoded

    def noted(self: Any, table: pa.Table) -> Any:
        encoded.update(table.column_names)
        return encode(self, table)

    monkeypatch.setattr(in_place.InPlaceWriter, "_encoded", noted)
    table, at = drawn(1, 300), [5, 17, 299]
    made = ParquetFormat(WriterOptions("t", "zstd", None)).in_place(
        str(tmp_path / "new.parquet"), SCHEMA, 500, stored, {FILE_NAME: "new"}
    )
    assert made is not None
    rows, other = table.take(at), drawn(3, 3)
    for name in changed:
        rows = rows.set_column(rows.schema.get_field_index(name), name, other.column(name))
    made.keep(0, pa.array(at), rows)
    made.keep(1)
    made.close()
    assert encoded == {*changed, FILE_NAME}
    with ParquetReader(DirectoryStorage(str(tmp_path)), "new.parquet") as reader:
        found = pa.Table.from_batches(list(reader.batches())).slice(0, 300)
    for name in (f"d{p}_{s}" for p, s in KINDS):
        wanted = table.column(name).to_pylist()
        for place, value in zip(at, rows.column(name).to_pylist(), strict=True):
            wanted[place] = value
        assert found.column(name).to_pylist() == wanted
