"""The bloom index answers what the simple index answers, and what is there: drawn tables and real ones."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from attrs import frozen
from hoodoo.hookspecs.index import KEYS_SCHEMA, LOCATIONS_SCHEMA, IndexContext
from hoodoo.model.filegroup import BaseFile, FileSlice
from hoodoo.model.meta import META_COLUMNS, RECORD_KEY, with_meta
from hoodoo.testing.contracts.index_files import ColumnKeys, file_id
from hoodoo_formats.bloom import DYNAMIC, SIMPLE, BloomOptions
from hoodoo_formats.parquet.format import ParquetFormat
from hoodoo_formats.parquet.writer import WriterOptions
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.index import lookup
from hoodoo_standard.index.bloom import BloomIndex
from hoodoo_standard.index.simple import SimpleIndex
from hoodoo_standard.storage.local import LocalStorage
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.sampled(4)

_INSTANT = "20240101000000000"
_SCHEMA = with_meta(pa.schema([("id", pa.string())]))
# Few keys that are near to each other, and some that the two orders of strings sort differently.
KEYS = st.one_of(
    st.integers(0, 60).map("k{:02d}".format),
    st.sampled_from(["", "k", "k1", "k10x", "é", "\ud7ff", "\ue000", "\uffff", "𝄞", "z" * 300]),
)
PATHS = st.sampled_from(["p=1", "p=2", ""])


@frozen
class File:
    """A base file to be: ``before`` are keys of deleted rows that its filter has kept; ``bloom`` None:
    it has no filter; ``known`` False: nothing of keys at all in its footer."""

    path: str
    keys: tuple[str | None, ...]
    before: tuple[str, ...]
    bloom: BloomOptions | None
    known: bool
    block: int

    def format(self) -> ParquetFormat:
        return ParquetFormat(
            WriterOptions(block_bytes=self.block, bloom=self.bloom, key_stats=self.known)
        )


BLOOMS = st.one_of(
    st.none(),
    st.builds(
        BloomOptions,
        st.sampled_from([SIMPLE, DYNAMIC]),
        st.sampled_from([1e-9, 0.5, 0.9]),
        st.sampled_from([None, 1, 4]),
    ),
)
FILES = st.builds(
    File,
    PATHS,
    st.lists(st.one_of(KEYS, st.none()), max_size=30).map(tuple),
    st.lists(KEYS, max_size=5).map(tuple),
    BLOOMS,
    st.booleans(),
    st.sampled_from([1, 1 << 20]),
)


def written(storage: LocalStorage, number: int, file: File, virtual: bool) -> FileSlice:
    made = file.format()
    base: BaseFile | None = None
    for instant, keys in ((1, file.before), (2, file.keys)):
        if instant == 1 and not (keys and file.bloom and file.known):
            continue
        stamp = f"{_INSTANT}{instant}"
        name = BaseFile(file.path, file_id(number), stamp, "0-0-0", ".parquet")
        columns = {n: pa.nulls(len(keys), pa.string()) for n in META_COLUMNS}
        columns["id"] = pa.array(keys, pa.string())
        if not virtual:
            columns[RECORD_KEY] = columns["id"]
        local = os.path.join(storage.scratch(), f"{number}.building")
        reader = None if base is None else made.reader(storage, base.path)
        writer = made.writer(local, _SCHEMA, len(keys), reader)
        for row in range(0, len(keys), 7):
            # What a file has that this one replaces is in the filter that is carried over.
            table = pa.table(columns, schema=_SCHEMA).slice(row, 7)
            writer.write(table)
        size = writer.close()
        if reader is not None:
            reader.close()
        assert storage.put_file_if_absent(name.path, local)
        base = BaseFile(file.path, file_id(number), stamp, "0-0-0", ".parquet", size)
    assert base is not None
    return FileSlice(file.path, file_id(number), base.instant, base)


def asked_of(index: Any, asked: list[tuple[str, str]], context: IndexContext) -> list[Any]:
    keys = pa.table(
        {"record_key": [k for k, _ in asked], "partition_path": [p for _, p in asked]},
        schema=KEYS_SCHEMA,
    )
    found = context.engine.collect(index.locate(context.engine.source(keys), context))
    return [tuple(row[n] for n in LOCATIONS_SCHEMA.names) for row in found.to_pylist()]


@settings(max_examples=150)
@given(
    st.lists(FILES, max_size=6),
    st.lists(st.tuples(KEYS, PATHS), max_size=25, unique=True),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0, 2]),
    st.sampled_from([0, 1 << 20]),
)
def test_answers_what_simple_answers_and_what_is_there(
    files: list[File], asked: list[tuple[str, str]], anywhere: bool, ranges: bool, virtual: bool,
    cost: int, side_bytes: int,
) -> None:  # fmt: skip
    if virtual:
        files = [f for f in files if None not in f.keys]
    with tempfile.TemporaryDirectory() as root, pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup, "_FILTER_COST", cost)
        storage = LocalStorage(root, durable=False)
        context = IndexContext(
            LocalEngine(1), storage, [written(storage, n, f, virtual) for n, f in enumerate(files)],
            ParquetFormat(), ColumnKeys() if virtual else None, key_rows=len(asked),
            key_bytes=len(asked),
        )  # fmt: skip
        found = asked_of(BloomIndex(anywhere, False, side_bytes, ranges), asked, context)
        simple = asked_of(SimpleIndex(anywhere, False, side_bytes), asked, context)
    there = {
        (key, file.path, file_id(n))
        for n, file in enumerate(files)
        for key in file.keys
        if key is not None and any(key == k and (anywhere or p == file.path) for k, p in asked)
    }
    assert sorted(found) == sorted(simple) == sorted(there)


REAL = [
    "cow_v6_complexkeygen_hivestyle",
    "cow_v6_nonpartitioned",
    "cow_v6_simplekeygen_hivestyle_no_metafields",
    "cow_v9_txns_complex_meta",
    "cow_v9_txns_nonpart_meta",
    "cow_v9_txns_simple_nometa",
]


@pytest.mark.parametrize("index", ["bloom", "global_bloom"])
@pytest.mark.parametrize("name", REAL)
def test_rows_of_real_tables_are_found(
    name: str, index: str, golden: Callable[[str], Path], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(lookup, "_FILTER_COST", 0)
    path = shutil.copytree(golden(name), tmp_path / "table")
    table = hoodoo.open(str(path), index=index)
    rows = table.read().to_arrow()
    stats = table.upsert(rows)
    assert (stats.updated, stats.inserted) == (rows.num_rows, 0)
    assert table.read().to_arrow().num_rows == rows.num_rows


# --- tables -------------------------------------------------------------------------------------
def data(*rows: tuple[int, str, int]) -> pa.Table:
    names = ("id", "part", "v")
    return pa.table(dict(zip(names, zip(*rows))))


@pytest.mark.parametrize(
    ("index", "moves", "expected"),
    [
        ("bloom", None, [(1, "a", 1), (1, "b", 2), (2, "a", 1)]),
        ("org.apache.hudi.index.bloom.HoodieBloomIndex", None,
         [(1, "a", 1), (1, "b", 2), (2, "a", 1)]),
        ("GLOBAL_BLOOM", None, [(1, "b", 2), (2, "a", 1)]),
        ("GLOBAL_BLOOM", "false", [(1, "b", 2), (2, "a", 1)]),
    ],
)  # fmt: skip
def test_a_key_that_arrives_with_another_partition_path(
    tmp_path: Path, index: str, moves: str | None, expected: list[tuple[int, str, int]]
) -> None:
    options = {} if moves is None else {"hoodie.bloom.index.update.partition.path": moves}
    first = data((1, "a", 1), (2, "a", 1))
    table = hoodoo.create(
        str(tmp_path / "t"), first.schema, record_key="id", partition_by="part", index=index,
        options=options,
    )  # fmt: skip
    table.upsert(first)
    hoodoo.open(table.path).upsert(data((1, "b", 2)))
    rows = table.read().to_arrow().sort_by([("id", "ascending"), ("v", "ascending")])
    assert [tuple(r[n] for n in ("id", "part", "v")) for r in rows.to_pylist()] == expected
    lying = {p.name for p in (tmp_path / "t").iterdir() if p.is_dir()}
    assert ("b" in lying) == (moves != "false")
