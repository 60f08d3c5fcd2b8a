"""Savepoints, what a restore undoes, what it needs, and how one instant goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hoodoo.actions.rollback import run as rollback
from hoodoo.actions.rollback.files import absolute
from hoodoo.actions.rollback.validation import data_files, refuse_missing
from hoodoo.errors import CommitConflictError, ConfigError, CorruptTableError, HoodooWarning
from hoodoo.kernel.log_files import log_files
from hoodoo.model.commit import CommitMetadata, Operation, WriteStat
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import BaseFile, FileSlice, LogFile
from hoodoo.model.instant import Instant, State
from hoodoo.model.log_block import BlockKind
from hoodoo.testing.log_builders import small_rows
from hoodoo.timeline import create, timeline
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.heartbeat import Beating, Liveness
from hoodoo.timeline.layouts import layout_of
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline
from hoodoo_services import savepoint as savepoint_action
from hoodoo_services.restore import run as restore
from hoodoo_services.restore.plan import make_plan, undone
from hoodoo_services.savepoints import encode, savepoints
from hoodoo_standard.storage.local import LocalStorage

pytestmark = pytest.mark.sampled(4)

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"


def t(n: int) -> str:
    return f"202401010000{n:05d}"


def numbers(instants: Any) -> list[int]:
    return [int(getattr(i, "requested", i)[-5:]) for i in instants]


class Table:
    """A table of names: completes actions, drops data files without content."""

    def __init__(self, path: Path, version: int, kind: str = COW) -> None:
        self.store = LocalStorage(str(path), durable=False)
        values = {
            "hoodie.table.name": "t",
            "hoodie.table.version": str(version),
            "hoodie.table.type": kind,
        }
        self.config = create.init_table(self.store, TableConfig(values))
        self.layout = layout_of(self.config)

    @property
    def line(self) -> Timeline:
        return timeline.load(self.store, self.config)

    def done(self, n: int, action: str = "commit", at: int = 0, pending: bool = True,
             **metadata: Any) -> Instant:  # fmt: skip
        """A completed write of the file groups ``stats``: name -> (number of the base before it)."""
        if pending:
            self.pending(n, action)
        instant = Instant(
            t(n), action, State.COMPLETED, t(at or n) if self.layout.names_completion else None
        )
        self.file(instant, self.layout.encode_commit(CommitMetadata(**metadata), instant.action))
        return instant

    def wrote(
        self, n: int, *groups: str, before: int = 0, action: str = "commit", at: int = 0
    ) -> None:
        """A commit that wrote base files of ``groups``, whose base files before it are of ``before``."""
        for group in groups:
            self.base(group, n)
        prev = t(before) if before else "null"
        stats = tuple(WriteStat("p", g, f"p/{g}_0-0-0_{t(n)}.parquet", prev) for g in groups)
        self.done(n, action, at, stats=stats)

    def pending(self, n: int, action: str = "commit", content: bytes = b"") -> None:
        if action != "savepoint":
            self.file(Instant(t(n), action, State.REQUESTED), content)
        self.file(Instant(t(n), action, State.INFLIGHT))

    def other(self, n: int, action: str, record: dict[str, Any], schema: str, at: int = 0) -> None:
        """A completed action that is no write."""
        self.pending(n, action)
        completed = t(at or n) if self.layout.names_completion else None
        self.file(
            Instant(t(n), action, State.COMPLETED, completed), codec_avro.encode(schema, record)
        )

    def cleaned(self, n: int, *names: str) -> None:
        part = {
            "partitionPath": "p", "policy": "KEEP_LATEST_COMMITS", "deletePathPatterns": [],
            "successDeleteFiles": list(names), "failedDeleteFiles": [],
        }  # fmt: skip
        self.other(n, "clean", {
            "startCleanTime": t(n), "timeTakenInMillis": 0, "totalFilesDeleted": len(names),
            "earliestCommitToRetain": "", "partitionMetadata": {"p": part},
        }, "HoodieCleanMetadata")  # fmt: skip

    def kept(self, n: int, *slices: FileSlice, at: int = 0) -> None:
        self.file(Instant(t(n), "savepoint", State.INFLIGHT))
        completed = t(at or n) if self.layout.names_completion else None
        self.file(
            Instant(t(n), "savepoint", State.COMPLETED, completed), encode(slices, "u", "c", 5)
        )

    def file(self, instant: Instant, content: bytes = b"") -> None:
        name = self.layout.file_name(instant)
        self.store.put(f"{self.config.timeline_path}/{name}", content)

    def base(self, group: str, n: int) -> None:
        self.store.put(f"p/{group}_0-0-0_{t(n)}.parquet", b"1")

    def log(self, group: str, n: int, version: int = 1, *writers: int) -> None:
        """``writers``: of its blocks; without any the file has no content that counts."""
        path = f"p/.{group}_{t(n)}.log.{version}_0-0-0"
        if not writers:
            self.store.put(path, b"1")
            return
        local = Path(self.store.scratch()) / "log"
        with log_files().writer(str(local)) as writer:
            for number in writers:
                writer.data_block(
                    BlockKind.AVRO, small_rows(), instant=t(number), table_name="t", meta=False
                )
        assert self.store.put_file_if_absent(path, str(local))

    def names(self) -> list[str]:
        return sorted(f.path[2:].replace("202401010000", "") for f in data_files(self.store))

    def found(self, n: int) -> list[str]:
        """Files of the timeline that are of an instant, by what follows its name."""
        entries = self.store.list(self.config.timeline_path)
        return sorted(e.name[17:] for e in entries if e.name.startswith(t(n)))


@pytest.fixture(params=[6, 9])
def version(request: pytest.FixtureRequest) -> int:
    return int(request.param)


# --- savepoints -----------------------------------------------------------------------------------
def test_savepoints(tmp_path: Path, version: int) -> None:
    table = Table(tmp_path, version)
    for n in (1, 2, 3):
        table.done(n)
    base, log = BaseFile("p", "a", t(1), "0-0-0"), LogFile("p", "a", t(1), 1, "0-0-0")
    table.kept(1, FileSlice("p", "a", t(1), base, (log,)), FileSlice("", "b", t(1), None, ()))
    table.pending(3, "savepoint")
    (found,) = savepoints(Snapshot(table.store, table.line))
    assert (found.instant, found.user, found.comment, found.made) == (t(1), "u", "c", 5)
    assert found.files == {base.path, log.path}
    assert table.line.savepointed() == {t(1)}
    assert table.line.savepointed(pending=True) == {t(1), t(3)}


def test_paths_in_a_savepoint_are_names(tmp_path: Path) -> None:
    """Of other writers they may be absolute; then the name counts."""
    table = Table(tmp_path, 9)
    table.done(1)
    record = {
        "savepointedBy": "", "savepointedAt": 0, "comments": "",
        "partitionMetadata": {"p/q": {"partitionPath": "p/q", "savepointDataFile": ["file:/t/p/q/x"]}},
    }  # fmt: skip
    table.other(1, "savepoint", record, "HoodieSavepointMetadata")
    assert savepoints(Snapshot(table.store, table.line))[0].files == {"p/q/x"}


def test_a_savepoint_that_is_none(tmp_path: Path, version: int) -> None:
    table = Table(tmp_path, version)
    table.done(1)
    table.kept(1)
    line = table.line
    name = next(i for i in line.instants if i.action == "savepoint")
    table.store.put(line.path(name), b"Obj\x01 no")
    with pytest.raises(CorruptTableError, match=r"\.savepoint"):
        savepoints(Snapshot(table.store, line))
    table.store.delete(line.path(name))
    assert savepoints(Snapshot(table.store, line)) == ()


def test_a_savepoint_is_completed_once(tmp_path: Path, version: int) -> None:
    """What an earlier call left is taken up; a write about to be undone is not kept."""
    table = Table(tmp_path, version)
    table.wrote(1, "a")
    table.wrote(2, "a", before=1)
    table.pending(1, "savepoint")
    assert savepoint_action.create(table.store, table.config, t(1), "c", "u") == t(1)
    (found,) = savepoints(Snapshot(table.store, table.line))
    assert found.files == {f"p/a_0-0-0_{t(1)}.parquet"}
    plan = {"instantsToRollback": [{"commitTime": t(2), "action": "commit"}]}
    table.pending(3, "restore", codec_avro.encode("HoodieRestorePlan", plan))
    with pytest.raises(CommitConflictError, match="restore.* is about to undo it"):
        savepoint_action.create(table.store, table.config, t(2), "", "")
    assert ".savepoint.inflight" not in table.found(2)
    with pytest.raises(CommitConflictError, match="run_restore"):
        savepoint_action.delete(table.store, table.config, t(1))


# --- what goes ------------------------------------------------------------------------------------
def test_writes_behind_the_point_go(tmp_path: Path, version: int) -> None:
    """The newest first, pending ones before all; cleans, rollbacks and plans before the point stay."""
    table = Table(tmp_path, version, MOR)
    for n, action in (
        (1, "deltacommit"),
        (3, "deltacommit"),
        (5, "deltacommit"),
        (7, "replacecommit"),
    ):
        table.done(n, action)
    for n, action in ((2, "compaction"), (4, "deltacommit"), (6, "compaction"), (8, "deltacommit")):
        table.pending(n, action)
    table.pending(9, "clean")
    assert numbers(undone(table.line, t(5))) == [8, 6, 4, 7]
    assert numbers(undone(table.line, t(3))) == [8, 6, 4, 7, 5]


def test_writers_that_overlapped(tmp_path: Path) -> None:
    """A point is what ``as_of`` shows; a savepoint also knows what had completed when it was made."""
    table = Table(tmp_path, 9, MOR)
    table.done(1, "deltacommit")
    table.done(2, "deltacommit", at=9)  # completed after the point
    table.done(3, "compaction", at=10)
    table.done(4, "deltacommit", at=6)
    table.done(5, "deltacommit", at=8)
    assert numbers(undone(table.line, t(4))) == [5]
    table.kept(4, at=7)
    assert numbers(undone(table.line, t(4))) == [2, 5]


def test_what_can_be_no_point(tmp_path: Path, version: int) -> None:
    table = Table(tmp_path, version)
    for n in (4, 5, 6):
        table.wrote(n, f"g{n}")
    table.pending(7)
    for n in (2, 7):
        with pytest.raises(ConfigError, match="no completed write"):
            make_plan(Snapshot(table.store, table.line), t(n))
    table.kept(5)
    with pytest.raises(ConfigError, match=f"savepoints of later writes.*{t(5)}"):
        make_plan(Snapshot(table.store, table.line), t(4))
    assert numbers(make_plan(Snapshot(table.store, table.line), t(5)).instants) == [7, 6]


def test_archived_writes_behind_the_point(tmp_path: Path, version: int) -> None:
    """A savepointed write stays active while later ones are archived: those can't be undone."""
    table = Table(tmp_path, version)
    table.wrote(1, "a")
    table.kept(1, FileSlice("p", "a", t(1), BaseFile("p", "a", t(1), "0-0-0")))
    table.base("b", 2)  # its commit is archived
    table.wrote(3, "c")
    with pytest.raises(ConfigError, match=f"have been archived, and can't be undone: {t(2)}"):
        make_plan(Snapshot(table.store, table.line), t(1))


# --- what has to be there -------------------------------------------------------------------------
def test_a_base_file_that_was_cleaned(tmp_path: Path, version: int) -> None:
    """The commit after the point says which file it replaced, whoever deleted that."""
    table = Table(tmp_path, version)
    table.wrote(1, "a", "b")
    table.wrote(2, "a", before=1)
    table.wrote(3, "a", before=2)
    assert numbers(make_plan(Snapshot(table.store, table.line), t(1)).instants) == [3, 2]
    table.store.delete(f"p/a_0-0-0_{t(1)}.parquet")
    with pytest.raises(
        ConfigError, match=f"a clean has deleted files that it needs: p/a of {t(1)}"
    ):
        make_plan(Snapshot(table.store, table.line), t(1))
    assert numbers(make_plan(Snapshot(table.store, table.line), t(2)).instants) == [3]


def test_a_log_file_that_was_cleaned(tmp_path: Path) -> None:
    """A savepoint kept the base file of a slice, and a clean took a log file that came later."""
    table = Table(tmp_path, 9, MOR)
    table.wrote(1, "a", action="deltacommit")
    table.done(2, "deltacommit")
    table.wrote(3, "a", before=1, action="compaction")
    table.log("a", 2)
    assert numbers(make_plan(Snapshot(table.store, table.line), t(2)).instants) == [3]
    table.store.delete(f"p/.a_{t(2)}.log.1_0-0-0")
    table.cleaned(4, f".a_{t(2)}.log.1_0-0-0")
    with pytest.raises(ConfigError, match="a clean has deleted files that it needs: p/.a_"):
        make_plan(Snapshot(table.store, table.line), t(2))
    assert numbers(make_plan(Snapshot(table.store, table.line), t(1)).instants) == [3, 2]


def test_a_replaced_group_that_was_cleaned(tmp_path: Path, version: int) -> None:
    """Needed before it was replaced, not after."""
    table = Table(tmp_path, version)
    table.wrote(1, "a")
    table.done(2, "replacecommit", replaced={"p": ("a",)})
    table.done(3)
    table.store.delete(f"p/a_0-0-0_{t(1)}.parquet")
    table.cleaned(4, f"a_0-0-0_{t(1)}.parquet")
    with pytest.raises(ConfigError, match=r"a clean has deleted files that it needs: p/a_"):
        make_plan(Snapshot(table.store, table.line), t(1))
    assert numbers(make_plan(Snapshot(table.store, table.line), t(2)).instants) == [3]


def test_a_pending_clean(tmp_path: Path, version: int) -> None:
    table = Table(tmp_path, version)
    table.wrote(1, "a", "b")
    table.wrote(2, "a", before=1)
    info = {"filePath": f"file:/t/p/a_0-0-0_{t(1)}.parquet", "isBootstrapBaseFile": False}
    plan = {
        "earliestInstantToRetain": None, "policy": "KEEP_LATEST_COMMITS",
        "filePathsToBeDeletedPerPartition": {"p": [info]},
    }  # fmt: skip
    table.pending(3, "clean", codec_avro.encode("HoodieCleanerPlan", plan))
    with pytest.raises(CommitConflictError, match=r"clean \d+ is pending .* p/a_"):
        make_plan(Snapshot(table.store, table.line), t(1))
    refuse_missing(Snapshot(table.store, table.line), [], data_files(table.store), "now")


def test_the_files_of_a_savepoint(tmp_path: Path, version: int) -> None:
    table = Table(tmp_path, version)
    table.wrote(1, "a")
    table.kept(1, FileSlice("p", "b", t(1), BaseFile("p", "b", t(1), "0-0-0")))
    table.wrote(2, "c")
    with pytest.raises(ConfigError, match="1 files that it keeps are not there, p/b_"):
        make_plan(Snapshot(table.store, table.line), t(1))


# --- how it goes ----------------------------------------------------------------------------------
def test_a_completed_write_goes_without_its_pending_files(tmp_path: Path, version: int) -> None:
    """Other writers leave none, or archive them first."""
    table = Table(tmp_path, version)
    table.wrote(1, "a")
    table.base("a", 2)
    stat = WriteStat("p", "a", f"p/a_0-0-0_{t(2)}.parquet", t(1))
    newest = table.done(2, pending=False, stats=(stat,), operation=Operation.UPSERT)
    found = rollback.rollback(Snapshot(table.store, table.line), newest)
    assert found.files == (f"p/a_0-0-0_{t(2)}.parquet",)
    assert table.found(2) == [] and table.names() == ["a_0-0-0_00001.parquet"]


def test_a_rollback_that_was_only_asked_for(tmp_path: Path, version: int) -> None:
    """Spark Hudi 1.2 leaves one behind where it refuses it. To run it would take a completed commit
    out of the middle."""
    table = Table(tmp_path, version)
    table.wrote(1, "a")
    table.wrote(2, "a", before=1)
    path = absolute(table.store, f"p/a_0-0-0_{t(1)}.parquet")
    ask = {"partitionPath": "p", "fileId": "", "latestBaseInstant": "", "filesToBeDeleted": [path]}
    plan = {
        "instantToRollback": {"commitTime": t(1), "action": "commit"},
        "RollbackRequests": [{**ask, "logBlocksToBeDeleted": {}}], "version": 1,
    }  # fmt: skip
    table.pending(3, "rollback", codec_avro.encode("HoodieRollbackPlan", plan))
    (mine,) = [i for i in table.line.pending() if i.action == "rollback"]
    assert rollback.resume(Snapshot(table.store, table.line), mine) is None
    assert table.found(3) == [] and len(table.names()) == 2 and table.line.find(t(1)) is not None


def test_what_may_not_be_rolled_back(tmp_path: Path) -> None:
    table = Table(tmp_path, 9, MOR)
    first = table.done(1, "deltacommit", at=2)
    second = table.done(3, "deltacommit", at=6)
    table.done(4, "deltacommit", at=5)
    with pytest.raises(ConfigError, match="not the newest completed write"):
        rollback.rollback(Snapshot(table.store, table.line), first)
    with pytest.raises(ConfigError, match="not the newest completed write"):
        rollback.rollback(Snapshot(table.store, table.line), second)  # by its request it is not
    overlapped = table.line.find(t(4))
    assert overlapped is not None
    with pytest.raises(ConfigError, match="not the newest completed write"):
        rollback.rollback(Snapshot(table.store, table.line), overlapped)  # by its end it is not
    newest = table.done(7, "deltacommit")
    table.pending(8, "deltacommit")
    with pytest.raises(CommitConflictError, match="may build on it"):
        rollback.rollback(Snapshot(table.store, table.line), newest)
    assert table.line.find(t(7)) is not None and not table.found(9)


def test_blocks_among_others(tmp_path: Path) -> None:
    """Version 6: a log file with another write's blocks gets one behind it that takes ours back; a
    log file of ours alone goes; so do those of slices that the write began."""
    table = Table(tmp_path, 6, MOR)
    table.wrote(1, "a", "b", action="deltacommit")
    table.log("a", 1, 1, 2, 3)
    table.log("b", 1, 1, 3)

    def stat(group: str) -> WriteStat:
        name = f".{group}_{t(1)}.log.1_0-0-0"
        return WriteStat("p", group, f"p/{name}", t(1), log_version=1, log_files=(name,))

    table.done(2, "deltacommit", stats=(stat("a"),))
    table.base("c", 3)
    table.log("c", 3)
    added = WriteStat("p", "c", f"p/c_0-0-0_{t(3)}.parquet")
    newest = table.done(3, "deltacommit", stats=(stat("a"), stat("b"), added))
    found = rollback.rollback(Snapshot(table.store, table.line), newest)
    assert table.names() == [
        ".a_00001.log.1_0-0-0",
        f".a_00001.log.2_0-0-{int(found.rollback[8:])}",
        "a_0-0-0_00001.parquet",
        "b_0-0-0_00001.parquet",
    ]
    (block,) = (
        log_files().reader(table.store, f"p/.a_{t(1)}.log.2_0-0-{int(found.rollback[8:])}").blocks
    )
    assert block.is_rollback and (block.instant, block.target_instant) == (found.rollback, t(3))
    done = next(i for i in table.line.completed() if i.action == "rollback")
    told = table.line.contents(table.store, done)["partitionMetadata"]["p"]
    assert len(told["successDeleteFiles"]) == 3 and list(told["rollbackLogFiles"].values()) == [105]


def test_a_restore_of_others_is_resumed(tmp_path: Path, version: int) -> None:
    """A plan without a point, as older versions of Hudi make it, of which a part is done: a rollback
    is pending, one is completed, one instant has gone without any trace."""
    table = Table(tmp_path, version)
    for n in (1, 2, 3, 4):
        table.wrote(n, "a", before=n - 1)
    plan = {
        "instantsToRollback": [{"commitTime": t(n), "action": "commit"} for n in (5, 4, 3, 2)],
        "version": 1,
    }  # fmt: skip
    table.pending(6, "restore", codec_avro.encode("HoodieRestorePlan", plan))

    def begun(n: int, target: int) -> None:
        told = {"instantToRollback": {"commitTime": t(target), "action": "commit"}, "version": 1}
        table.pending(n, "rollback", codec_avro.encode("HoodieRollbackPlan", told))

    begun(7, 4)
    begun(8, 3)
    begun(9, 2)
    path = absolute(table.store, f"p/a_0-0-0_{t(2)}.parquet")
    part = {"partitionPath": "p", "successDeleteFiles": [path], "failedDeleteFiles": []}
    told = {
        "startRollbackTime": t(9), "timeTakenInMillis": 7, "totalFilesDeleted": 1,
        "commitsRollback": [t(2)], "partitionMetadata": {"p": part},
    }  # fmt: skip
    ended = Instant(t(9), "rollback", State.COMPLETED, t(9) if version == 9 else None)
    table.file(ended, codec_avro.encode("HoodieRollbackMetadata", told))
    for name in table.found(2):
        table.store.delete(f"{table.config.timeline_path}/{t(2)}{name}")
    table.store.delete(f"p/a_0-0-0_{t(2)}.parquet")
    (mine,) = [i for i in table.line.pending() if i.action == "restore"]
    done = restore.resume(Snapshot(table.store, table.line), mine)
    assert numbers(done.undone) == [5, 4, 3, 2] and len(done.files) == 3
    assert table.names() == ["a_0-0-0_00001.parquet"]
    assert numbers(table.line.instants) == [1, 6] and table.line.pending() == ()
    (ended,) = [i for i in table.line.completed() if i.action == "restore"]
    records = table.line.contents(table.store, ended)["hoodieRestoreMetadata"]
    assert records[t(2)][0]["timeTakenInMillis"] == 7, "as that rollback told it"


def test_a_restore_that_others_have_written_behind(tmp_path: Path, version: int) -> None:
    """To finish it would take away what they wrote upon: it is given up, and said so. Asked for again
    it undoes all of it."""
    table = Table(tmp_path, version)
    for n in (1, 2, 3):
        table.wrote(n, "a", before=n - 1)
    planned = restore.schedule(table.store, table.config, t(1))
    assert planned is not None
    later = int(planned.requested) + 1
    stat = WriteStat("p", "b", f"p/b_0-0-0_{later}.parquet")
    table.store.put(stat.path, b"1")
    done = Instant(str(later), "commit", State.COMPLETED, str(later + 1) if version == 9 else None)
    content = table.layout.encode_commit(CommitMetadata(stats=(stat,)), "commit")
    table.file(done, content)
    with pytest.raises(CommitConflictError, match="was written since it was begun"):
        restore.run(table.store, table.config, planned.requested)
    living = Liveness(table.store)
    with pytest.warns(HoodooWarning, match=r"is given up.*table\.restore"):
        assert restore.finish(Snapshot(table.store, table.line), living) == ()
    assert table.line.pending() == () and len(table.names()) == 4
    again = restore.schedule(table.store, table.config, t(1))
    assert again is not None
    found = restore.run(table.store, table.config, again.requested)
    assert found.undone == (str(later), t(3), t(2)) and table.names() == ["a_0-0-0_00001.parquet"]
    assert restore.run(table.store, table.config, again.requested) == found, "told again"


def test_a_restore_at_work(tmp_path: Path, version: int) -> None:
    """Writers wait for one whose runner lives, and finish what a dead one has left."""
    table = Table(tmp_path, version)
    table.wrote(1, "a")
    table.wrote(2, "a", before=1)
    planned = restore.schedule(table.store, table.config, t(1))
    assert planned is not None
    with Beating(table.store) as beats:
        beats.add(planned.requested)
        with pytest.raises(CommitConflictError, match="in progress"):
            restore.finish(Snapshot(table.store, table.line), Liveness(table.store))
    (done,) = restore.finish(Snapshot(table.store, table.line), Liveness(table.store))
    assert done.undone == (t(2),) and table.line.pending() == ()


def test_a_rollback_at_work(tmp_path: Path, version: int) -> None:
    """Of one instant there is one rollback: what somebody left is finished, under his plan."""
    table = Table(tmp_path, version)
    table.wrote(1, "a")
    table.base("a", 2)
    table.pending(2)
    told = {"instantToRollback": {"commitTime": t(2), "action": "commit"}, "version": 1}
    table.pending(3, "rollback", codec_avro.encode("HoodieRollbackPlan", told))
    failed = Instant(t(2), "commit", State.INFLIGHT)
    with Beating(table.store) as beats:
        beats.add(t(3))
        with pytest.raises(CommitConflictError, match="of it is in progress"):
            rollback.rollback(Snapshot(table.store, table.line), failed)
        with pytest.raises(CommitConflictError, match="in progress"):
            restore.schedule(table.store, table.config, t(1))
    found = rollback.rollback(Snapshot(table.store, table.line), failed)
    assert (found.rollback, found.files) == (t(3), (f"p/a_0-0-0_{t(2)}.parquet",))
    assert table.line.pending() == ()
