"""Log compaction, through the public API: what is on disk, and what nobody sees of it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import CommitConflictError, ConfigError, UnsupportedTableError
from hoodoo.kernel.log_files import log_files
from hoodoo.model.commit import Operation
from hoodoo.model.instant import Instant, State
from hoodoo.model.log_block import BlockKind, Header, LogBlock
from hoodoo.timeline import publish
from hoodoo.timeline.plans import read_plan
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_rows.merge.log_rows import counting
from hoodoo_services.compaction.merge_logs import CompactLogs

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string()), ("ts", pa.int64())])
VERSIONS = (6, 9)
META = ["_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key"]
OPTIONS = {
    "hoodie.bucket.index.num.buckets": "1",
    "hoodie.clean.automatic": "false",
    "hoodie.log.compaction.blocks.threshold": "3",
}


def data(ids: Sequence[int], v: str, ts: int) -> pa.Table:
    return pa.table([ids, [v] * len(ids), [ts] * len(ids)], schema=SCHEMA)


def filled(path: Path, version: int = 9, writes: int = 3, **options: str) -> hoodoo.Table:
    """A base file, and ``writes`` log files."""
    table = hoodoo.create(
        str(path / "t"), SCHEMA, record_key="id", ordering="ts", table_type="MERGE_ON_READ",
        table_version=version, index="bucket", options={**OPTIONS, **options},
    )  # fmt: skip
    table.bulk_insert(data(range(6), "old", 0))
    for number in range(writes):
        table.upsert(data([number, number + 1], f"v{number}", number + 1))
    return table


def found(table: hoodoo.Table, **how: Any) -> list[dict[str, Any]]:
    rows = table.read(columns=[*META, *SCHEMA.names], **how).to_arrow().to_pylist()
    return sorted(rows, key=lambda row: int(row["id"]))


def blocks(table: hoodoo.Table, path: str) -> tuple[LogBlock, ...]:
    with log_files(table.config).reader(table.handle.storage, path) as reader:
        return tuple(reader.blocks)


def pending(table: hoodoo.Table) -> list[Instant]:
    return [i for i in table.timeline().pending() if i.action == "logcompaction"]


# --- on disk --------------------------------------------------------------------------------------
@pytest.mark.parametrize("version", VERSIONS)
def test_its_blocks_and_its_commit(tmp_path: Path, version: int) -> None:
    table = filled(tmp_path, version)
    table.delete([4])
    writes = [i.requested for i in table.timeline().writes()][1:]
    before = found(table)
    done = table.run("logcompaction")
    assert found(table) == found(hoodoo.open(str(tmp_path / "t"))) == before
    (path,) = done.files
    rows, deletes = blocks(table, path)
    assert rows.is_data and deletes.kind == BlockKind.DELETE
    for block in (rows, deletes):
        assert block.instant == done.instant
        assert block.headers[Header.COMPACTED_BLOCK_TIMES] == ",".join(writes)
        assert Header.RECORD_POSITIONS not in block.headers
        assert Header.BASE_FILE_INSTANT not in block.headers
    timeline, storage = table.timeline(), table.handle.storage
    instant = timeline.find(done.instant)
    assert instant is not None and instant.action == "deltacommit"
    told = timeline.metadata(storage, instant)
    assert told.operation is Operation.LOG_COMPACT and not told.compacted
    assert [s.path for s in told.stats] == [path]
    (slice_,) = table.file_slices()
    assert len(slice_.log_files) == len(writes) + 1, "the merged log files stay"
    assert (done.inserted, done.updated, done.deleted) == (0, 0, 0)


def test_its_plan_is_hudis(tmp_path: Path) -> None:
    table = filled(tmp_path)
    instant = table.schedule("logcompaction")
    assert instant is not None and table.schedule("logcompaction") is None, "they are planned"
    timeline, storage = table.timeline(), table.handle.storage
    raw = timeline.contents(storage, Instant(instant, "logcompaction", State.REQUESTED))
    runner = "org.apache.hudi.table.action.compact.LogCompactionExecutionHelper"
    assert raw["strategy"] == {"compactorClassName": runner, "strategyParams": {}, "version": 1}
    assert raw["preserveHoodieMetadata"] is True and raw["version"] == 2
    plan = read_plan(Snapshot(storage, timeline), pending(table)[0])
    (slice_,) = table.file_slices()
    assert plan.slices[0].log_files == slice_.log_files
    assert table.run_planned("logcompaction", instant).instant == instant
    assert pending(table) == []
    with pytest.raises(ConfigError, match="is not pending"):
        table.run_planned("logcompaction", instant)


def test_which_slices(tmp_path: Path) -> None:
    table = filled(tmp_path, writes=2)
    assert table.run("logcompaction").instant == "", "two blocks are too few"
    table.upsert(data([1], "more", 7))
    assert table.run("logcompaction", strategy="log_size").instant
    table.upsert(data([1], "more", 8))
    assert table.run("logcompaction").instant == "", "merged blocks count as one"
    table.upsert(data([1], "more", 9))
    again = table.run("logcompaction")
    (block,) = blocks(table, again.files[0])
    assert len(block.compacted_times) == 3, "an earlier log compaction counts under its own instant"
    large = {"hoodie.compaction.logfile.size.threshold": "1m"}
    for number in range(3):
        table.upsert(data([2], "few", 10 + number))
    table = hoodoo.open(str(tmp_path / "t"), {**OPTIONS, **large})
    assert table.run("logcompaction", strategy="log_size").instant == ""


def test_a_table_that_is_copied_on_write(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    with pytest.raises(UnsupportedTableError, match="has no log files"):
        table.run("logcompaction")


@pytest.mark.parametrize("version", VERSIONS)
def test_after_writes(tmp_path: Path, version: int) -> None:
    filled(tmp_path, version, writes=2)
    inline = {**OPTIONS, "hoodie.log.compaction.inline": "true"}
    table = hoodoo.open(str(tmp_path / "t"), inline)
    table.upsert(data([3], "x", 9))
    timeline, storage = table.timeline(), table.handle.storage
    told = [timeline.metadata(storage, i).operation for i in timeline.writes()]
    assert told[-1] is Operation.LOG_COMPACT
    for number in range(2):
        table.upsert(data([3], "x", 10 + number))
    timeline = table.timeline()
    told = [timeline.metadata(storage, i).operation for i in timeline.writes()]
    assert told[-2:] == [Operation.UPSERT] * 2, "too few writes came since"
    table.upsert(data([3], "x", 12))
    timeline = table.timeline()
    assert timeline.metadata(storage, timeline.writes()[-1]).operation is Operation.LOG_COMPACT


# --- neighbours -----------------------------------------------------------------------------------
@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_appears(tmp_path: Path, version: int) -> None:
    table = filled(tmp_path, version)
    points = [i.requested for i in table.timeline().writes()]
    ends = [i.completed or i.requested for i in table.timeline().writes()]

    def seen() -> list[Any]:
        return [
            *(found(table, as_of=point) for point in points),
            *(table.incremental(end, meta=True).to_arrow().to_pylist() for end in ends),
            *(table.changes(end).to_arrow().to_pylist() for end in ends),
            found(table, mode="read_optimized"),
        ]

    before, newest = seen(), found(table)
    done = table.run("logcompaction")
    assert seen() == before
    assert found(table, as_of=done.instant) == newest
    end = done.completed or done.instant
    assert table.incremental(end).to_arrow().num_rows == 0
    assert table.changes(end).to_arrow().num_rows == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_undone(tmp_path: Path, version: int) -> None:
    """By a rollback, and by a restore to a write before it."""
    table = filled(tmp_path, version)
    before, newest = found(table), table.timeline().writes()[-1].requested
    done = table.run("logcompaction")
    table.rollback(done.instant)
    assert found(table) == before and not (tmp_path / "t" / done.files[0]).exists()
    table.run("logcompaction")
    table.upsert(data([1], "later", 20))
    table.restore(newest)
    assert found(table) == before
    assert table.run("logcompaction").instant and found(table) == before
    assert not table.report("verify").findings


@pytest.mark.parametrize("version", VERSIONS)
def test_compacted_and_cleaned(tmp_path: Path, version: int) -> None:
    """The merged log files stay until their slice goes."""
    table = filled(tmp_path, version)
    table.savepoint()
    saved = table.timeline().writes()[-1].requested
    done = table.run("logcompaction")
    table.upsert(data([1, 5], "new", 20))
    before, then = found(table), found(table, as_of=saved)
    logs = {log.path for s in table.file_slices() for log in s.log_files}
    table.clean(commits_retained=1)
    assert {log.path for s in table.file_slices() for log in s.log_files} == logs
    table.compact()
    table.upsert(data([0], "newer", 21))
    table.compact()
    table.clean(commits_retained=1)
    assert found(table, as_of=saved) == then, "the savepoint keeps its slice"
    assert all((tmp_path / "t" / path).exists() for path in logs - set(done.files))
    table.delete_savepoint(saved)
    table.clean(commits_retained=1)
    assert not any((tmp_path / "t" / path).exists() for path in logs)
    assert [row["v"] for row in found(table)][1:] == [row["v"] for row in before][1:]


def test_archived(tmp_path: Path) -> None:
    table = filled(tmp_path)
    done = table.run("logcompaction")
    before = found(table)
    table.compact()
    for number in range(6):
        table.upsert(data([5], "x", 30 + number))
    table = hoodoo.open(
        str(tmp_path / "t"),
        {**OPTIONS, "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3",
         "hoodie.clean.commits.retained": "1"},
    )  # fmt: skip
    table.compact()
    table.clean()
    archived = {i.requested for i in table.archive().instants}
    assert done.instant in archived
    assert found(table)[:5] == before[:5]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_planned_gives_way_to_a_compaction(tmp_path: Path, version: int) -> None:
    table = filled(tmp_path, version)
    instant = table.schedule("logcompaction")
    assert instant is not None
    table.compact()
    before = found(table)
    with pytest.raises(CommitConflictError, match="has changed since"):
        table.run_planned("logcompaction", instant)
    assert pending(table) == [] and found(table) == before


@pytest.mark.parametrize("version", VERSIONS)
def test_a_group_of_a_pending_compaction_stays_out(tmp_path: Path, version: int) -> None:
    table = filled(tmp_path, version)
    table.schedule_compaction()
    for number in range(4):
        table.upsert(data([1], "x", 20 + number))
    assert table.run("logcompaction").instant == ""
    before = found(table)
    table.compact()
    assert found(table) == before


# --- beside others --------------------------------------------------------------------------------
def _act_within(monkeypatch: pytest.MonkeyPatch, act: Any) -> None:
    """``act`` happens when the log files have been merged, before that is published."""
    compact = CompactLogs._compact

    def then(self: CompactLogs, job: Any) -> Any:
        made = compact(self, job)
        thread = threading.Thread(target=act)
        thread.start()
        thread.join()
        return made

    monkeypatch.setattr(CompactLogs, "_compact", then)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_write_that_began_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    table, other = filled(tmp_path, version), hoodoo.open(str(tmp_path / "t"), OPTIONS)
    _act_within(monkeypatch, lambda: other.upsert(data([1, 5], "beside", 20)))
    done = table.run("logcompaction")
    assert done.instant
    assert {r["id"]: r["v"] for r in found(table)}.items() >= {1: "beside", 5: "beside"}.items()
    before = found(table)
    table.compact()
    assert found(table) == before


@pytest.mark.parametrize("version", VERSIONS)
def test_a_compaction_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    table, other = filled(tmp_path, version), hoodoo.open(str(tmp_path / "t"), OPTIONS)
    before = [row["v"] for row in found(table)]
    _act_within(monkeypatch, other.compact)
    with pytest.raises(CommitConflictError, match="It is undone"):
        table.run("logcompaction")
    assert pending(table) == [] and [row["v"] for row in found(table)] == before
    assert not table.report("verify").findings


def test_none_is_planned_beside_a_write(tmp_path: Path) -> None:
    table = filled(tmp_path)
    timeline, storage = table.timeline(), table.handle.storage
    publish.request(Snapshot(storage, timeline), "deltacommit", b"")

    def hold(*_args: Any, **_more: Any) -> Any:
        return ()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hoodoo_services.compaction.action.recover", hold)
        with pytest.raises(CommitConflictError, match="is in progress"):
            table.run("logcompaction")
    assert table.run("logcompaction").instant, "its writer had died"


@pytest.mark.parametrize("version", VERSIONS)
def test_what_another_tool_has_begun(tmp_path: Path, version: int) -> None:
    """A writer leaves it alone; who asks for a log compaction undoes it, and runs another one."""
    table = filled(tmp_path, version)
    instant = table.schedule("logcompaction")
    storage, timeline = table.handle.storage, table.timeline()
    publish.inflight(Snapshot(storage, timeline), pending(table)[0])
    table.upsert(data([2], "beside", 20))
    assert [i.requested for i in pending(table)] == [instant]
    with pytest.raises(CommitConflictError, match="was begun by another tool"):
        table.run_planned("logcompaction", str(instant))
    before = found(table)
    done = table.run("logcompaction")
    assert done.instant not in ("", instant) and pending(table) == []
    assert found(table) == before


def test_blocks_count_at_the_place_of_those_that_they_replace() -> None:
    """Where none of these is in the slice, its base file has their rows: the block counts for nothing."""

    def block(instant: str, *times: str) -> tuple[str, LogBlock]:
        headers = {int(Header.INSTANT_TIME): instant}
        if times:
            headers[int(Header.COMPACTED_BLOCK_TIMES)] = ",".join(times)
        return instant, LogBlock(BlockKind.PARQUET, 0, 9, headers, 0, 0)

    def counted(*found: tuple[str, LogBlock]) -> list[str]:
        return [instant for instant, _ in counting(found, lambda instant: True)]

    one, two, three, merged = block("1"), block("2"), block("3"), block("5", "1", "2")
    assert counted(one, two, three, merged) == ["5", "3"]
    assert counted(three, merged) == ["3"]
    assert counted(two, three, merged) == ["5", "3"]
    assert counted(one, two, three, merged, block("6", "5", "3")) == ["6"]
    assert counted(one, two, merged, three, block("4"), block("6", "5", "3")) == ["6", "4"]
