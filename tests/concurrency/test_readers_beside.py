"""Readers beside what takes files off the timeline: they look again, and no bare exception leaves a read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from action_pairs import ARCHIVING, lived
from attrs import define
from hoodoo.errors import CommitConflictError, InstantGoneError
from hoodoo.storage.api import Storage
from hoodoo.table.table import Table
from hoodoo.testing.stores import Crash, Delegating, GatedStorage
from memory_store import MemoryStorage, Objects
from tables import COW9, COW_RECORDS, MOR9, Kind, rows
from world import World, opened, rows_of

Made = Callable[[Kind], Objects]


def _replaced(store: Storage) -> None:
    """A table whose first replacecommit may be archived."""
    table = opened(store)
    table.insert_overwrite(rows({1: "a", 2: "a"}, "r", 3))
    lived(table)
    for number in range(3):
        table.upsert(rows({1: "a"}, f"z{number}", 7 + number))
    table.clean(commits_retained=1)


READS: dict[str, Callable[[Table], object]] = {
    "read": rows_of,
    "as of": lambda t: t.read(as_of="20260329120100000").to_arrow().num_rows,
    "one key": lambda t: t.read(where="id = 1").to_arrow().num_rows,
    "write": lambda t: t.upsert(rows({5: "a"}, "n", 20)),
}


@pytest.mark.sampled(4, among="schedules")
@pytest.mark.parametrize("kind", [COW9, MOR9], ids=str)
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("suffix", [".replacecommit", "commit"])
def test_a_file_is_archived_between_the_look_and_its_read(
    made: Made, still: World, tmp_path: Path, kind: Kind, read: str, suffix: str
) -> None:
    store = MemoryStorage(tmp_path, made(kind))
    _replaced(store)
    before = rows_of(opened(store))
    archived = []

    def gate(op: str, path: str) -> None:
        if not archived and op == "get" and "/timeline/" in path and path.endswith(suffix):
            archived.append(opened(store, ARCHIVING).archive().instants)

    READS[read](opened(GatedStorage(store, gate)))
    if archived:
        assert archived[0], "nothing was archived: this proves nothing"
    found = [row for row in rows_of(opened(store)) if row[0] != 5]
    assert tuple(found) == before


SERVICES: dict[str, tuple[Kind, Callable[[Table], object]]] = {
    "compaction": (MOR9, lambda t: t.compact()),
    "log compaction": (MOR9, lambda t: t.run("logcompaction")),
    "clustering": (COW9, lambda t: t.cluster(columns="id")),
}
_SOON = {"hoodie.log.compaction.blocks.threshold": "2"}


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("service", SERVICES)
def test_files_that_a_service_reads_are_undone(
    made: Made, still: World, tmp_path: Path, service: str
) -> None:
    """By a restore beside it: it has met another one, and nothing is damaged."""
    kind, serve = SERVICES[service]
    store = MemoryStorage(tmp_path, made(kind))
    lived(opened(store))
    before, point = rows_of(opened(store)), opened(store).timeline().writes()[-1].requested
    newest = opened(store).upsert(rows({1: "a", 3: "b"}, "y", 7)).instant
    objects, at = dict(store.objects), 0
    while True:  # at each time at which it opens one
        store = MemoryStorage(tmp_path, objects)
        gate = _Restores(store, point, newest, at)
        with suppress(CommitConflictError):
            serve(opened(GatedStorage(store, gate), _SOON))
        if gate.left >= 0:
            break
        assert rows_of(opened(store)) == before
        serve(opened(store, _SOON))
        assert rows_of(opened(store)) == before and opened(store).verify().ok
        at += 1
    assert at


@pytest.mark.parametrize("service", SERVICES)
def test_a_plan_is_undone_before_it_is_run(
    made: Made, still: World, tmp_path: Path, service: str
) -> None:
    """It was right: another process has come before."""
    kind, serve = SERVICES[service]
    store = MemoryStorage(tmp_path, made(kind))
    lived(opened(store))
    before, point = rows_of(opened(store)), opened(store).timeline().writes()[-1].requested
    opened(store).upsert(rows({1: "a", 3: "b"}, "y", 7))
    planned = [False, False]

    def gate(op: str, path: str) -> None:
        if planned == [True, False]:
            planned[1] = True
            opened(store).restore(point)
        kinds = ("compaction.requested", "clustering.requested")
        planned[0] |= op == "put_if_absent" and path.endswith(kinds)

    with pytest.raises(CommitConflictError):
        serve(opened(GatedStorage(store, gate), _SOON))
    assert planned == [True, True] and rows_of(opened(store)) == before


@define
class _Restores:
    """Restores to ``point`` when a file of ``instant`` is opened, and so many were before it."""

    store: Storage
    point: str
    instant: str
    left: int

    def __call__(self, op: str, path: str) -> None:
        if op == "open" and self.instant in path:
            self.left -= 1
            if self.left == -1:
                opened(self.store).restore(self.point)


class _Late(Delegating):
    """A store whose listing has an object that a get does not find yet, so many times."""

    times = 3

    def get(self, path: str) -> bytes:
        if self.times and path.endswith("commit"):
            self.times -= 1
            raise FileNotFoundError(path)
        return super().get(path)


def test_a_commit_that_is_listed_and_not_there_yet(
    made: Made, still: World, tmp_path: Path
) -> None:
    store = MemoryStorage(tmp_path, made(MOR9))
    assert rows_of(opened(_Late(store))) == rows_of(opened(store))


def test_a_commit_that_never_comes_is_an_error_of_hoodoo(
    made: Made, still: World, tmp_path: Path
) -> None:
    store = _Late(MemoryStorage(tmp_path, made(MOR9)))
    store.times = 1_000_000
    with pytest.raises(InstantGoneError, match="Repeat the call"):
        rows_of(opened(store))


@pytest.mark.parametrize("times", [1, 2, 3])
def test_the_metadata_table_is_wiped_again_and_again_while_it_is_read(
    made: Made, still: World, tmp_path: Path, times: int
) -> None:
    """By rebuilds of others; each begins when the reader has seen that the one before is done."""
    store = MemoryStorage(tmp_path, made(COW_RECORDS))
    before = rows_of(opened(store))
    wiped = {path: data for path, data in store.objects.items() if "/metadata/files/" in path}
    left, hidden = [times], [False]

    def gate(op: str, path: str) -> None:
        if hidden[0] and op == "get" and path == ".hoodie/hoodie.properties":
            store.objects.update(wiped)  # it has been made again
            hidden[0] = False
        elif left[0] and op == "list" and path == ".hoodie/metadata/files":
            opened(store).rebuild_index("column_stats")  # somebody builds
            for name in wiped:
                store.objects.pop(name, None)
            left[0] -= 1
            hidden[0] = True

    assert rows_of(opened(GatedStorage(store, gate))) == before
    assert left == [0]


def test_the_metadata_table_is_half_wiped_when_it_is_listed(
    made: Made, still: World, tmp_path: Path
) -> None:
    """By a rebuild: what came after its base file has gone, which is still there."""
    store = MemoryStorage(tmp_path, made(COW_RECORDS))
    before = rows_of(opened(store))
    begun: list[str] = []

    def ends(op: str, path: str) -> None:
        if begun or (op == "delete_prefix" and path.startswith(".hoodie/metadata/")):
            begun.append(path)
            raise Crash(path)

    def gate(op: str, path: str) -> None:
        if not begun and op == "list" and path == ".hoodie/metadata/files":
            with pytest.raises(Crash):
                opened(GatedStorage(store, ends)).rebuild_index()
            for name in [n for n in store.objects if "/metadata/files/.files-" in n]:
                store.delete(name)

    assert rows_of(opened(GatedStorage(store, gate))) == before
    assert begun
