"""Clean, through the public API: what goes, what stays, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import hoodoo
import hudi
import pyarrow as pa
import pytest
from attrs import frozen
from hoodoo.errors import (
    CommitConflictError,
    ConfigError,
    HoodooWarning,
    PluginError,
    StorageError,
    UnknownOptionError,
)
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.instant import Instant, State
from hoodoo.table.handle import TableHandle
from hoodoo.table.table import Table
from hoodoo.testing.stores import Crash, CrashingStorage, RecordingStorage
from hoodoo.timeline import properties, publish
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.instants import from_datetime, to_datetime
from hoodoo.timeline.plans import PLANNER
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_services import savepoints
from hoodoo_services.clean.plan import last_clean, pending_cleans, planned_files, read_plan
from hoodoo_services.hookspecs.cleaning import Aged, History
from hoodoo_services.outcome import Cleaned
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.storage.local import LocalStorage

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema(
    [("id", pa.int64()), ("day", pa.string()), ("v", pa.string()), ("ts", pa.int64())]
)
DAYS = ("d0", "d1", "d2")
NEVER = {"hoodie.clean.automatic": "false"}
COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
kinds = pytest.mark.parametrize(("version", "kind"), [(9, COW), (6, COW), (9, MOR), (6, MOR)])
versions = pytest.mark.parametrize("version", [9, 6])


def create(
    path: Path, version: int = 9, kind: str = COW, options: Mapping[str, Any] = NEVER, **more: Any
) -> hoodoo.Table:
    given = {"record_key": "id", "partition_by": "day", "ordering": "ts", **more}
    return hoodoo.create(
        str(path), SCHEMA, table_version=version, table_type=kind, options=options, **given
    )


def data(ids: Sequence[int], v: str, ts: int) -> pa.Table:
    days = [DAYS[n % 3] for n in ids]
    return pa.table([ids, days, [v] * len(ids), [ts] * len(ids)], schema=SCHEMA)


def written(
    table: hoodoo.Table, times: int, ids: Sequence[int] = (0, 1, 2), first: int = 0
) -> list[str]:
    """Each write updates each of ``ids``; tables that are merged on read are compacted each time."""
    found = []
    for n in range(first, first + times):
        commit = table.upsert(data(ids, f"v{n}", n))
        if table.config.table_type == MOR and n:
            commit = table.compact()
        found.append(commit.instant)
    return found


def files(path: Path, suffix: str = "") -> list[str]:
    """Data files, and what makes partitions."""
    found = (p for p in path.rglob("*") if p.is_file() and ".hoodie" not in p.parts)
    return sorted(str(p.relative_to(path)) for p in found if p.name.endswith(suffix))


def bases(path: Path, day: str = "") -> list[str]:
    return [f for f in files(path, ".parquet") if f.startswith(day)]


def logs(path: Path) -> list[str]:
    return [f for f in files(path) if ".log." in f]


def seen(found: Any) -> dict[int, tuple[str, int]]:
    rows = pa.table(found).select(["id", "v", "ts"]).to_pylist()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: (row["v"], row["ts"]) for row in rows}


def theirs(path: Path) -> dict[int, tuple[str, int]]:
    batches = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read(hudi.HudiReadOptions())
    return seen(pa.Table.from_batches(batches))


def cleans(table: hoodoo.Table) -> list[str]:
    return [i.requested for i in table.timeline().instants if i.action == "clean"]


def store(path: Path) -> LocalStorage:
    return LocalStorage(str(path))


# --- what goes ------------------------------------------------------------------------------------
@kinds
def test_by_commits(tmp_path: Path, version: int, kind: str) -> None:
    table = create(tmp_path, version, kind)
    written(table, 5)
    before = seen(table.read())
    said = [f for f in files(tmp_path) if "partition_metadata" not in f]
    cleaned = table.clean(commits_retained=2)
    assert cleaned.instant and cleaned.policy == "KEEP_LATEST_COMMITS" and not cleaned.kept
    assert (cleaned.completed is None) == (version == 6)
    left = [f for f in files(tmp_path) if "partition_metadata" not in f]
    assert sorted(cleaned.files) == sorted(set(said) - set(left)) != []
    # Two writes, and what was the newest before them; compactions are writes, too.
    assert len(bases(tmp_path)) == (9 if kind == COW else 6)
    assert seen(table.read()) == before == theirs(tmp_path)
    assert table.clean(commits_retained=2) == Cleaned(), (
        "nothing more to do, nothing on the timeline"
    )
    assert cleans(table) == [cleaned.instant]


@kinds
def test_by_versions(tmp_path: Path, version: int, kind: str) -> None:
    table = create(tmp_path, version, kind)
    written(table, 4)
    table.upsert(data([1], "last", 9))
    before = seen(table.read())
    cleaned = table.clean("by_versions", fileversions_retained=1)
    assert cleaned.policy == "KEEP_LATEST_FILE_VERSIONS" and cleaned.earliest is None
    assert len(bases(tmp_path)) == 3
    assert len(logs(tmp_path)) == (1 if kind == MOR else 0)
    assert seen(table.read()) == before == theirs(tmp_path)


@versions
def test_by_hours(tmp_path: Path, version: int) -> None:
    table = create(tmp_path, version)
    written(table, 3)
    assert not table.clean("by_hours").instant
    cleaned = table.clean("by_hours", hours_retained=0)
    assert len(cleaned.files) == 3, "that of the last write stays, and the one before it"
    assert seen(table.read()) == theirs(tmp_path)


@kinds
def test_replaced_groups_and_empty_partitions(tmp_path: Path, version: int, kind: str) -> None:
    table = create(tmp_path, version, kind)
    table.upsert(data(range(6), "old", 1))
    table.insert_overwrite(data([0], "new", 2))
    table.delete_partitions("d1")
    assert len(bases(tmp_path)) == 4
    table.upsert(data([2], "v", 3))
    assert not table.clean(commits_retained=3).files, "readers may be at the first write still"
    cleaned = table.clean(commits_retained=1)
    assert cleaned.partitions == ("d1",)
    assert not files(tmp_path / "d1") and len(bases(tmp_path, "d0")) == 1
    assert files(tmp_path / "d2")
    assert seen(table.read()) == theirs(tmp_path) == {0: ("new", 2), 2: ("v", 3), 5: ("old", 1)}
    table.upsert(data([1], "again", 4))
    assert ".hoodie_partition_metadata" in files(tmp_path / "d1")
    assert seen(table.read())[1] == ("again", 4)


def test_without_partitions(tmp_path: Path) -> None:
    table = create(tmp_path, partition_by=())
    written(table, 3)
    table.insert_overwrite_table(data([7], "v", 1))
    table.upsert(data([7], "w", 2))
    assert len(table.clean(commits_retained=1).files) == 3
    assert ".hoodie_partition_metadata" in files(tmp_path)
    assert seen(table.read()) == theirs(tmp_path) == {7: ("w", 2)}


def test_a_policy_of_your_own(tmp_path: Path) -> None:
    @frozen
    class Days:
        """All but the newest slice of one partition."""

        day: str
        policy = "KEEP_LATEST_FILE_VERSIONS"
        by_writes = False

        def earliest(self, history: History) -> Instant | None:
            return None

        def surplus(self, aged: Aged, earliest: str | None) -> Sequence[FileSlice]:
            return aged.group.slices if aged.group.partition_path == self.day else ()

    table = create(tmp_path)
    written(table, 3)
    assert {f.split("/")[0] for f in table.clean(Days("d1")).files} == {"d1"}
    assert len(table.clean(Days("d2")).files) == 2, "core keeps the newest whatever a policy says"
    assert seen(table.read()) == theirs(tmp_path)


# --- what stays -----------------------------------------------------------------------------------
def saved(table: hoodoo.Table, instant: str) -> None:
    """A savepoint by its bytes."""
    slices = table.read(as_of=instant).plan.slices
    content = savepoints.encode(slices, "me", "", 0)
    keep = Instant(instant, "savepoint", State.REQUESTED)
    storage = LocalStorage(table.path.removeprefix("file://"))
    line = table.timeline()
    assert publish.complete(
        Snapshot(storage, line), publish.inflight(Snapshot(storage, line), keep), content
    ).committed


@kinds
def test_savepoints(tmp_path: Path, version: int, kind: str) -> None:
    table = create(tmp_path, version, kind)
    instants = written(table, 5)
    kept = seen(table.read(as_of=instants[1]))
    saved(table, instants[1])
    table.clean(commits_retained=1)
    assert seen(table.read(as_of=instants[1])) == kept
    with pytest.raises(ConfigError, match="the clean .* deleted it"):
        table.read(as_of=instants[0])
    table.upsert(data([0], "x", 20))
    table.clean(commits_retained=1)
    for path in tmp_path.rglob(f"{instants[1]}*.savepoint*"):
        path.unlink()
    held = [f for f in bases(tmp_path) if instants[1] in f]
    assert held
    table.upsert(data([0], "y", 21))
    assert set(held) <= set(table.clean(commits_retained=1).files), "and no longer than that"


@versions
def test_a_savepoint_keeps_what_an_older_plan_made_after_it(tmp_path: Path, version: int) -> None:
    """The slice of a compaction that was planned before the savepoint is what reads as of it show."""
    table = create(tmp_path, version, MOR)
    written(table, 2)
    table.upsert(data([0, 1, 2], "a", 10))
    planned = table.schedule_compaction()
    assert planned is not None
    table.insert(data([50], "b", 11))
    before, point = seen(table.read()), table.savepoint()
    table.run_compaction(planned)
    for value in (12, 13):
        table.upsert(data([0, 1, 2], "c", value))
        table.compact()
    table.clean(commits_retained=1)
    assert seen(table.read(as_of=point)) == before
    table.restore(point)
    assert seen(table.read()) == before


@versions
def test_a_pending_compaction_keeps_what_it_reads(tmp_path: Path, version: int) -> None:
    table = create(tmp_path, version, MOR)
    written(table, 2)
    table.upsert(data([0, 1, 2], "a", 10))
    instant = table.schedule_compaction()
    assert instant is not None
    for n in range(3):
        table.upsert(data([0], f"b{n}", 11 + n))
    named = {f.base_file.path for f in table.file_slices() if f.base_file}
    table.clean("by_versions", fileversions_retained=1)
    table.clean(commits_retained=1)
    assert named <= set(files(tmp_path))
    table.run_compaction(instant)
    expected = {0: ("b2", 13), 1: ("a", 10), 2: ("a", 10)}
    assert seen(table.read()) == theirs(tmp_path) == expected
    table.compact()
    table.upsert(data([0], "c", 20))
    table.clean("by_versions", fileversions_retained=1)
    assert not named & set(files(tmp_path))


@versions
def test_a_pending_clustering_keeps_what_it_reads(tmp_path: Path, version: int) -> None:
    table = create(tmp_path, version)
    written(table, 2)
    named = [s.base_file for s in table.file_slices() if s.base_file]
    slices = [
        {"dataFilePath": f"{table.path}/{f.path}", "deltaFilePaths": [], "fileId": f.file_id,
         "partitionPath": f.partition_path, "version": 1}
        for f in named
    ]  # fmt: skip
    plan = {"operationType": "CLUSTER", "version": 1, "clusteringPlan": {
        "inputGroups": [{"slices": slices, "metrics": {}, "version": 1}], "version": 1,
        "extraMetadata": {PLANNER: "size"}}}  # fmt: skip
    action = "clustering" if version > 6 else "replacecommit"
    content = codec_avro.encode("HoodieRequestedReplaceMetadata", plan)
    publish.request(Snapshot(store(tmp_path), table.timeline()), action, content)
    allowed = {**NEVER, "hoodie.clustering.updates.strategy": "allow"}
    written(hoodoo.open(str(tmp_path), allowed), 3, first=2)
    table.clean("by_versions", fileversions_retained=1)
    assert {f.path for f in named} <= set(files(tmp_path))


@versions
def test_a_write_under_way_keeps_what_it_sees(tmp_path: Path, version: int) -> None:
    """It may read the slices that were there when it began, whatever came after."""
    table = create(tmp_path, version)
    written(table, 3)
    pending = publish.request(Snapshot(store(tmp_path), table.timeline()), "commit")
    seen_then = {f.base_file.path for f in table.file_slices() if f.base_file}
    for n in range(3):  # of others: a writer of this table would roll the pending one back first
        _beside(tmp_path, pending, lambda n=n: table.upsert(data([0, 1, 2], f"w{n}", 10 + n)))
    table.clean("by_versions", fileversions_retained=1)
    table.clean(commits_retained=1)
    assert seen_then <= set(files(tmp_path))
    assert seen(table.read()) == theirs(tmp_path)
    table.rollback()
    table.clean("by_versions", fileversions_retained=1)
    assert not seen_then & set(files(tmp_path))


def _beside(path: Path, pending: Instant, write: Any) -> None:
    """``write`` does not see the pending instant."""
    (file,) = path.rglob(f"{pending.requested}.commit.requested")
    aside = path.parent / file.name
    file.rename(aside)
    write()
    aside.rename(file)


@kinds
def test_the_reader_window(tmp_path: Path, version: int, kind: str) -> None:
    table = create(tmp_path, version, kind)
    written(table, 4)
    everything = files(tmp_path)
    for how in ("by_versions", "by_commits", "by_hours"):
        less = {"commits_retained": 1, "fileversions_retained": 1, "hours_retained": 0}
        assert not table.clean(how, reader_window=1, **less).instant
    assert files(tmp_path) == everything
    assert table.clean(commits_retained=1, reader_window=0).files


def test_the_window_moves(tmp_path: Path) -> None:
    """Not what was written within it, but what was the newest."""
    table = create(tmp_path, 9)
    written(table, 4, [0])
    old = bases(tmp_path)
    # The first two writes took place two hours ago, the third one hour ago.
    line = table.timeline()
    for n, instant in enumerate(line.writes()[:3]):
        shift = timedelta(hours=2 if n < 2 else 1)
        assert instant.completed is not None
        earlier = [
            from_datetime(to_datetime(t) - shift) for t in (instant.requested, instant.completed)
        ]
        for path in [*tmp_path.rglob(f"*{instant.requested}*")]:
            name = path.name.replace(instant.completed, earlier[1]).replace(
                instant.requested, earlier[0]
            )
            content = path.read_bytes().replace(instant.requested.encode(), earlier[0].encode())
            path.unlink()
            path.with_name(name).write_bytes(content)
    assert len(bases(tmp_path)) == len(old) == 4
    fresh = hoodoo.open(str(tmp_path), NEVER)
    assert fresh.schedule_clean("by_versions", fileversions_retained=1, reader_window=3) is None
    # Two hours ago the second write's file was put; it was the newest until an hour ago.
    cleaned = fresh.clean("by_versions", fileversions_retained=1, reader_window=1.5)
    assert len(cleaned.files) == 1
    assert len(fresh.clean("by_versions", fileversions_retained=1, reader_window=0.5).files) == 1
    assert len(fresh.clean("by_versions", fileversions_retained=1).files) == 1


def test_files_of_failed_writes_are_not_a_cleans(tmp_path: Path) -> None:
    table = create(tmp_path)
    written(table, 3)
    stray = (
        tmp_path / "d0" / "00000000-0000-4000-8000-000000000001-0_0-0-0_20200101000000000.parquet"
    )
    pending = publish.request(Snapshot(store(tmp_path), table.timeline()), "commit")
    mine = stray.with_name(stray.name.replace("20200101000000000", pending.requested))
    mine.write_bytes(b"")
    table.clean(commits_retained=1)
    assert mine.exists()


# --- on the timeline ------------------------------------------------------------------------------
@versions
def test_what_the_timeline_says(tmp_path: Path, version: int) -> None:
    table = create(tmp_path, version)
    instants = written(table, 4)
    saved(table, instants[3])
    requested = table.schedule_clean(commits_retained=2)
    line = table.timeline()
    assert [i.requested for i in pending_cleans(line)] == [requested]
    assert planned_files(Snapshot(store(tmp_path), line)) == {
        f for f in bases(tmp_path) if instants[0] in f
    }
    plan = line.contents(store(tmp_path), pending_cleans(line)[0])
    assert plan["earliestInstantToRetain"] == {
        "timestamp": instants[2], "action": "commit", "state": "COMPLETED",
    }  # fmt: skip
    assert plan["lastCompletedCommitTimestamp"] == instants[3]
    assert plan["policy"] == "KEEP_LATEST_COMMITS" and plan["version"] == 2
    assert sorted(plan["filePathsToBeDeletedPerPartition"]) == list(DAYS)
    paths = [f["filePath"] for f in plan["filePathsToBeDeletedPerPartition"]["d0"]]
    assert paths == [f"file:{tmp_path}/{f}" for f in bases(tmp_path, "d0") if instants[0] in f]
    assert plan["extraMetadata"]["savepointed_timestamps"] == instants[3]
    assert requested is not None
    cleaned = table.run_clean(requested)
    assert cleaned.instant == requested and cleaned.earliest == instants[2]
    folder = tmp_path / table.config.timeline_path
    assert (folder / f"{requested}.clean.inflight").read_bytes() == b""
    done = next(i for i in table.timeline().completed() if i.action == "clean")
    said = table.timeline().contents(store(tmp_path), done)
    assert said["startCleanTime"] == requested and said["totalFilesDeleted"] == 3
    assert said["earliestCommitToRetain"] == instants[2]
    one = said["partitionMetadata"]["d0"]
    assert one["successDeleteFiles"] == one["deletePathPatterns"] == [Path(paths[0]).name]
    assert one["isPartitionDeleted"] is False and one["failedDeleteFiles"] == []
    with pytest.raises(ConfigError, match="is not pending"):
        table.run_clean(requested)


def test_a_pending_clean_is_finished_first(tmp_path: Path) -> None:
    table = create(tmp_path)
    written(table, 3)
    first = table.schedule_clean(commits_retained=1)
    assert first is not None
    (tmp_path / planned(table)[0]).unlink()
    assert table.schedule_clean(commits_retained=1) is None, "it is planned already"
    written(table, 2, first=3)
    cleaned = table.clean(commits_retained=1)
    assert cleaned.instant != first and len(cleaned.files) == 3 + 6
    assert cleans(table) == [first, cleaned.instant] and not pending_cleans(table.timeline())
    assert seen(table.read()) == theirs(tmp_path)


def test_others_may_finish_it(tmp_path: Path, monkeypatch: Any) -> None:
    """Two that clean take up the same pending one; the slower one finds it done, or half gone."""
    table = create(tmp_path)
    written(table, 3)
    first = table.schedule_clean(commits_retained=1)
    assert first is not None
    look = TableHandle.timeline
    came: list[str] = []

    def late(self: TableHandle) -> Any:
        found = look(self)
        if not came and pending_cleans(found):
            came.append(first)
            assert hoodoo.open(str(tmp_path), NEVER).run_clean(first).instant == first
        return found

    monkeypatch.setattr(TableHandle, "timeline", late)
    assert table.clean(commits_retained=1) == Cleaned() and came
    store(tmp_path).put(f".hoodie/timeline/{first[:-9]}000000000.clean.inflight", b"")
    assert table.clean(commits_retained=1) == Cleaned()
    assert not pending_cleans(table.timeline())


def planned(table: hoodoo.Table) -> list[str]:
    storage = LocalStorage(table.path.removeprefix("file://"))
    line = table.timeline()
    return list(read_plan(Snapshot(storage, line), pending_cleans(line)[0]).files)


def test_what_came_to_be_needed_stays(tmp_path: Path) -> None:
    """A savepoint that was made after the plan, by somebody who did not look; and the next clean looks
    everywhere again."""
    table = create(tmp_path)
    instants = written(table, 4)
    first = table.schedule_clean(commits_retained=1)
    assert first is not None
    saved(table, instants[1])
    cleaned = table.clean(commits_retained=1)
    assert cleaned.instant == first
    assert sorted(cleaned.kept) == [f for f in bases(tmp_path) if instants[1] in f]
    assert not [f for f in bases(tmp_path) if instants[0] in f]
    for path in tmp_path.rglob(f"{instants[1]}*.savepoint*"):
        path.unlink()
    table.upsert(data([0], "x", 20))
    assert set(cleaned.kept) <= set(table.clean(commits_retained=1).files)


def test_the_newest_slice_stays_on_resume(tmp_path: Path) -> None:
    """Another tool went back behind the plan while it was pending."""
    table = create(tmp_path)
    instants = written(table, 3)
    table.schedule_clean("by_versions", fileversions_retained=1)
    for instant in instants[1:]:
        for path in tmp_path.rglob(f"*{instant}*"):
            path.unlink()
    cleaned = table.clean("by_versions", fileversions_retained=1)
    assert len(cleaned.kept) == 3 and len(bases(tmp_path)) == 3
    assert seen(table.read()) == theirs(tmp_path) == {n: ("v0", 0) for n in range(3)}


def test_a_rollback_between_look_and_request(tmp_path: Path, monkeypatch: Any) -> None:
    table = create(tmp_path)
    written(table, 3)
    asked = publish.request
    came: list[str] = []

    def late(snapshot: Any, action: str, plan: bytes = b"", **more: Any) -> Instant:
        if action == "clean" and not came:
            content = codec_avro.encode("HoodieRollbackPlan", 
                {"instantToRollback": {"commitTime": "20200101000000000", "action": "commit"},
                 "RollbackRequests": [], "version": 1}
            )  # fmt: skip
            came.append(asked(snapshot, "rollback", content).requested)
        return asked(snapshot, action, plan, **more)

    monkeypatch.setattr(publish, "request", late)
    cleaned = table.clean(commits_retained=1)
    assert came and cleaned.instant > came[0] and len(cleaned.files) == 3


@pytest.mark.parametrize("action", ["rollback", "restore"])
def test_waits_for_what_is_being_undone(tmp_path: Path, action: str) -> None:
    """Until the newest write is undone, the one before it looks old."""
    table = create(tmp_path)
    instants = written(table, 3)
    content = codec_avro.encode("HoodieRollbackPlan", 
        {"instantToRollback": {"commitTime": instants[-1], "action": "commit"},
         "RollbackRequests": [], "version": 1}
    )  # fmt: skip
    pending = publish.request(Snapshot(store(tmp_path), table.timeline()), action, content)
    everything = files(tmp_path)
    assert not table.clean("by_versions", fileversions_retained=1).instant
    assert files(tmp_path) == everything
    store(tmp_path).delete(table.timeline().path(pending))
    assert table.clean("by_versions", fileversions_retained=1).files


# --- after each write -----------------------------------------------------------------------------
@kinds
def test_inline(tmp_path: Path, version: int, kind: str) -> None:
    options = {
        "hoodie.clean.commits.retained": "2",
        "hoodie.compact.inline": kind == MOR,
        "hoodie.compact.inline.max.delta.commits": "1",
    }
    table = create(tmp_path, version, kind, options)
    for n in range(5):
        table.upsert(data([0, 1, 2], f"v{n}", n))
    assert len(bases(tmp_path, "d0")) == (3 if kind == COW else 2)
    assert cleans(table)
    table.delete_partitions("d0")
    for n in range(4):
        table.upsert(data([1, 2], f"w{n}", 10 + n))
    assert not files(tmp_path / "d0"), "after deleting partitions, too"
    assert seen(table.read()) == theirs(tmp_path)


def test_by_default_ten_writes_are_kept(tmp_path: Path) -> None:
    table = create(tmp_path, options={})
    for n in range(14):
        table.upsert(data([0], f"v{n}", n))
    assert len(bases(tmp_path)) == 11


def test_every_so_often(tmp_path: Path) -> None:
    options = {"hoodie.cleaner.commits.retained": "1", "hoodie.clean.max.commits": "3"}
    table = create(tmp_path, options=options)
    counts = []
    for n in range(9):
        table.upsert(data([0], f"v{n}", n))
        counts.append(len(bases(tmp_path)))
    assert counts == [1, 2, 2, 3, 4, 2, 3, 4, 2]


def test_an_inline_clean_that_fails_is_a_warning(tmp_path: Path, monkeypatch: Any) -> None:
    table = create(tmp_path, options={"hoodie.clean.commits.retained": "1"})
    written(table, 2)
    delete = LocalStorage.delete

    def broken(self: LocalStorage, path: str) -> bool:
        if path.endswith(".parquet"):
            raise StorageError(path, "the disk says no")
        return delete(self, path)

    monkeypatch.setattr(LocalStorage, "delete", broken)
    with pytest.warns(HoodooWarning, match=r"inline cleaning .* the disk says no.*table.clean\(\)"):
        commit = table.upsert(data([0], "x", 9))
    assert commit.instant and seen(table.read())[0] == ("x", 9)
    with pytest.raises(StorageError, match="the disk says no"):
        table.clean()
    assert pending_cleans(table.timeline()) and not last_clean(
        Snapshot(store(tmp_path), table.timeline())
    )
    monkeypatch.undo()
    assert table.clean().files and not pending_cleans(table.timeline())


# --- crashes --------------------------------------------------------------------------------------
@kinds
def test_a_crash_anywhere_is_finished_by_the_next(tmp_path: Path, version: int, kind: str) -> None:
    base = tmp_path / "base"
    table = create(base, version, kind)
    table.upsert(data(range(3), "old", 1))
    table.delete_partitions("d1")
    written(table, 3, [0, 2])
    expected = seen(table.read())
    kept = _cleaned_copy(base, tmp_path / "clean", None)
    trials = 0
    for at in range(1, 200):
        path = tmp_path / f"c{at}"
        try:
            left = _cleaned_copy(base, path, at)
        except Crash:
            trials += 1
            again = hoodoo.open(str(path), NEVER)
            assert seen(again.read()) == expected, f"after operation {at}"
            assert not set(kept) - set(files(path)), f"too much is gone after operation {at}"
            again.upsert(data([2], "after", 50))
            again.clean(commits_retained=1)
            assert not pending_cleans(again.timeline())
            gone = {f for f in files(path) if f not in kept and "50" not in f}
            assert all(f in kept or _is_new(f, base) for f in files(path)), gone
            assert seen(again.read()) == theirs(path)
        else:
            assert left == kept
            break
    else:
        pytest.fail("the clean never ended")
    assert trials > 8


def _is_new(path: str, base: Path) -> bool:
    return path not in files(base)


def _cleaned_copy(base: Path, path: Path, at: int | None) -> list[str]:
    import shutil

    shutil.copytree(base, path)
    storage = (
        LocalStorage(str(path)) if at is None else CrashingStorage(LocalStorage(str(path)), at)
    )
    table = Table(storage, properties.load(LocalStorage(str(path))), NEVER, LocalEngine(1))
    table.clean(commits_retained=1, parallelism=1)
    return files(path)


# --- readers --------------------------------------------------------------------------------------
@kinds
def test_a_reader_that_loses_a_file_is_told(tmp_path: Path, version: int, kind: str) -> None:
    table = create(tmp_path, version, kind)
    written(table, 2)
    if kind == MOR:
        table.upsert(data([0, 1, 2], "log", 9))
    scan = table.read()
    written(table, 3, first=10)
    cleaned = table.clean("by_versions", fileversions_retained=1)
    for attempt in (scan.to_arrow, scan.count):
        with pytest.raises(CommitConflictError) as caught:
            attempt()
        assert cleaned.instant in str(caught.value)
        assert "hoodoo.clean.reader.window" in caught.value.fix
    assert seen(table.read()) == theirs(tmp_path)


def test_a_file_that_no_clean_took_is_another_matter(tmp_path: Path) -> None:
    table = create(tmp_path)
    written(table, 3)
    table.clean(commits_retained=1)
    scan = table.read()
    (tmp_path / table.file_slices()[0].base_file.path).unlink()  # type: ignore[union-attr]
    with pytest.raises(hoodoo.errors.CorruptTableError, match="it does not exist"):
        scan.to_arrow()


@kinds
def test_time_travel(tmp_path: Path, version: int, kind: str) -> None:
    """Every older state is as it was, or an error: never fewer rows."""
    table = create(tmp_path, version, kind)
    states: dict[str, dict[int, tuple[str, int]]] = {}

    def look() -> None:
        now = table.timeline().writes()[-1].requested
        states[now] = seen(table.read())

    for n in range(4):
        table.upsert(data([0, 1, 2] if n % 2 else [0], f"v{n}", n))
        look()
        if kind == MOR and n:
            table.compact()
            look()
    for how, less in (
        ("by_commits", {"commits_retained": 2}),
        ("by_versions", {"fileversions_retained": 1}),
    ):
        table.clean(how, **less)
        readable = 0
        for instant, rows in states.items():
            try:
                found = seen(table.read(as_of=instant))
            except ConfigError as error:
                assert "deleted it" in str(error)
            else:
                assert found == rows
                readable += 1
        assert 1 <= readable < len(states)
        assert seen(table.read(as_of=list(states)[-1])) == states[list(states)[-1]]


# --- what it costs --------------------------------------------------------------------------------
@pytest.mark.parametrize("how", ["by_commits", "by_versions"])
def test_looks_only_where_writes_have_been(tmp_path: Path, how: str) -> None:
    options = {
        **NEVER, "hoodie.clean.commits.retained": "1", "hoodie.clean.fileversions.retained": "1"
    }  # fmt: skip
    table = create(tmp_path, options=options)
    written(table, 3)
    table.upsert(data([0], "x", 9))
    table.clean(how)
    for n in range(2):
        table.upsert(data([0], f"x{n}", 10 + n))
    store_ = RecordingStorage(LocalStorage(str(tmp_path)))
    watched = Table(store_, properties.load(store_), options, LocalEngine(1))
    cleaned = watched.clean(how)
    assert cleaned.files and all(f.startswith("d0/") for f in cleaned.files)
    listed = {path for op, path in store_.calls if op == "list" and not path.startswith(".hoodie")}
    assert listed == {"d0"}, "one partition, and not the table"
    store_.calls.clear()
    watched.upsert(data([0], "y", 20))
    store_.calls.clear()
    assert not watched.clean(
        how, incremental_enabled=False, commits_retained=9, fileversions_retained=9
    ).instant
    assert ("list", "") in store_.calls or how == "by_commits"


# --- arguments ------------------------------------------------------------------------------------
def test_bad_arguments(tmp_path: Path) -> None:
    table = create(tmp_path)
    written(table, 2)
    before = files(tmp_path)
    with pytest.raises(PluginError, match="by_commits"):
        table.clean("by_commit")
    with pytest.raises(UnknownOptionError, match="hoodie.clean.commits.retained"):
        table.clean(commits_retaind=2)
    for bad in ({"commits_retained": 0}, {"reader_window": -1}, {"parallelism": "many"}):
        with pytest.raises(ConfigError):
            table.clean(**bad)
    with pytest.raises(ConfigError, match="hoodie.clean.commits.retained"):
        hoodoo.open(str(tmp_path), {"hoodie.clean.commits.retained": "x"}).upsert(data([0], "x", 9))
    assert files(tmp_path) == before and not cleans(table)
