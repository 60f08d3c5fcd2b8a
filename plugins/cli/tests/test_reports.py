"""Looking at a table: timeline, files, sizes; without any plugin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hoodoo.model.commit import CommitMetadata, Operation, WriteStat
from hoodoo.model.config import TableConfig
from hoodoo.timeline.codec.avro import encode
from hoodoo.timeline.layouts import LAYOUTS
from hoodoo.timeline.removed import removed_by
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline, load
from hoodoo_cli.reports.files import slice_rows
from hoodoo_cli.reports.stats import written
from hoodoo_cli.reports.timeline import timeline_page
from hoodoo_rows.sizes import Sizes
from hoodoo_standard.storage.local import LocalStorage

CONFIG = TableConfig({"hoodie.table.name": "t", "hoodie.table.version": "9"})
FOLDER = ".hoodie/timeline"


def at(number: int) -> str:
    return f"2025010100000{number:04d}"


def base(number: int, group: str = "g", rows: int = 10, size: int = 100, **more: Any) -> WriteStat:
    path = f"p/{group}_0-0-0_{at(number)}.parquet"
    return WriteStat("p", group, path, num_writes=rows, file_size=size, **more)


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path))


def commit(storage: LocalStorage, number: int, *stats: WriteStat, action: str = "commit") -> None:
    for stat in stats:
        storage.put(stat.path, b"x" * stat.file_size)
    data = LAYOUTS[2].encode_commit(CommitMetadata(Operation.UPSERT, stats), action)
    storage.put(f"{FOLDER}/{at(number)}_{at(number + 1)}.{action}", data)


def timeline(storage: LocalStorage) -> Timeline:
    return load(storage, CONFIG)


# --- the timeline -----------------------------------------------------------------------------------
def test_timeline(storage: LocalStorage) -> None:
    commit(storage, 10, base(10, num_inserts=10))
    commit(storage, 20, base(20, num_updates=3, num_deletes=1), base(20, "h", num_inserts=5))
    plan = {"instantToRollback": {"commitTime": at(15), "action": "commit"}}
    storage.put(f"{FOLDER}/{at(30)}.rollback.requested", encode("HoodieRollbackPlan", plan))
    page = timeline_page(Snapshot(storage, timeline(storage)))
    assert page.total == 3
    last, second, first = page.rows
    assert (last.action, last.state, last.detail) == ("rollback", "requested", f"undoes {at(15)}")
    assert last.completed is None
    assert (second.requested, second.completed, second.state) == (at(20), at(21), "completed")
    assert (second.inserted, second.updated, second.deleted) == (5, 3, 1)
    assert (second.files, second.bytes, second.operation) == (2, 200, "upsert")
    assert (first.requested, first.inserted, first.archived) == (at(10), 10, False)


def test_timeline_reads_what_it_shows(storage: LocalStorage) -> None:
    commit(storage, 10, base(10))
    storage.put(f"{FOLDER}/{at(20)}_{at(21)}.commit", b"nonsense")
    newest = timeline_page(Snapshot(storage, timeline(storage)), limit=1)
    assert newest.total == 2
    (row,) = newest.rows
    assert row.requested == at(20) and row.detail.startswith("can't be read: ")


def test_pending_alone(storage: LocalStorage) -> None:
    commit(storage, 10, base(10))
    storage.put(f"{FOLDER}/{at(20)}.commit.requested", b"")
    page = timeline_page(Snapshot(storage, timeline(storage)), pending=True)
    assert [(row.requested, row.state) for row in page.rows] == [(at(20), "requested")]
    assert page.total == 1


# --- files ------------------------------------------------------------------------------------------
def test_files(storage: LocalStorage) -> None:
    commit(storage, 10, base(10), base(10, "h", size=50))
    commit(storage, 20, base(20, size=70))
    log = f"p/.g_{at(30)}.log.1_0-0-0"
    stat = WriteStat("p", "g", log, file_size=7, log_version=1, log_files=(log[2:],))
    commit(storage, 30, stat, action="deltacommit")
    rows = slice_rows(Snapshot(storage, timeline(storage)))
    assert [(r.file_id, r.instant, r.base_bytes, r.log_bytes) for r in rows] == [
        ("g", at(20), 70, 7),
        ("h", at(10), 50, 0),
    ]
    assert rows[0].log_files == (log[2:],) and rows[0].bytes == 77
    every = slice_rows(Snapshot(storage, timeline(storage)), every=True)
    assert [(r.file_id, r.instant, r.newest) for r in every] == [
        ("g", at(20), True),
        ("g", at(10), False),
        ("h", at(10), True),
    ]
    before = slice_rows(Snapshot(storage, timeline(storage)), bound=at(15))
    assert [r.instant for r in before] == [at(10), at(10)]
    assert len(slice_rows(Snapshot(storage, timeline(storage)), partition="p/")) == 2
    assert slice_rows(Snapshot(storage, timeline(storage)), partition="pp") == ()


# --- sizes ------------------------------------------------------------------------------------------
def test_sizes() -> None:
    assert Sizes.of([]) == Sizes()
    found = Sizes.of(list(range(100, 0, -1)))
    assert (found.count, found.bytes, found.smallest, found.largest) == (100, 5050, 1, 100)
    assert (found.p10, found.median, found.p90) == (11, 51, 90)


def test_write_amplification() -> None:
    """100 bytes to change 1 row of 10: ten times as much as has changed."""
    load_ = CommitMetadata(Operation.INSERT, (base(1, rows=10, size=100, num_inserts=10),))
    assert written([load_]).amplification == 1.0
    update = CommitMetadata(Operation.UPSERT, (base(2, rows=10, size=100, num_updates=1),))
    found = written([update])
    assert (found.bytes, found.changed_rows, found.changed_bytes) == (100, 1, 10)
    assert found.amplification == 10.0
    both = written([load_, update])
    assert (both.commits, both.bytes, both.changed_bytes) == (2, 200, 110)


def test_a_log_file_is_all_change_and_a_compaction_none() -> None:
    log = WriteStat("p", "g", "p/.g.log", file_size=30, num_updates=2, log_version=1)
    delta = CommitMetadata(Operation.UPSERT, (log,))
    compaction = CommitMetadata(Operation.COMPACT, (base(3, size=100, num_updates=2),))
    found = written([delta, compaction])
    assert (found.bytes, found.changed_rows, found.changed_bytes) == (130, 2, 30)
    appended = WriteStat("p", "g", "l", file_size=90, log_version=1, extra={"totalWriteBytes": 30})
    assert written([CommitMetadata(Operation.UPSERT, (appended,))]).bytes == 30


def test_nothing_changed() -> None:
    assert written([]).amplification is None
    assert written([CommitMetadata(Operation.COMPACT, (base(1),))]).amplification is None
    emptied = CommitMetadata(Operation.DELETE, (base(1, rows=0, size=40, num_deletes=10),))
    assert written([emptied]).changed_bytes == 40


# --- what cleans say --------------------------------------------------------------------------------
def test_files_that_a_clean_removes() -> None:
    plan = {
        "filesToBeDeletedPerPartition": {"p": ["a.parquet"]},
        "filePathsToBeDeletedPerPartition": {"p": [{"filePath": "/somewhere/t/p/b.parquet"}]},
        "partitionsToBeDeleted": ["q"],
    }
    assert removed_by(plan) == {("p", "a.parquet"), ("p", "b.parquet"), ("q", "")}
    done = {
        "partitionMetadata": {
            "p": {"successDeleteFiles": ["c.parquet"], "deletePathPatterns": ["p/d.parquet"]},
            "q": {"isPartitionDeleted": True},
        }
    }
    assert removed_by(done) == {("p", "c.parquet"), ("p", "d.parquet"), ("q", "")}
