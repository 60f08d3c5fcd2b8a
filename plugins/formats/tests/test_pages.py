"""Single pages of a file are read by its page index: as many as the rows need, and the right rows."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hoodoo.testing.directory import DirectoryStorage
from hoodoo_formats import record_keys
from hoodoo_formats.parquet import page_index, pages
from hoodoo_formats.parquet.declared import ColumnIndex
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
    monkeypatch.setattr(pages, "few_pages", lambda *given: made.append(real(*given)) or made[-1])
    with reader(tmp_path) as found:
        assert found.rows_at(0, np.array([50_000]), ["n", "text", "long"]) is not None
        assert sum(len(content) for content, _ in made[0]) < found.size() // 4


def test_few_rows_with_many_bytes_are_read_by_their_pages(tmp_path: Path) -> None:
    """As vectors are: a file of 4,000 rows has more bytes than one of a million numbers."""
    bits = np.random.default_rng(1).bytes(4000 * 3072)
    vectors = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(3072), 4000, [None, pa.py_buffer(bits)]
    )
    table = pa.table({"n": range(4000), "e": vectors})
    pq.write_table(table, tmp_path / "f.parquet", write_page_index=True, store_schema=False)
    with ParquetReader(DirectoryStorage(tmp_path), "f.parquet") as found:
        some = found.rows_at(0, np.array([7, 3999]), ["e"])
    assert some is not None
    assert some["e"].to_pylist() == [bits[n * 3072 : (n + 1) * 3072] for n in (7, 3999)]


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


# Of each column values that are there and values that are not; and one that only some pages have.
NAMED = {
    "n": pa.array([-5, 40_000, 99_999, ROWS]),
    "some": pa.array([0, 20_000, 20_001]),
    "text": pa.array(["", "text 1", "text 50000", "text 5x", "zz"]),
    "long": pa.array(["x" * 60 + "77", "x" * 61]),
    "city": pa.array(["oslo"]),
    "small": pa.array([99], pa.int8()),
    "none": pa.array(["x"]),
}


@pytest.mark.parametrize("name", NAMED)
def test_the_rows_of_named_values_are_in_the_pages_that_leave_room_for_them(
    tmp_path: Path, name: str
) -> None:
    kind = columns(1).schema.field(name).type
    for value in (NAMED[name].cast(kind), *(pa.array([v], kind) for v in NAMED[name].to_pylist())):
        where = pc.field(name).isin(value)
        with reader(tmp_path) as found:
            near = found.rows_near(0, where, [name])
        matching = np.flatnonzero(pc.is_in(columns()[name], value_set=value))
        if near is None:
            assert name == "city" or len(np.unique(matching // 20_000)) == 5, "no page is left out"
            continue
        assert len(near) < ROWS
        assert np.all(np.diff(near) > 0)
        assert np.isin(matching, near).all()


def test_a_point_read_looks_at_one_page_of_the_columns_of_the_filter(tmp_path: Path) -> None:
    with reader(tmp_path) as found:
        near = found.rows_near(0, pc.field("n") == 50_000, ["n"])
        assert near is not None
        assert len(near) == 20_000
        both = (pc.field("n").isin([50_000, 99_999])) & (pc.field("text") == "text 99999")
        near = found.rows_near(0, both, ["n", "text"])
        assert near is not None
        assert near[0] >= 80_000
        assert near[-1] == 99_999
        none = found.rows_near(
            0, (pc.field("n") == 1) & (pc.field("some") == 99_998), ["n", "some"]
        )
        assert none is not None
        assert not len(none)
        assert found.rows_near(0, pc.field("n") > 50_000, ["n"]) is None
        assert found.rows_near(0, pc.field("f") == 1.0, ["f"]) is None


@pytest.mark.parametrize("case", ["no index", "cut off", "other pages", "another type"])
def test_pages_are_not_left_out_by_an_index_that_can_not_be(
    tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = pc.field("n") == 50_000
    with reader(tmp_path, write_page_index=case != "no index") as found:
        if case != "no index":
            assert found.rows_near(0, where, ["n"]) is not None
        index = ColumnIndex()
        broken = {
            "cut off": ([], None, None),
            "other pages": ([False] * 3, [b""] * 3, [b""] * 3),
            "another type": ([False] * 5, [b"abc"] * 5, [b"abc"] * 5),
        }
        if case in broken:
            index.empty, index.least, index.most = broken[case]
            monkeypatch.setattr(page_index.declared, "read", lambda kind, content: index)
        assert found.rows_near(0, where, ["n"]) is None


@pytest.mark.parametrize("long", [False, True])
def test_a_large_footer_is_read_without_its_bloom_filter(tmp_path: Path, long: bool) -> None:
    table, path = columns().select(["n", "text", "f"]), tmp_path / "f.parquet"
    keys = "".join(chr(97 + n % 26) for n in range(700_000 if long else 7))
    said = {"a": "b", record_keys.FILTER: keys, record_keys.MIN_KEY: "1", "z": "ü" * 90_000}
    with pq.ParquetWriter(path, table.schema, write_page_index=True, store_schema=False) as to:
        to.write_table(table)
        to.add_key_value_metadata(said)
    read: list[int] = []

    class Storage(DirectoryStorage):
        def open(self, path: str) -> Any:
            found = super().open(path)
            return pa.PythonFile(_Counting(found, read), mode="r")

    with ParquetReader(Storage(tmp_path), "f.parquet") as found:
        assert sum(read) < 500_000
        assert found.metadata == said
        assert found.num_rows == ROWS
        assert found.groups_left(pc.field("n") < 0) == []
        some = found.rows_at(0, np.array([50_000]), ["text"])
        assert some is not None
        assert some.to_pylist() == [{"text": "text 50000"}]
        assert pa.Table.from_batches(found.batches()).equals(table)


class _Counting:
    """A file that notes how many bytes are read of it at a time."""

    closed = False

    def __init__(self, file: Any, read: list[int]) -> None:
        self._file, self._read = file, read

    def read(self, count: int) -> bytes:
        found: bytes = self._file.read(count)
        self._read.append(len(found))
        return found

    def seek(self, *to: int) -> Any:
        return self._file.seek(*to)

    def tell(self) -> Any:
        return self._file.tell()

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()


def test_bytes_that_look_like_a_bloom_filter_do_no_harm(tmp_path: Path) -> None:
    """The statistics of the first column have the mark of such a text, with a length that cuts the
    rest of the footer off."""
    name = record_keys.FILTER.encode()
    mark = bytes([0x18, len(name)]) + name + b"\x18\x80\x80\x28" + b"\0" * 9
    table = pa.table({"a": pa.array([mark, mark]), "n": [1, 2]})
    with pq.ParquetWriter(tmp_path / "f.parquet", table.schema, store_schema=False) as to:
        to.write_table(table)
        to.add_key_value_metadata({"z": "z" * 700_000})
    with ParquetReader(DirectoryStorage(tmp_path), "f.parquet") as found:
        assert found.metadata == {"z": "z" * 700_000}
        assert pa.Table.from_batches(found.batches()).equals(table)


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
