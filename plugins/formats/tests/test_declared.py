"""Structures with declared fields: the same as in the tree of their bytes, by the compiled decoder and without it."""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo_formats.parquet import declared, footer
from hoodoo_formats.parquet.declared import ColumnIndex, PageHeader
from hoodoo_formats.parquet.footer import NoFooter
from thrift.protocol.TCompactProtocol import TCompactProtocol

WAYS = pytest.mark.parametrize("compiled", [True, False])


@pytest.fixture
def way(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not compiled:
        monkeypatch.setattr(declared, "TCompactProtocolAccelerated", TCompactProtocol)


@WAYS
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_they_say_what_the_tree_says(way: None, version: str) -> None:
    sink = pa.BufferOutputStream()
    texts = pa.array([f"{n:05}" for n in range(9_000)])
    rows = pa.table({"s": pa.concat_arrays([pa.nulls(50_000, pa.string()), texts])})
    pq.write_table(
        rows, sink, write_page_index=True, data_page_version=version, use_dictionary=False,
        data_page_size=8192, write_batch_size=1000,
    )  # fmt: skip
    content = sink.getvalue()
    tree, _ = footer.read(pa.BufferReader(content))
    chunk = footer.value(footer.value(tree, footer.GROUPS)[0], footer.CHUNKS)[0]
    place, size = footer.value(chunk, 6), footer.value(chunk, 7)
    ranges = content.to_pybytes()[place : place + size]
    found, told = declared.read(ColumnIndex, ranges), footer.parsed(ranges)
    assert found.empty == footer.value(told, 1) and {*found.empty} == {True, False}
    assert found.least == footer.value(told, 2) and found.most == footer.value(told, 3)
    begin = footer.value(footer.value(chunk, footer.CHUNK_META), footer.DATA_PAGE)
    header = content.to_pybytes()[begin : begin + 4096]
    counted = [None if one is None else one.values for one in _pages(header)]
    wanted = [footer.value(footer.value(footer.parsed(header), n, {}), 1) for n in (5, 8)]
    assert counted == wanted and wanted.count(None) == 1


def _pages(header: bytes) -> list[declared.Counted | None]:
    found = declared.read(PageHeader, header)
    return [found.first, found.second]


@WAYS
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x19\xf1\xff\xff\xff\xff\x07",  # two billion flags
        b"\x29\x18\xff\xff\xff\xff\x07",  # a text of as many bytes
        b"\x5c\x15\x04",  # it ends within the header of a page
    ],
)
def test_bytes_that_are_none(way: None, content: bytes) -> None:
    for kind in (ColumnIndex, PageHeader):
        with pytest.raises(NoFooter):
            declared.read(kind, content)


@WAYS
def test_any_other_bytes_are_a_structure_or_one_error(way: None) -> None:
    drawn = random.Random(7)
    for _ in range(3000):
        content = drawn.randbytes(drawn.randrange(60))
        for kind in (ColumnIndex, PageHeader):
            try:
                declared.read(kind, content)
            except NoFooter:
                continue
