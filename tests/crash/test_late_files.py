"""Writers and services that were taken for dead and still put a file, on every path that puts files.

One storage operation of the late one is held back by a gate until others have undone what it was at (or
finished it); then it is let go. Either it lives on and has to take its file away itself, or it ends with
that very operation, and its file stays. Nobody may ever see it, and whoever comes next takes it away.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import clustered_tables
import merge_on_read
import metadata_tables
import pytest
from attrs import frozen
from crash_leaks import leaks
from crash_trials import (
    COUNT,
    NEXT,
    OPERATIONS,
    Operation,
    State,
    copied,
    crash,
    opened,
    plus_next,
    prepared,
    rows,
    state,
    write_next,
)
from hoodoo.errors import HoodooError
from hoodoo.storage.api import Storage
from hoodoo.table.table import Table
from hoodoo.testing.stores import Crash, Delegating
from hoodoo.timeline.heartbeat import FOLDER as HEARTBEATS
from test_zombies import WatchingEngine, _wake

pytestmark = pytest.mark.sampled(6, among="crashes")

Tables = Callable[..., Path]
Point = Callable[[str, str], bool]
T = TypeVar("T")
PATIENCE = 300  # seconds, of a wait that never lasts


def marker(op: str, path: str) -> bool:
    return op == "put_if_absent" and ".marker." in path


def file(op: str, path: str) -> bool:
    return op == "put_file_if_absent" and not path.startswith(".hoodie/")


def metadata_file(op: str, path: str) -> bool:
    return op == "put_file_if_absent" and path.startswith(".hoodie/metadata/")


class Late(Delegating):
    """The first operation that ``point`` names waits for ``go``; with ``dies`` it is the last one."""

    def __init__(self, inner: Storage, point: Point, dies: bool) -> None:
        super().__init__(inner)
        self.point, self.dies = point, dies
        self.there, self.go, self.done = threading.Event(), threading.Event(), threading.Event()
        self.path = ""
        self.ended = False

    def around(self, op: str, path: str, call: Callable[[], T]) -> T:
        if self.ended:
            raise Crash("ended")
        if self.path or not self.point(op, path):
            return call()
        self.path = path
        self.there.set()
        assert self.go.wait(PATIENCE)
        answer = call()
        if self.dies:
            self.ended = True
            raise Crash(f"after {op} {path}")
        return answer


@contextmanager
def late(
    target: Path, operation: Operation, point: Point, dies: bool, silent: bool = True
) -> Iterator[Late]:
    """``operation`` at ``target``, held back at ``point``, is taken for dead in the body (if ``silent``), and goes
    on to its end after it."""
    stores: list[Late] = []

    def wrap(inner: Storage) -> Storage:
        stores.append(Late(inner, point, dies))
        return stores[0]

    table = opened(target, wrap)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(operation, table)
        running.add_done_callback(lambda _: (stores[0].there.set(), stores[0].done.set()))
        assert stores[0].there.wait(PATIENCE)
        try:
            assert stores[0].path, f"it was not held back: {running.exception()}"
            for beat in (target / HEARTBEATS).iterdir() if silent else ():
                beat.unlink()
            yield stores[0]
        finally:
            stores[0].go.set()
        error = running.exception(PATIENCE)
    if dies:
        assert isinstance(error, Crash)
    else:
        assert error is None or isinstance(error, HoodooError), error


@frozen
class Way:
    """``make`` answers the table to work on; ``undo`` is what others do with what the late one was at."""

    operation: Operation
    make: Callable[[Tables, Tables, Path], Path]
    points: tuple[Point, ...] = (marker, file)
    undo: Operation = lambda table: table.rollback()
    # Who sweeps what the next write does not.
    sweep: Operation | None = None


def _plain(version: int) -> Callable[[Tables, Tables, Path], Path]:
    return lambda tables, merged, tmp: tables(version)


def _merged(version: int, index: str) -> Callable[[Tables, Tables, Path], Path]:
    return lambda tables, merged, tmp: merged(version, index)


def _indexed(kind: str) -> Callable[[Tables, Tables, Path], Path]:
    return lambda tables, merged, tmp: metadata_tables.build(tmp / "indexed", kind)


def _clustered(kind: str) -> Callable[[Tables, Tables, Path], Path]:
    return lambda tables, merged, tmp: clustered_tables.build(tmp / "clustered", kind)


def _virtual(tables: Tables, merged: Tables, tmp: Path) -> Path:
    return tables(9)


def _give_up(table: Table) -> object:
    (plan,) = [i.requested for i in table.timeline().pending() if i.action == "compaction"]
    return table.rollback(plan)


def _rebuild(table: Table) -> object:
    table.rollback()
    return table.rebuild_index()


MERGED = merge_on_read.WRITES
PATHS = {
    "upsert v6": Way(OPERATIONS["upsert"], _plain(6)),
    "upsert": Way(OPERATIONS["upsert"], _plain(9)),
    "insert": Way(OPERATIONS["insert"], _plain(9)),
    "delete": Way(OPERATIONS["delete"], _plain(9)),
    "bulk_insert v6": Way(OPERATIONS["bulk_insert"], _plain(6)),
    "bulk_insert": Way(OPERATIONS["bulk_insert"], _plain(9)),
    "append": Way(lambda t: t.append(rows({8: "a", 9: "c"}, "new", 3)), _plain(9)),
    "insert_overwrite": Way(OPERATIONS["insert_overwrite"], _plain(9)),
    "log files v6": Way(MERGED["upsert"], _merged(6, "bucket")),
    "log files": Way(MERGED["upsert"], _merged(9, "simple")),
    "deletes to log files": Way(MERGED["delete"], _merged(9, "bucket")),
    "compaction given up": Way(
        lambda t: t.compact(), _merged(9, "simple"), undo=_give_up
    ),
    "compaction given up v6": Way(
        lambda t: t.compact(), _merged(6, "simple"), undo=_give_up
    ),
    "compaction finished": Way(
        lambda t: t.compact(), _merged(9, "bucket"), undo=lambda t: t.compact()
    ),
    "clustering": Way(clustered_tables.cluster, _clustered("v9-on-write")),
    "clustering v6": Way(clustered_tables.cluster, _clustered("v6-on-read")),
    "rewrite of keys": Way(lambda t: t.rewrite_keys(), _virtual),
    "upsert with an index": Way(
        metadata_tables.OPERATIONS["upsert"], _indexed("on-write"), (marker, file, metadata_file)
    ),
    "log files with an index": Way(
        metadata_tables.OPERATIONS["upsert"], _indexed("on-read"), (file, metadata_file)
    ),
    "rebuild of the index": Way(
        lambda t: t.rebuild_index(),
        _indexed("on-write"),
        (metadata_file,),
        _rebuild,
        lambda t: t.compact_metadata(),
    ),
    "compaction of the index": Way(
        lambda t: t.compact_metadata(),
        _indexed("on-write"),
        (metadata_file,),
        lambda t: t.compact_metadata(),
    ),
}  # fmt: skip
CASES = [
    pytest.param(
        name, point, dies, id=f"{name}, {point.__name__}, {'dies' if dies else 'lives on'}"
    )
    for name, path in PATHS.items()
    for point in path.points
    # A marker waits for the next one either way.
    for dies in ((True,) if point is marker else (False, True))
]


@pytest.mark.parametrize(("name", "point", "dies"), CASES)
@pytest.mark.sampled(1)
def test_a_late_file(
    tables: Tables, merged: Tables, tmp_path: Path, name: str, point: Point, dies: bool
) -> None:
    path = PATHS[name]
    base = path.make(tables, merged, tmp_path)
    target = copied(base, tmp_path / "trial")
    old = state(target)
    with late(target, path.operation, point, dies) as store:
        path.undo(opened(target))
        assert state(target) == old
        there = (target / store.path).exists()  # others have finished it, and made the same file
    found = state(target)
    if dies:
        assert (target / store.path).exists(), "it left nothing: this proves nothing"
        assert found == old, "readers see what the late one has put"
    else:
        assert there or not (target / store.path).exists(), "it did not take its file away"
        assert found in (old, _whole(base, path, tmp_path))
    _check_next(target, found, f"{name}, {point.__name__}", path.sweep)
    COUNT.trials += 1


def _whole(base: Path, path: Way, tmp_path: Path) -> State:
    """The rows where a late one that lost has repeated its write."""
    target = copied(base, tmp_path / "whole")
    path.operation(opened(target))
    return state(target)


def _check_next(target: Path, found: State, where: str, sweep: Operation | None = None) -> None:
    """The next write adds its key, and leaves nothing of anybody; no temporaries are made older for it."""
    write_next(opened(target))
    assert state(target) == plus_next(found), where
    if sweep is not None:
        sweep(opened(target))
    assert leaks(target, services=True) == [], where
    report = opened(target).verify()
    assert report.ok, f"{where}: {[str(f) for f in report.findings]}"


def test_a_late_file_of_a_write_that_was_undone_beside_another(
    tables: Tables, tmp_path: Path
) -> None:
    """The other one had begun, and looked, before the rollback, and ended after it: it has not swept."""
    target = tmp_path / "trial"
    case = prepared(tables(9), tmp_path, OPERATIONS["upsert"])
    copied(case.path, target)
    engine = WatchingEngine(1)
    with late(target, write_next, lambda op, path: "/ledger/" in path, dies=False, silent=False):
        crash(target, case.operation, case.decisions[0], "before", engine)
        (undone,) = opened(target).rollback()
        _wake(engine.attempts, target, looks=2)
    left = [path for path in target.rglob(f"*{undone}*") if ".hoodie" not in path.parts]
    assert left, "the late task left nothing: this proves nothing"
    found = plus_next(case.old)
    assert state(target) == found
    opened(target).delete([NEXT[0]])
    assert not any(path.exists() for path in left)
    assert state(target) == case.old
    assert leaks(target) == []
    COUNT.trials += 1


@pytest.mark.parametrize("name", [None, "record_index"])
def test_a_late_file_of_an_earlier_build(tmp_path: Path, name: str | None) -> None:
    """It is of rows that have changed since; the build that others make meanwhile does not take it for its own."""
    target = metadata_tables.build(tmp_path / "t", "on-write")
    old = state(target)

    def build(table: Table) -> object:
        return table.rebuild_index(name)

    def keys(op: str, path: str) -> bool:
        return metadata_file(op, path) and "/record_index/" in path

    with late(target, build, keys, dies=True) as earlier:
        opened(target).rollback()
        opened(target).upsert(rows(dict.fromkeys(range(1, 20), "b"), "since", 9))
        found = state(target)
        with late(target, build, keys, dies=False, silent=False):
            earlier.go.set()
            assert earlier.done.wait(PATIENCE)
    assert found != old and state(target) == found
    metadata_tables.check_whole(target, "")
    write_next(opened(target))
    assert state(target) == plus_next(found)
    assert opened(target).compact_metadata()
    assert leaks(target) == []
    metadata_tables.check_whole(target, "")
    COUNT.trials += 1
