"""Files of a given size: whatever rows are compressed to, and without a tiny last one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import define
from hoodoo_clustering.sized_files import Sizes, sized
from hoodoo_formats.parquet.format import ParquetFormat
from hoodoo_formats.parquet.writer import ParquetWriter, WriterOptions
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.sampled(4)

KIB = 1 << 10
TARGET = 400 * KIB


@define
class Real:
    """A Parquet file."""

    path: Path
    writer: ParquetWriter
    expected: int | None

    def write(self, rows: pa.Table) -> None:
        self.writer.write(rows)

    def flush(self) -> int:
        return self.writer.flush()

    def close(self) -> Path:
        self.writer.close()
        return self.path

    def size(self) -> int:
        return self.path.stat().st_size


def cut(
    table: pa.Table, folder: Path, sizes: Sizes, codec: str = "zstd", block: int = 9000
) -> list[Path]:
    """The files that ``table`` becomes when it comes in blocks of so many rows."""

    def begin(number: int, expected: int | None) -> Real:
        path = folder / str(number)
        made = ParquetFormat(WriterOptions(codec=codec, level=None))
        return Real(path, made.writer(str(path), table.schema, expected), expected)

    blocks = (table.slice(i, block) for i in range(0, table.num_rows, block))
    return list(sized(blocks, sizes, begin))


def keyed(columns: dict[str, npt.NDArray[np.generic] | pa.Array]) -> pa.Table:
    """With record keys, whose bloom filter is a good part of a small file."""
    count = len(next(iter(columns.values())))
    return pa.table({"_hoodie_record_key": pa.array(np.arange(count)).cast(pa.string()), **columns})


def table_of(kind: str, count: int) -> pa.Table:
    rng = np.random.default_rng(4)
    noise = rng.random(count)
    if kind == "noise":
        return keyed({"a": noise, "b": rng.random(count)})
    if kind == "repeating":
        text = pa.array(["the same text"]).take(pa.array(np.zeros(count, np.int8)))
        return pa.table({"a": np.arange(count) // 8 % 999, "b": text})
    if kind == "first constant":
        return keyed({"a": np.where(np.arange(count) < count // 2, 1.0, noise)})
    if kind == "last constant":
        return keyed({"a": np.where(np.arange(count) > count // 3, 1.0, noise)})
    if kind == "in turn":  # each 5000 rows otherwise
        return pa.table({"a": np.where(np.arange(count) // 5000 % 2, 1.0, noise), "b": noise})
    assert kind == "growing text"
    sizes = (np.arange(count) // 20_000 * 7 + 3).tolist()
    digits = rng.integers(0, 10**9, count)
    return pa.table({"a": pa.array([f"{d:09d}" * (n // 9 + 1) for d, n in zip(digits, sizes, strict=True)])})  # fmt: skip


COUNTS = {"noise": 200_000, "repeating": 3_000_000}


@pytest.mark.parametrize("codec", ["zstd", "none"])
@pytest.mark.parametrize(
    "kind", ["noise", "repeating", "first constant", "last constant", "in turn", "growing text"]
)
@pytest.mark.parametrize("told", [True, False])
def test_files_are_of_one_size_and_no_larger_than_the_target(
    kind: str, codec: str, told: bool, tmp_path: Path
) -> None:
    table = table_of(kind, COUNTS.get(kind, 250_000))
    sizes = Sizes(TARGET, rows=table.num_rows if told else None)
    files = cut(table, tmp_path, sizes, codec, max(9000, table.num_rows // 40))
    assert len(files) > 2
    relative = [path.stat().st_size / TARGET for path in files]
    least = 0.5 if told else 0.9  # rows to come may be smaller than was thought
    assert all(least <= r <= 1.1 for r in relative[:-1]), relative
    assert (0.25 if told else 0) <= relative[-1] <= 1.1, relative
    assert pa.concat_tables(map(pq.read_table, files)).equals(table)


def test_rows_are_spread_evenly(tmp_path: Path) -> None:
    """Whatever their number: no file is small beside the others."""
    whole = table_of("noise", 120_000)
    for count in range(20_000, 120_000, 4000):
        folder = tmp_path / str(count)
        folder.mkdir()
        files = cut(whole.slice(0, count), folder, Sizes(TARGET, rows=count))
        relative = [path.stat().st_size / TARGET for path in files]
        assert max(relative) <= 1.1, relative
        assert max(relative) <= 1.15 * min(relative), relative


def test_half_as_much_again_as_a_file_holds_is_one_file_and_the_rest(tmp_path: Path) -> None:
    whole = table_of("noise", 200_000)
    (one, *_) = cut(whole, tmp_path, Sizes(TARGET, rows=whole.num_rows))
    full = pq.read_metadata(one).num_rows * TARGET / one.stat().st_size
    for share, files in ((0.5, 1), (1.0, 1), (1.04, 1), (1.5, 2), (2.05, 2), (4.1, 4)):
        folder = tmp_path / f"share {share}"
        folder.mkdir()
        count = int(full * share)
        assert len(cut(whole.slice(0, count), folder, Sizes(TARGET, rows=count))) == files, share


def test_parts_are_small_in_memory_and_few_on_disk(tmp_path: Path) -> None:
    table = table_of("in turn", 300_000)
    files = cut(table, tmp_path, Sizes(TARGET, part=100 * KIB, rows=table.num_rows))
    for path in files:
        metadata = pq.read_metadata(path)
        for i in range(metadata.num_row_groups):
            assert metadata.row_group(i).total_byte_size <= 110 * KIB
    large = tmp_path / "large"
    large.mkdir()
    for path in cut(table, large, Sizes(TARGET, rows=table.num_rows)):
        assert pq.read_metadata(path).num_row_groups <= 16


def test_no_rows_no_file(tmp_path: Path) -> None:
    assert cut(table_of("noise", 0), tmp_path, Sizes(TARGET, rows=0)) == []
    assert os.listdir(tmp_path) == []


@settings(deadline=None, max_examples=60)
@given(
    lengths=st.lists(st.integers(1, 400), max_size=30),
    target=st.integers(1, 5000),
    rows=st.none() | st.integers(0, 5000),
    rate=st.floats(0.01, 2),
)
def test_every_row_is_in_one_file(
    lengths: list[int], target: int, rows: int | None, rate: float
) -> None:
    """Whatever is told of them."""

    @define
    class Fake:
        rows: list[int]

        def write(self, table: pa.Table) -> None:
            self.rows += table.column("n").to_pylist()

        def flush(self) -> int:
            return self.size()

        def close(self) -> list[int]:
            return self.rows

        def size(self) -> int:
            return int(len(self.rows) * 8 * rate) + 10

    def blocks() -> Iterator[pa.Table]:
        start = 0
        for length in lengths:
            yield pa.table({"n": np.arange(start, start + length)})
            start += length

    files = list(sized(blocks(), Sizes(target, rows=rows), lambda number, expected: Fake([])))
    assert [n for file in files for n in file] == list(range(sum(lengths)))
    assert all(files)


@pytest.mark.parametrize("kind", ["noise", "first constant"])
def test_as_many_files_as_planned_within_one(kind: str, tmp_path: Path) -> None:
    """Rows may take less room than the plan thought; where they take as much, files have the target's size."""
    table = table_of(kind, 200_000)
    whole = cut(table, _folder(tmp_path, "whole"), Sizes(1 << 40, rows=table.num_rows))[0].stat()
    target = whole.st_size // 5
    plain = len(cut(table, _folder(tmp_path, "plain"), Sizes(target, rows=table.num_rows)))
    for planned in (1, plain - 1, plain, plain + 1, 2 * plain, 3 * plain):
        sizes = Sizes(target, rows=table.num_rows, files=planned)
        made = len(cut(table, _folder(tmp_path, str(planned)), sizes))
        assert abs(made - max(plain, planned)) <= 1, (plain, planned)


def _folder(path: Path, name: str) -> Path:
    (path / name).mkdir(exist_ok=True)
    return path / name
