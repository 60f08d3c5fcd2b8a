"""What other writers and services do between two steps of a write or a read, and nobody loses a row."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo import Table
from hoodoo.errors import CommitConflictError
from hoodoo.testing.steps import around, before, clock
from hoodoo.testing.tables import change_properties
from hoodoo_rows.testing.tables import tuples

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.string()), ("v", pa.int64())])
QUIET = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
SOON = {
    "hoodie.clean.automatic": "false",
    "hoodie.clean.commits.retained": "2",
    "hoodie.keep.min.commits": "3",
    "hoodie.keep.max.commits": "5",
}
ONE_BUCKET = {"hoodie.bucket.index.num.buckets": "1"}
COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"


def create(path: Path, options: dict[str, str] | None = None, **more: Any) -> Table:
    given = {**QUIET, **(options or {})}
    return hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="day", options=given, **more
    )


def opened(path: Path, options: dict[str, str] | None = None) -> Table:
    return hoodoo.open(str(path), options={**QUIET, **(options or {})})


def data(ids: Any, v: int, day: str = "a") -> pa.Table:
    ids = list(ids)
    return pa.table([ids, [day] * len(ids), [v] * len(ids)], schema=SCHEMA)


rows = partial(tuples, columns=["id", "day", "v"])


@pytest.mark.parametrize("version", [9, 6])
@pytest.mark.parametrize("kind", [COW, MOR])
def test_what_was_archived_before_the_request_is_a_conflict(
    tmp_path: Path, kind: str, version: int
) -> None:
    """The commits of the others are not on the timeline any more when the write looks at it."""
    create(tmp_path, table_type=kind, table_version=version).upsert(data(range(1200), 0))

    def others() -> None:
        table = opened(tmp_path, {**SOON, "hoodie.archive.automatic": "true"})
        table.upsert(data([2, 6000], 7))
        changed = table.timeline().writes()[-1]
        for v in range(8):
            table.upsert(data([9000], v, "b"))
        assert table.timeline().find(changed.requested) is None

    with before("request", others):
        opened(tmp_path).upsert(data([1, 6000], 100))
    found = {row[0]: row for row in rows(tmp_path)}
    assert len(rows(tmp_path)) == len(found) == 1202
    assert [found[n][2] for n in (1, 2, 6000)] == [100, 7, 100]


def test_a_savepointed_beginning_is_no_conflict(tmp_path: Path) -> None:
    table = create(tmp_path, {"hoodie.write.num.retries.on.conflict.failures": "0"})
    table.upsert(data([1], 0))
    table.savepoint()
    table.upsert(data([1], 1))
    assert rows(tmp_path) == [(1, "a", 1)]


@pytest.mark.parametrize("version", [9, 6])
def test_the_only_write_that_was_seen_is_rolled_back(tmp_path: Path, version: int) -> None:
    """The instant of the write itself is where the timeline begins then."""
    table = create(tmp_path, ONE_BUCKET, index="bucket", table_type=MOR, table_version=version)
    first = table.upsert(data([1, 2], 0)).instant
    writer = opened(tmp_path, {"hoodie.write.num.retries.on.conflict.failures": "0"})
    with before("request", lambda: opened(tmp_path).rollback(first)):
        with pytest.raises(
            CommitConflictError, match="was rolled back in the meantime|was taken away"
        ):
            writer.upsert(data([1], 100))
    assert rows(tmp_path) == []


@pytest.mark.parametrize("step", ["request", "complete"])
@pytest.mark.parametrize("moves", ["the other", "this one"])
def test_appends_beside_a_row_that_moves(tmp_path: Path, step: str, moves: str) -> None:
    """With ``log_appends`` both may append to a file group; the row must not stay where it was, too."""
    options = {"hoodie.write.lock.conflict.resolution.strategy": "log_appends"}
    create(tmp_path, options, table_type=MOR, index="global_simple").upsert(data([1, 2], 0))
    to, mine = ("b", "a") if moves == "the other" else ("a", "b")
    with before(step, lambda: opened(tmp_path, options).upsert(data([1], 5, to))):
        opened(tmp_path, options).upsert(data([1], 100, mine))
    assert rows(tmp_path) in ([(1, mine, 100), (2, "a", 0)], [(1, "a", 100), (2, "a", 0)])


def test_a_row_that_was_deleted_compacted_and_inserted_again(tmp_path: Path) -> None:
    options = {"hoodie.write.lock.conflict.resolution.strategy": "log_appends"}
    create(tmp_path, options, table_type=MOR).upsert(data([1, 2], 0))

    def others() -> None:
        table = opened(tmp_path, options)
        table.delete(data([1], 0))
        table.compact()
        table.upsert(data([1], 5))

    with before("request", others):
        opened(tmp_path, options).upsert(data([1], 100))
    assert rows(tmp_path) == [(1, "a", 100), (2, "a", 0)]


class Cursor:
    """Speaks ``__arrow_c_stream__``, and has no rows left after that."""

    def __init__(self, table: pa.Table) -> None:
        self.left = table.to_batches()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        batches, self.left = self.left, []
        reader = pa.RecordBatchReader.from_batches(SCHEMA, batches)
        return reader.__arrow_c_stream__(requested_schema)


def test_a_stream_that_is_read_once_is_not_taken_for_empty(tmp_path: Path) -> None:
    create(tmp_path).upsert(data([1], 0))
    with before("complete", lambda: opened(tmp_path).insert_overwrite(data([2], 0))):
        with pytest.raises(CommitConflictError):
            opened(tmp_path).append(Cursor(data([7], 100)))
    assert rows(tmp_path) == [(2, "a", 0)]
    with before("complete", lambda: opened(tmp_path).insert_overwrite(data([3], 0))):
        opened(tmp_path).upsert(Cursor(data([7], 100)))  # its rows wait in the stage
    assert rows(tmp_path) == [(3, "a", 0), (7, "a", 100)]


def test_a_clock_that_is_behind_makes_no_hole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An instant older than what has been archived would be where the timeline begins: all that is
    archived and younger would be gone, for readers, while the write is pending."""
    create(tmp_path).upsert(data([0], 0))
    ahead = timedelta(0)

    def others() -> None:
        nonlocal ahead
        ahead = timedelta(hours=1)
        table = opened(tmp_path, {**SOON, "hoodie.archive.automatic": "true"})
        for n in range(1, 9):
            table.upsert(data([n], n, f"d{n}"))
        ahead = timedelta(0)
        with_gate.append(1)

    with_gate: list[int] = []
    seen = []

    def looked(complete: Callable[[], Any]) -> Any:
        if with_gate:
            seen.append(len(rows(tmp_path)))
        return complete()

    with clock(lambda: ahead), around("complete", looked), before("request", others):
        opened(tmp_path).append(data([100], 0))
    assert seen[0] == 9 and len(rows(tmp_path)) == 10


def test_a_look_is_not_that_of_another_thread(tmp_path: Path) -> None:
    """One object, two threads: an older listing that comes late is nobody else's answer."""
    create(tmp_path).upsert(data([1], 0))
    table = opened(tmp_path)
    old = table.timeline()

    class Late(Table):
        def __setattr__(self, name: str, value: Any) -> None:
            object.__setattr__(self, name, old if name == "_timeline" else value)

    opened(tmp_path).upsert(data([1], 1))
    table.__class__ = Late
    assert len(table.timeline().writes()) == 2


def test_several_writers_remove_the_metadata_table(tmp_path: Path) -> None:
    """Each of the first writers that do not want it, after Spark Hudi, changes the properties."""
    table = create(tmp_path)
    for n in range(4):
        table.upsert(data([n], 0, f"d{n}"))
    changes = {"hoodie.table.metadata.partitions": "files"}
    change_properties(table.handle.storage, changes)
    (tmp_path / ".hoodie/metadata/files").mkdir(parents=True)
    failed: list[BaseException] = []
    start = threading.Barrier(4)

    def write(n: int) -> None:
        try:
            start.wait()
            opened(tmp_path, {"hoodie.metadata.enable": "false"}).upsert(data([n], 1, f"d{n}"))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # each says that it removes it
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failed
    assert rows(tmp_path) == [(n, f"d{n}", 1) for n in range(4)]
    assert not os.path.exists(tmp_path / ".hoodie/metadata")


@pytest.mark.parametrize("version", [9, 6])
@pytest.mark.parametrize("kind", [COW, MOR])
@pytest.mark.parametrize("seen", ["request", "recovery"])
def test_nothing_is_written_on_what_is_about_to_be_undone(
    tmp_path: Path, kind: str, version: int, seen: str
) -> None:
    """A rollback looks at what was built on a commit when it is announced. Who writes on it afterwards, but before
    the commit is away, would bring its rows back. ``seen``: the write's recovery is before the announcement, or after."""
    create(tmp_path, table_type=kind, table_version=version).upsert(data(range(5), 0))
    last = opened(tmp_path).upsert(data([1], 1)).instant
    announced, decided = threading.Event(), threading.Event()

    def undo() -> None:
        opened(tmp_path).rollback(last)

    undoing = threading.Thread(target=undo)

    def requested(request: Callable[[], Any]) -> Any:
        if threading.current_thread() is not undoing and not undoing.is_alive():
            undoing.start()
            assert announced.wait(60)
        return request()

    def begun(inflight: Callable[[], Any]) -> Any:
        if threading.current_thread() is undoing:
            announced.set()
            assert decided.wait(60)
        return inflight()

    with ExitStack() as stack:
        stack.enter_context(around("inflight", begun))
        if seen == "request":
            stack.enter_context(around("request", requested))
        else:
            undoing.start()
            assert announced.wait(60)
        try:
            with pytest.raises(
                CommitConflictError, match=f"it will undo {last}|a rollback is undoing"
            ):
                opened(tmp_path).upsert(data([2], 2))
        finally:
            decided.set()
            undoing.join(60)
    assert rows(tmp_path) == [(n, "a", 0) for n in range(5)]
    opened(tmp_path).upsert(data([2], 2))
    assert rows(tmp_path) == [(n, "a", 2 if n == 2 else 0) for n in range(5)]
