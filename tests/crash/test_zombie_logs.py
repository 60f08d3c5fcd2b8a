"""Log files of failed writes: of version 6 their names don't say who wrote them.

Here: a failed write's whole file, its block among another's blocks, damage beside it, and tasks that
put their file when the write has long been undone.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pytest
from attrs import field, frozen
from crash_leaks import leaks
from crash_trials import (
    COUNT,
    VERSIONS,
    age_temporaries,
    copied,
    crash,
    opened,
    ours,
    plain,
    plus_next,
    prepared,
    state,
    write_next,
)
from hoodoo.hookspecs.engine import Step, Stream, Task
from hoodoo.kernel.log_files import log_files
from hoodoo.model.instant import Instant
from hoodoo.model.log_block import BlockKind
from hoodoo.timeline.instants import next_instant
from hoodoo_services.compaction.merge_slice import CompactSlices
from hoodoo_standard.engine.local import LocalEngine, LocalStream
from hoodoo_standard.storage.local import LocalStorage
from merge_on_read import WRITES, check_compacts, check_write, log_paths, logs, rows
from table_life import check_archives
from test_zombies import Attempt, WatchingEngine, _wake

pytestmark = pytest.mark.sampled(6, among="crashes")

Tables = Callable[..., Path]


def _pending(path: Path) -> Instant:
    (found,) = opened(path).timeline().pending()
    return found


def _undone(base: Path, target: Path, tmp_path: Path, name: str) -> list[Attempt]:
    """A write whose driver died before it published, and its tasks, which live on."""
    case = prepared(base, tmp_path, WRITES[name])
    copied(base, target)
    engine = WatchingEngine(1)
    crash(target, case.operation, case.decisions[0], "before", engine)
    assert engine.attempts
    return engine.attempts


# --- the failed write's own files -----------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["upsert", "delete", "marked"])
def test_the_next_write_takes_whole_files_away(
    merged: Tables, tmp_path: Path, version: int, name: str
) -> None:
    target = tmp_path / "trial"
    base = merged(version, "bucket")
    old = state(base)
    _undone(base, target, tmp_path, name)
    failed = set(log_paths(target)) - set(log_paths(base))
    assert failed
    instant = _pending(target).requested
    assert ours(target) == old
    write_next(opened(target))
    assert not failed & set(log_paths(target))
    table = opened(target)
    (undo,) = [i for i in table.timeline().completed() if i.action == "rollback"]
    told = table.timeline().contents(LocalStorage(str(target)), undo)
    assert told["commitsRollback"] == [instant]
    names = [n for p in told["partitionMetadata"].values() for n in p["successDeleteFiles"]]
    assert {str(Path(n).relative_to(target)) for n in names} == failed
    assert state(target) == plus_next(old)
    assert leaks(target) == []
    COUNT.trials += 1


# --- blocks among those of others, as Spark Hudi appends them in version 6 ---------------------------


def _share(path: Path, damaged: bool = False) -> tuple[str, str]:
    """A write fails after it has appended a block to the newest log file of partition ``a``: its
    instant, and that file. ``damaged``: the block before it can't be read."""
    table = opened(path)
    timeline = table.timeline()
    instant = next_instant(
        datetime.now(timezone.utc), timeline.last_instant_time(), timeline.config.timezone
    )
    log = next(log for log in reversed(logs(path)) if log.partition_path == "a")
    storage = LocalStorage(str(path), durable=False)
    with log_files().reader(storage, log.path) as reader:
        (block,) = reader.blocks
        found = reader.rows(block)
    made = path / ".hoodie" / "block"
    with log_files().writer(str(made)) as writer:
        writer.data_block(BlockKind.AVRO, found, instant=instant, table_name="t")
    before = (path / log.path).read_bytes()
    if damaged:
        before = before[: len(before) // 2]
    (path / log.path).write_bytes(before + made.read_bytes())
    made.unlink()
    (path / ".hoodie" / f"{instant}.deltacommit.requested").touch()
    (path / ".hoodie" / f"{instant}.deltacommit.inflight").write_text(json.dumps({}))
    marker = path / ".hoodie" / ".temp" / instant / f"{log.path}.marker.APPEND"
    marker.parent.mkdir(parents=True)
    marker.touch()
    return instant, log.path


@pytest.mark.parametrize("index", ["bucket", "simple"])
def test_a_shared_log_file_gets_a_rollback_block(
    merged: Tables, tmp_path: Path, index: str
) -> None:
    """It stays, with the blocks of the others; a log file behind it takes the failed block back."""
    target = copied(merged(6, index), tmp_path / "trial")
    old, files = state(target), set(log_paths(target))
    instant, shared = _share(target)
    data = (target / shared).read_bytes()
    assert ours(target) == old
    assert opened(target).rollback() == (instant,)
    assert (target / shared).read_bytes() == data
    (added,) = set(log_paths(target)) - files
    with log_files().reader(LocalStorage(str(target)), added) as reader:
        (block,) = reader.blocks
    assert block.is_rollback
    assert block.target_instant == instant
    assert state(target) == old
    assert opened(target).rollback() == ()
    assert set(log_paths(target)) == files | {added}
    write_next(opened(target))
    assert state(target) == plus_next(old)
    check_compacts(target, plus_next(old), "")
    COUNT.trials += 1


@pytest.mark.parametrize("when", ["before", "after", "torn"])
def test_a_crash_while_a_block_is_taken_back(merged: Tables, tmp_path: Path, when: str) -> None:
    base = copied(merged(6, "bucket"), tmp_path / "base")
    old = state(base)
    instant, _ = _share(base)
    case = prepared(base, tmp_path, lambda t: t.rollback(), changes_rows=False)
    for at in range(1, case.steps + 1):
        target = copied(base, tmp_path / "trial")
        crash(target, case.operation, at, when)
        assert ours(target) == old, f"{when} {at}"
        age_temporaries(target)
        write_next(opened(target))
        assert state(target) == plus_next(old), f"{when} {at}"
        found = _rollback_blocks(target, instant)
        assert found == 1, f"{when} {at}: {found} rollback blocks"
        COUNT.trials += 1


def _rollback_blocks(path: Path, instant: str) -> int:
    found = 0
    for log in log_paths(path):
        with log_files().reader(LocalStorage(str(path)), log) as reader:
            found += sum(b.is_rollback and b.target_instant == instant for b in reader.blocks)
    return found


@pytest.mark.filterwarnings("ignore:.*log file.*:hoodoo.errors.HoodooWarning")
def test_damage_beside_a_failed_block_is_kept(merged: Tables, tmp_path: Path) -> None:
    """What can't be read may be a committed block: the file is not deleted, the block is taken back."""
    target = copied(merged(6, "bucket"), tmp_path / "trial")
    instant, shared = _share(target, damaged=True)
    old = ours(target)
    assert opened(target).rollback() == (instant,)
    assert shared in log_paths(target)
    assert _rollback_blocks(target, instant) == 1
    assert ours(target) == old
    COUNT.damages += 1


# --- tasks that outlive their write ----------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["upsert", "delete", "marked"])
@pytest.mark.parametrize("looks", [0, 1, 2], ids=["before-the-put", "after-the-put", "not-at-all"])
def test_a_zombie_puts_its_log_file_after_the_rollback(
    merged: Tables, tmp_path: Path, name: str, version: int, looks: int
) -> None:
    """It takes its file away; if it dies before it can, nobody sees the file and the next write takes
    it away, or, where that was before, archiving. No name is that of the next write's files."""
    target = tmp_path / "trial"
    base = merged(version, "bucket")
    old = state(base)
    zombies = _undone(base, target, tmp_path, name)
    assert opened(target).rollback()
    files = log_paths(target)
    assert files == log_paths(base)
    _wake(zombies, target, looks)
    left = set(log_paths(target)) - set(files)
    assert bool(left) == (looks == 2)
    assert state(target) == old
    check_write(target, old, name)
    assert not left & set(log_paths(target))
    # Once more, when the next write is there: the same rows, the same slots.
    files = log_paths(target)
    _wake(zombies, target, looks)
    assert state(target) == plus_next(old)
    write_next(opened(target))
    assert state(target) == plus_next(old)
    assert set(files) <= set(log_paths(target))
    check_compacts(target, plus_next(old), name)
    check_archives(target, plus_next(old), name)
    COUNT.trials += 1


@pytest.mark.parametrize("version", VERSIONS)
def test_a_compaction_meets_the_file_of_a_zombie(
    merged: Tables, tmp_path: Path, version: int
) -> None:
    """Planned while the file lies there, run when a write has swept the table: the plan names no file
    that is not there, and the file's rows go nowhere."""
    target = tmp_path / "trial"
    base = merged(version, "bucket")
    old = state(base)
    zombies = _undone(base, target, tmp_path, "upsert")
    assert opened(target).rollback()
    _wake(zombies, target, looks=2)
    assert opened(target).schedule_compaction()
    assert ours(target) == old
    opened(target).upsert(rows({99: "b"}, "next", 9))
    check_compacts(target, plus_next(old), "")
    opened(target).upsert(rows({99: "b"}, "next", 10))
    assert state(target) == plus_next(old)
    check_archives(target, plus_next(old), "")
    COUNT.trials += 1


@frozen
class CompactionTasks(LocalEngine):
    """Keeps the compacting step with its input."""

    kept: list[tuple[CompactSlices, Task, list[pa.RecordBatch]]] = field(factory=list)

    def map(self, stream: Stream, step: Step) -> LocalStream:
        work = plain(step)
        if isinstance(work, CompactSlices):
            assert isinstance(stream, LocalStream)
            for number, read in enumerate(stream.parts):
                self.kept.append((work, Task(number), list(read())))
        return super().map(stream, step)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_late_task_of_a_compaction(merged: Tables, tmp_path: Path, version: int) -> None:
    """The compaction is published: what its tasks put once more is there already."""
    target = copied(merged(version, "bucket"), tmp_path / "trial")
    old = state(target)
    engine = CompactionTasks(1)
    opened(target, engine=engine).compact()
    assert engine.kept
    before = {p: p.read_bytes() for p in target.rglob("*.parquet")}
    for step, task, batches in engine.kept:
        list(step(iter(batches), task))
    assert {p: p.read_bytes() for p in target.rglob("*.parquet")} == before
    check_write(target, old, "")
    assert leaks(target) == []
    COUNT.trials += 1
