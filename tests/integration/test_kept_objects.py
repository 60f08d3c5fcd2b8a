"""Reads that were planned before others went on with the table, and handles that threads share: the snapshot, or an error
that says to read again. Never another answer."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hoodoo.errors import CommitConflictError
from hoodoo_rows.testing.tables import Maker

SCHEMA = pa.schema([("id", pa.int64()), ("n", pa.int64())])
SHORT = {
    "hoodie.keep.min.commits": 2, "hoodie.keep.max.commits": 3, "hoodie.clean.commits.retained": 1,
}  # fmt: skip

rows = Maker(SCHEMA, n=1).of


def of_six_files(path: Path, **given: Any) -> hoodoo.Table:
    table = hoodoo.create(str(path), SCHEMA, record_key="id", **given)
    for start in range(0, 60, 10):
        table.bulk_insert(rows(*range(start, start + 10)))
    return table


@pytest.mark.sampled(1, among="long")
def test_a_filter_of_an_old_dataset_after_archiving(tmp_path: Path) -> None:
    of_six_files(tmp_path / "t", index="record_index", options=SHORT)
    kept = hoodoo.open(str(tmp_path / "t")).read().to_dataset()
    other = hoodoo.open(str(tmp_path / "t"), options=SHORT)
    for number in range(8):
        other.bulk_insert(rows(1000 + number))
    other.archive()
    assert kept.to_table(filter=ds.field("id") == 3).num_rows == 1
    assert kept.count_rows() == 60


@pytest.mark.parametrize("index", ["column_stats", "record_index", "by_n"])
def test_a_filter_of_an_old_dataset_after_its_index_was_dropped(tmp_path: Path, index: str) -> None:
    table = of_six_files(tmp_path / "t", index="simple", options={"hoodie.metadata.enable": True})
    if index == "by_n":
        table.create_index("by_n", "n")
    else:  # beside the table's own
        table.handle.run("rebuild_index", name=index, keep_own=True)
    kept = hoodoo.open(str(tmp_path / "t")).read().to_dataset()
    table.drop_index(index)
    assert kept.to_table(filter=ds.field("id") == 3).num_rows == 1
    assert kept.to_table(filter=ds.field("n") == 1).num_rows == 60
    assert kept.to_table(filter=ds.field("n") == 2).num_rows == 0


def test_a_reader_that_has_failed_is_not_empty(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    table.upsert(rows(1, 2))
    reader = table.read().to_reader()
    table.upsert(rows(1, 2, n=2))
    table.clean("by_versions", fileversions_retained=1)
    for _again in range(2):
        with pytest.raises(CommitConflictError, match="read again"):
            reader.read_all()


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("version", [6, 9])
def test_a_read_of_what_was_rolled_back_is_to_be_repeated(
    tmp_path: Path, version: int, kind: str
) -> None:
    table = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, record_key="id", table_version=version, table_type=kind
    )
    table.upsert(rows(1, 2))
    last = table.upsert(rows(1, 2, n=2))
    scan, dataset = table.read(), table.read().to_dataset()
    table.rollback(last.instant)
    for read in (scan.to_arrow, dataset.to_table):
        with pytest.raises(CommitConflictError, match=r"the rollback \d+ has taken it back"):
            read()
    assert table.read().to_pylist() == rows(1, 2).to_pylist()


def test_a_thread_makes_the_plugins_of_new_properties(tmp_path: Path) -> None:
    """Another one takes them away between any two lines."""
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    handle = table.handle
    seen: list[object] = []

    def trace(frame: Any, event: str, argument: Any) -> Any:
        if event == "line" and frame.f_code.co_name == "plugins":
            handle._plugins = None
        return trace

    def run() -> None:
        sys.settrace(trace)
        try:
            seen.append(handle.plugins())
        finally:
            sys.settrace(None)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen and seen[0] is not None
