"""A task keeps to its memory: beyond it rows wait on disk, and the table is the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.engine import task_memory
from hoodoo_formats.parquet.writer import ParquetWriter
from hoodoo_rows.engine.spill import Spill
from hoodoo_standard.engine.local import LocalEngine

pytestmark = pytest.mark.sampled(4)

TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("note", pa.string())])
SMALL, LARGE = {"hoodoo.memory.bytes": "1MB"}, {"hoodoo.memory.bytes": "1GB"}
COUNT, PATHS = 24_000, 40


def batches(paths: int = PATHS) -> Iterator[pa.RecordBatch]:
    """About 3 MB in batches, the paths in turn, of which some have far more rows than others."""
    for first in range(0, COUNT, 2000):
        ids = np.arange(first, first + 2000)
        cities = [f"c{n % paths if n % 3 else n % 2}" for n in ids]
        notes = [f"{n * 7919:0100d}" for n in ids]
        yield pa.record_batch([pa.array(ids), pa.array(cities), pa.array(notes)], SCHEMA)


def stream(paths: int = PATHS) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(SCHEMA, batches(paths))


def made(path: Path, kind: str, options: dict[str, str], **more: Any) -> hoodoo.Table:
    return hoodoo.create(
        str(path), SCHEMA, record_key="id", table_type=kind, options=options,
        **{"partition_by": "city", **more},
    )  # fmt: skip


def found(table: hoodoo.Table) -> pa.Table:
    return table.read(columns=SCHEMA.names).to_arrow().sort_by("id")


@pytest.fixture
def spills(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each file of rows that waited on disk."""
    seen: list[int] = []
    real = Spill.write_routed

    def counted(self: Spill, *args: Any, **more: Any) -> Any:
        seen.append(1)
        return real(self, *args, **more)

    monkeypatch.setattr(Spill, "write_routed", counted)
    return seen


@pytest.fixture
def most_open(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many base files were under construction, each time one was begun."""
    seen: list[int] = []
    open_: set[int] = set()
    begin, close = ParquetWriter.__init__, ParquetWriter.close

    def begun(self: ParquetWriter, *args: Any, **more: Any) -> None:
        open_.add(id(self))
        seen.append(len(open_))
        begin(self, *args, **more)

    def closed(self: ParquetWriter) -> int:
        open_.discard(id(self))
        return close(self)

    monkeypatch.setattr(ParquetWriter, "__init__", begun)
    monkeypatch.setattr(ParquetWriter, "close", closed)
    return seen


@pytest.mark.parametrize("layout", ["paths", "virtual keys", "one path", "no paths"])
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("how", ["bulk_insert", "append"])
def test_writes_without_an_exchange(
    how: str, kind: str, layout: str, tmp_path: Path, spills: list[int], most_open: list[int]
) -> None:
    virtual = {"hoodie.populate.meta.fields": "false"} if layout == "virtual keys" else {}
    more = {"partition_by": ()} if layout == "no paths" else {}
    paths = 1 if layout == "one path" else PATHS
    tables = {}
    for name, options in {"large": LARGE, "small": SMALL}.items():
        spills.clear()
        most_open.clear()
        tables[name] = table = made(tmp_path / name, kind, options | virtual, **more)
        getattr(table, how)(stream(paths))
        if name == "large":
            assert max(most_open) == 1 and not spills
    large, small = found(tables["large"]), found(tables["small"])
    assert small.equals(large) and small.num_rows == COUNT
    # As many as have a third of the memory, of an eighth each.
    assert max(most_open) <= 2
    assert spills
    by_path = [sorted(s.partition_path for s in table.file_slices()) for table in tables.values()]
    assert by_path[0] == by_path[1]
    assert len(set(by_path[1])) == len(by_path[1]), "one file for each path of a task"


def test_buckets_of_paths_are_cut_again(tmp_path: Path, spills: list[int]) -> None:
    """More than fits after the rows were dealt to buckets: these are dealt again."""
    wide = pa.schema([("id", pa.int64()), ("city", pa.string()), ("note", pa.string())])

    def batches() -> Iterator[pa.RecordBatch]:
        for first in range(0, 1600, 100):
            ids = np.arange(first, first + 100)
            # Paths 0, 1 are kept; 256 apart are of one bucket, in the order in which they are met.
            cities = [f"c{n if n < 300 else (n % 4) * 256 + 9}" for n in ids]
            yield pa.record_batch([ids, cities, ["x" * 4000] * 100], schema=wide)

    table = hoodoo.create(
        str(tmp_path / "t"), wide, record_key="id", partition_by="city", options=SMALL
    )
    table.bulk_insert(pa.RecordBatchReader.from_batches(wide, batches()))
    assert len(spills) > 1
    assert sorted(table.read().to_arrow()["id"].to_pylist()) == list(range(1600))


def test_rows_of_a_path_keep_their_order(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "COPY_ON_WRITE", SMALL)
    table.bulk_insert(stream())
    read = table.read().to_arrow()
    for city in ("c0", "c7", "c39"):
        ids = read.filter(pa.compute.equal(read["city"], city))["id"].to_pylist()
        assert ids == sorted(ids) and len(ids) > 10


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("index", ["simple", "bucket"])
def test_writes_with_an_exchange(kind: str, index: str, tmp_path: Path) -> None:
    tables = []
    for name, options in {"large": LARGE, "small": SMALL}.items():
        buckets = {"hoodie.bucket.index.num.buckets": "2"} if index == "bucket" else {}
        table = made(tmp_path / name, kind, options | buckets, index=index)
        table.insert(stream(8))
        changed = pa.Table.from_batches(batches(8)).slice(COUNT // 2)
        table.upsert(changed.set_column(2, "note", pa.array(["new"] * changed.num_rows)))
        table.delete(changed.slice(0, 100))
        tables.append(found(table))
    assert tables[0].equals(tables[1]) and tables[0].num_rows == COUNT - 100


@pytest.mark.parametrize("kind", TYPES)
def test_clustering(kind: str, tmp_path: Path) -> None:
    tables = []
    for name, options in {"large": LARGE, "small": SMALL}.items():
        table = made(tmp_path / name, kind, options)
        table.bulk_insert(stream(4))
        table.cluster(columns=["note"], order="linear")
        tables.append(found(table))
    assert tables[0].equals(tables[1]) and tables[0].num_rows == COUNT


@pytest.mark.parametrize("value", ["0", "-1", "1000", "much", "", "1 apple"])
def test_bad_budgets_are_refused(value: str, tmp_path: Path) -> None:
    made(tmp_path / "t", "COPY_ON_WRITE", {}).upsert(pa.Table.from_batches([next(batches())]))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ConfigError, match="hoodoo.memory.bytes"):
        hoodoo.open(str(tmp_path / "t"), {"hoodoo.memory.bytes": value}).bulk_insert(stream())
    with pytest.raises(ConfigError, match="hoodoo.memory.bytes"):
        made(tmp_path / "other", "COPY_ON_WRITE", {"hoodoo.memory.bytes": value})
    assert sorted(tmp_path.rglob("*")) == before


def test_who_says_how_much() -> None:
    """The options of the call, then the engine, then 256 MiB."""
    assert (
        task_memory(LocalEngine(1, memory=5 << 20), {"hoodoo.memory.bytes": "7340032"}) == 7 << 20
    )
    assert task_memory(LocalEngine(1, memory=5 << 20), {}) == 5 << 20
    assert 64 << 20 <= task_memory(LocalEngine(1), {}) <= 1 << 30
    unknowing: Any = object()
    assert task_memory(unknowing, {}) == 256 << 20
