"""Single pages of a file are read by its page index: as many as the rows need, and the right rows."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo.testing.directory import DirectoryStorage
from hoodoo_formats.parquet import page_index, pages
from hoodoo_formats.parquet.footer import NoFooter
from hoodoo_formats.parquet.format import ParquetFormat
from hoodoo_formats.parquet.reader import ParquetReader

ROWS = 100_000


@cache
def columns(rows: int = ROWS) -> pa.Table:
    numbers = np.arange(rows)
    coin = numbers % 7 == 0
    return pa.table(
        {
            "n": pa.array(numbers),
            "some": pa.array(numbers, mask=coin),
            "text": pa.array(np.char.add("text ", numbers.astype(str))),
            "long": pa.array(np.char.add("x" * 60, numbers.astype(str))),
            "city": pa.array(np.array(["paris", "rome", "oslo"])[numbers % 3]),
            "flag": pa.array(coin),
            "f": pa.array(numbers / 3, pa.float32()),
            "price": pa.array(numbers).cast(pa.decimal128(21, 2)),
            "at": pa.array(numbers, pa.timestamp("us", "UTC")),
            "day": pa.array(numbers.astype(np.int32) % 9000).cast(pa.date32()),
            "small": pa.array((numbers % 100).astype(np.int8)),
            "none": pa.nulls(rows, pa.string()),
            "bytes": pa.array([b"%d" % n for n in range(rows)]),
            "list": pa.array([[n] for n in range(rows)]),
        }
    )


def reader(folder: Path, rows: int = ROWS, **how: Any) -> ParquetReader:
    settings = {"write_page_index": True, "store_schema": False, "compression": "zstd", **how}
    pq.write_table(columns(rows), folder / "f.parquet", **settings)
    return ParquetReader(DirectoryStorage(folder), "f.parquet")


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "how",
    [{}, {"data_page_version": "2.0"}, {"compression": "none"}, {"data_page_size": 1 << 14},
     {"use_dictionary": False}, {"column_encoding": {"text": "DELTA_BYTE_ARRAY"}, "use_dictionary": ["city"]},
     {"row_group_size": 50_000}],
    ids=str,
)  # fmt: skip
def test_the_rows_are_those_of_a_whole_read(tmp_path: Path, how: dict[str, Any]) -> None:
    names = [n for n in columns(1).column_names if n != "list"]
    groups = ROWS // how.get("row_group_size", ROWS)
    with reader(tmp_path, **how) as found:
        whole = pa.Table.from_batches(found.batches(names))
        for number in range(groups):
            begin, rows = number * (ROWS // groups), ROWS // groups
            more = [[19_999, 20_000], [30_000, 30_001, rows - 3]] if groups == 1 else []
            for at in ([0], [rows - 1], [7, 8, 19_999], *more):
                some = found.rows_at(number, np.array(at), names)
                assert some is not None
                assert some.schema.names == names
                assert pa.Table.from_batches([some]).equals(
                    whole.take(pa.array(at) if not begin else pa.array([begin + n for n in at]))
                )


def test_one_row_reads_few_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    real = pages.few_pages
    monkeypatch.setattr(
        "hoodoo_formats.parquet.reader.few_pages",
        lambda *given: made.append(real(*given)) or made[-1],
    )
    with reader(tmp_path) as found:
        assert found.rows_at(0, np.array([50_000]), ["n", "text", "long"]) is not None
        assert sum(len(content) for content, _ in made[0]) < found.size() // 4


@pytest.mark.parametrize(
    "case",
    ["no index", "arrow's types", "a list", "most rows", "few rows", "another index"],
)
def test_what_is_read_whole(tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    how = {"no index": {"write_page_index": False}, "arrow's types": {"store_schema": True}}
    names = ["n", "list"] if case == "a list" else ["n", "text"]
    with reader(tmp_path, 1000 if case == "few rows" else ROWS, **how.get(case, {})) as found:
        at = np.arange(0, ROWS, 100) if case == "most rows" else np.array([5])
        if case == "another index":  # of which a page has other rows than it says
            wrong = pages.Pages.of
            monkeypatch.setattr(pages.Pages, "of", lambda *given: _shifted(wrong(*given)))
        assert found.rows_at(0, at, names) is None


def _shifted(right: pages.Pages) -> pages.Pages:
    starts = np.where(right.starts > 0, right.starts - 1, 0)
    return pages.Pages(starts, np.append(starts[1:], right.ends[-1]), right.places, right.sizes)


@pytest.mark.parametrize("count", [0, 1, 14, 15, 300])
def test_places_are_read_as_they_are_written(count: int) -> None:
    numbers = np.random.default_rng(count).integers(0, 1 << 40, (count, 3))
    numbers[:, 1] >>= 10
    content = page_index.serialized(numbers)
    assert page_index.parsed(content).tolist() == numbers.tolist()
    if count:
        for broken in (content[: len(content) // 2], b"", b"\x19", content[1:], b"\x29" + content):
            with pytest.raises(NoFooter):
                page_index.parsed(broken)


def test_files_of_copied_chunks_have_the_index(tmp_path: Path) -> None:
    """One whose columns several threads encoded: Arrow reads it, and so do we."""
    table = columns(ROWS).drop(["list", "small"])
    for threads in (1, 2):
        path = tmp_path / f"{threads}.parquet"
        writer = ParquetFormat().with_threads(threads).writer(str(path), table.schema)
        writer.write(table)
        writer.close()
        group = pq.read_metadata(path).row_group(0)
        assert all(
            group.column(n).has_offset_index and group.column(n).has_column_index
            for n in range(group.num_columns)
            if group.column(n).path_in_schema != "none"
        )
        with ParquetReader(DirectoryStorage(tmp_path), path.name) as found:
            some = found.rows_at(0, np.array([77_777]), table.column_names)
            assert some is not None
            assert some.to_pylist() == table.slice(77_777, 1).to_pylist()
