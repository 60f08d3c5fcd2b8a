"""Arrow and Parquet sources that are read inside the tasks."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import DataError
from hoodoo_rows.testing.contracts.engine_streams import ROWS, by_key, rows
from hoodoo_spark.sources import DecodeRows, ReadFragments, planned


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for day in range(3):
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(rows(100, 100 * day), tmp_path / f"day={day}/a.parquet", row_group_size=10)
    return tmp_path


def test_few_files_are_split_by_row_groups(folder: Path) -> None:
    step, payloads = planned(ds.dataset(str(folder), format="parquet"), 8)
    assert isinstance(step, ReadFragments)
    sizes = [sum(b.num_rows for b in run(step, payload)) for payload in payloads]
    assert sum(sizes) == 300 and len(sizes) == 8 and max(sizes) <= 60


def test_many_files_are_not_opened(folder: Path) -> None:
    paths = [folder / f"{i}.parquet" for i in range(8)]
    for i, path in enumerate(paths):
        path.write_bytes(b"x" * (1000 if i else 7000))  # would fail if it were opened
    dataset = ds.dataset([str(path) for path in paths], schema=ROWS, format="parquet")
    _, payloads = planned(dataset, 2)
    assert [len(pickle.loads(payload)) for payload in payloads] == [1, 7], "not balanced by bytes"


def test_partition_columns_of_a_dataset(folder: Path) -> None:
    dataset = ds.dataset(str(folder), format="parquet", partitioning="hive")
    step, payloads = planned(dataset, 2)
    found = pa.Table.from_batches([b for p in payloads for b in run(step, p)])
    assert found.schema == dataset.schema
    assert set(found.column("day").to_pylist()) == {0, 1, 2}


def test_a_filter_is_kept(folder: Path) -> None:
    dataset = ds.dataset(str(folder), format="parquet").filter(ds.field("key") < 5)
    step, payloads = planned(dataset, 2)
    assert isinstance(step, DecodeRows)
    assert sum(b.num_rows for p in payloads for b in run(step, p)) == 5


def test_tables_are_cut() -> None:
    table = rows(1_000_000)
    step, payloads = planned(table, 4)
    found = [pa.Table.from_batches(run(step, p)) for p in payloads]
    assert 4 <= len(found) <= 40
    assert pa.concat_tables(found).combine_chunks() == table.combine_chunks()


def test_readers_are_read_as_needed() -> None:
    """Chunks leave one by one: the reader is not drained first."""
    taken = []

    def batches() -> Any:
        for i in range(40):
            taken.append(i)
            yield pa.record_batch([[i], ["x" * (4 << 20)]], schema=ROWS)

    _, payloads = planned(pa.RecordBatchReader.from_batches(ROWS, batches()), 4)
    next(payloads)
    assert len(taken) <= 6


@pytest.mark.parametrize("data", [None, 7, [], [1], {"a": 1}])
def test_refused(data: Any) -> None:
    with pytest.raises(DataError):
        planned(data, 2)


@pytest.mark.spark
def test_paths(engine: Any, folder: Path) -> None:
    paths = [folder / f"day={day}/a.parquet" for day in range(3)]
    assert by_key(engine.collect(engine.source(paths))) == rows(300)
    assert by_key(engine.collect(engine.source(str(paths[0])))) == rows(100)


def run(step: Any, payload: bytes) -> list[pa.RecordBatch]:
    batch = pa.record_batch([pa.array([payload], pa.binary())], names=["payload"])
    return list(step(iter([batch]), None))
