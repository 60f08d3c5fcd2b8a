"""Several processes publish at the same time, and processes that end anywhere."""

from __future__ import annotations

import shutil
import threading
from functools import partial
from pathlib import Path
from typing import Any

import hoodoo
import pytest
from hoodoo.errors import HoodooWarning
from hoodoo.storage.api import Entry
from hoodoo.testing.stores import Crash, CrashingStorage, Delegating
from hoodoo_publishing.delta import log
from hoodoo_publishing.delta.log import DeltaLog
from open_readers import SCHEMA, check, delta, iceberg, snapshots, some_rows, texts

OPTIONS = {"hoodoo.open.formats": "iceberg,delta", "hoodie.metadata.enable": "false"}


def made(path: Path, **options: str) -> hoodoo.Table:
    return hoodoo.create(str(path), SCHEMA, record_key="id", options={**OPTIONS, **options})


def ending(table: hoodoo.Table, at: int, when: Any) -> CrashingStorage:
    """The process of ``table`` ends at its ``at``-th mutating operation."""
    store = CrashingStorage(table.handle.storage, at, when)
    table.handle.storage = store
    return store


@pytest.mark.sampled(1, among="long")
def test_two_writers(tmp_path: Path) -> None:
    made(tmp_path / "t").upsert(some_rows(range(3), 1))
    errors: list[BaseException] = []

    def write(first: int) -> None:
        try:
            table = hoodoo.open(str(tmp_path / "t"))
            for value in range(4):
                table.insert(some_rows([first + value], value))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(first,)) for first in (100, 200, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    table = hoodoo.open(str(tmp_path / "t"))
    table.publish()
    check(table)
    assert table.read().count() == 15


@pytest.mark.sampled(2)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("action", ["upsert", "clean", "rollback", "restore"])
def test_readers_find_all_files_wherever_a_process_ends(
    tmp_path: Path, action: str, when: Any
) -> None:
    """An inline clean deletes files right after the write. Until the next action, readers of both
    formats see the table as it was before the write or after it."""
    start = tmp_path / "start"
    table = made(start, **{"hoodie.clean.automatic": "false"})
    names, inline = SCHEMA.names, {"hoodie.clean.automatic": "true"}
    inline["hoodie.clean.commits.retained"] = "1"
    if action in ("rollback", "restore"):
        inline = {}
    rights = set()
    for value in (1, 2, 3):
        newest = table.upsert(some_rows(range(4), value))
        if value == 1 and action == "restore":
            point = table.savepoint()
        if value == 3 or action == "restore":  # commits are undone one after another
            rights.add(str(texts(table.read().to_arrow(), names)))
    at = 0
    while True:
        at += 1
        target = tmp_path / f"t{at}"
        shutil.copytree(start, target)
        hoodoo.open(str(target)).publish()  # for the copy
        table = hoodoo.open(str(target), inline)
        store = ending(table, at, when)
        try:
            if action == "upsert":
                table.upsert(some_rows(range(4), 9))
            elif action == "clean":
                table.clean(commits_retained=1)
            elif action == "rollback":
                table.rollback(newest.instant)
            else:
                table.restore(getattr(point, "instant", point))
        except Crash:
            pass
        found = rights | {str(texts(hoodoo.open(str(target)).read().to_arrow(), names))}
        assert str(texts(iceberg(str(target)), names)) in found, (action, when, at)
        assert str(texts(delta(str(target)), names)) in found, (action, when, at)
        hoodoo.open(str(target)).publish()
        hint = (target / "metadata/version-hint.text").read_text()
        last = max(int(f.name[1:].split(".")[0]) for f in (target / "metadata").glob("v*.json"))
        assert hint == str(last), (action, when, at)
        shutil.rmtree(target)
        if not store.crashed:
            break
    assert at > 5


class AtDeletion(Delegating):
    """Calls ``look`` before and after each deletion of a base file."""

    look: Any = None

    def around(self, op: str, path: str, call: Any) -> Any:
        if op != "delete" or not path.endswith(".parquet") or self.look is None:
            return call()
        self.look()
        done = call()
        self.look()
        return done


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("action", ["rollback", "restore"])
def test_readers_find_all_files_while_commits_are_undone(tmp_path: Path, action: str) -> None:
    table, path = made(tmp_path / "t"), str(tmp_path / "t")
    seen = []
    for value in (1, 2, 3):
        newest = table.upsert(some_rows(range(4), value))
        if value == 1:
            point = table.savepoint()
        seen.append(texts(table.read().to_arrow(), SCHEMA.names))
    looks: list[int] = []

    def look() -> None:
        for found in (iceberg(path), delta(path)):
            looks.append(seen.index(texts(found, SCHEMA.names)))
        listed = {s.summary.additional_properties["hoodoo.instant"] for s in snapshots(path)}
        assert newest.instant not in listed

    store = AtDeletion(table.handle.storage)
    store.look = look
    table.handle.storage = store
    if action == "rollback":
        table.rollback(newest.instant)
    else:
        table.restore(getattr(point, "instant", point))
    assert set(looks) == ({1} if action == "rollback" else {1, 0})
    store.look = None
    check(table)


def test_a_rollback_goes_on_where_nothing_can_be_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path / "t")
    for value in (1, 2):
        newest = table.upsert(some_rows(range(4), value))

    def failing(*given: Any) -> Any:
        raise OSError("no space")

    with monkeypatch.context() as patch:
        patch.setattr("hoodoo_publishing.delta.log.DeltaLog.publish", failing)
        with pytest.warns(HoodooWarning, match=f"files of {newest.instant}, which is undone"):
            table.rollback(newest.instant)
    table.upsert(some_rows(range(2), 3))
    check(table)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("when", ["before", "after", "torn"])
@pytest.mark.parametrize("action", ["upsert", "clean", "rollback"])
def test_a_process_ends_anywhere(tmp_path: Path, action: str, when: Any) -> None:
    """The next action of the table brings both formats up to it."""
    table = made(tmp_path / "start")
    for value in (1, 2, 3):
        newest = table.upsert(some_rows(range(4), value))

    def act(table: hoodoo.Table) -> None:
        if action == "upsert":
            table.upsert(some_rows(range(2, 6), 9))
        elif action == "clean":
            table.clean(commits_retained=1)
        else:
            table.rollback(newest.instant)

    at = 0
    while True:
        at += 1
        target = tmp_path / f"t{at}"
        shutil.copytree(tmp_path / "start", target)
        table = hoodoo.open(str(target))
        store = ending(table, at, when)
        try:
            act(table)
        except Crash:
            pass
        if not store.crashed:
            break
        fresh = hoodoo.open(str(target))
        fresh.upsert(some_rows([50], 5))
        check(fresh, (action, when, at))
        assert fresh.verify().ok, (action, when, at)
        shutil.rmtree(target)
    assert at > 10 and snapshots(str(tmp_path / "start"))


def test_threads_that_publish_remember_tables_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One notes what it has read of a log while another counts what is known."""
    first, second = (made(tmp_path / name) for name in ("a", "b"))
    for table in (first, second):
        table.upsert(some_rows(range(3), 1))
    others: list[threading.Thread] = []

    class Adds(dict[str, Any]):
        def __len__(self) -> int:
            if not others:
                work = partial(DeltaLog().head, second.handle.storage)
                others.append(threading.Thread(target=work))
                others[0].start()
                others[0].join(0.5)  # it waits for its turn, or has had it
            return super().__len__()

    known = {"elsewhere": (0, Entry(""), log._Log(Adds())), "third": (0, Entry(""), log._Log())}
    monkeypatch.setattr(log, "_known", known)
    DeltaLog().head(first.handle.storage)
    others[0].join()
    roots = {table.handle.storage.root for table in (first, second)}
    assert roots | {"elsewhere", "third"} == known.keys()
