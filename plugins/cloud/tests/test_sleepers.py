"""What comes between the decision of a write and its end: an undo, a store that fails, an action of the same time."""

from __future__ import annotations

import traceback
from contextlib import suppress
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from hoodoo.errors import HoodooError, StorageError
from hoodoo.model.instant import Instant
from hoodoo.testing.stores import GatedStorage
from hoodoo.timeline import ledger, publish
from hoodoo.timeline.decision import decode_decision
from hoodoo.timeline.timeline import Timeline
from small_tables import created, opened, rows, texts

pytestmark = pytest.mark.sampled(4)

CLEANING = {"hoodie.clean.automatic": "true", "hoodie.clean.commits.retained": "2"}


def _gated(uri: str, options: dict[str, str], gate: Any) -> Any:
    return opened(uri, options, lambda store: GatedStorage(store, gate))


def _written(count: int, index: str | None, options: dict[str, str] = CLEANING) -> tuple[str, Any]:
    """A table, and where it is: the row 1 was written ``count`` times, and has the number of the last one."""
    uri = f"memory://b-{uuid4().hex}/t"
    created(uri, options, index=index)
    table = opened(uri, options)
    for number in range(count):
        table.upsert(rows({1: f"{number}"}, number))
    return uri, table


def _is_commit(operation: str, path: str) -> bool:
    return operation == "put_if_absent" and path.endswith(".commit") and "metadata" not in path


@pytest.mark.parametrize("interrupted", [False, True])
def test_its_file_comes_while_it_is_undone(interrupted: bool) -> None:
    """Who undoes looks again after it has deleted the requested file, also where another process began to undo."""
    uri, table = _written(5, "record_index")
    point, last = (i.requested for i in table.timeline().writes()[-2:])
    store = table.handle.storage
    paths = [
        entry.path
        for folder in (".hoodie/timeline", ".hoodie/metadata/.hoodie/timeline")
        for entry in store.list(folder)
        if entry.name.startswith(f"{last}_") and entry.name.endswith("commit")
    ]
    late = [(path, store.get(path)) for path in paths]
    assert len(late) == 2
    if interrupted:

        def broken(operation: str, path: str) -> None:
            if operation == "delete" and path.endswith(f"{last}.commit.requested"):
                raise StorageError(path, "could not be deleted.", "Try again.")

        with pytest.raises(StorageError):
            _gated(uri, CLEANING, broken).restore(point)

    def gate(operation: str, path: str) -> None:
        if operation == "delete" and late and path.endswith(f"{last}.commit.requested"):
            for put in late:
                store.put_if_absent(*put)
            late.clear()

    _gated(uri, CLEANING, gate).restore(point)
    assert not late
    assert not [path for path in paths if store.head(path)]
    assert texts(opened(uri, CLEANING)) == {1: "3"}
    assert opened(uri, CLEANING).verify().ok


def test_the_look_after_a_decision_fails() -> None:
    """The write is done all the same, and so is the clean that was requested with it."""
    uri = f"memory://b-{uuid4().hex}/t"
    created(uri, CLEANING, index="record_index")
    armed, requested = False, False
    failed: list[str] = []

    def gate(operation: str, path: str) -> None:
        nonlocal requested
        requested |= armed and operation == "put_if_absent" and path.endswith(".clean.requested")
        if requested and not failed and (operation, path) == ("list", ".hoodie/timeline"):
            failed.append("".join(traceback.format_stack()))
            raise StorageError(path, "could not be read.", "Try again.")

    table = _gated(uri, CLEANING, gate)
    for number in range(6):
        table.upsert(rows({1: f"{number}"}, number))
    armed = True
    table.upsert(rows({1: "first"}, 7))
    table.upsert(rows({1: "second"}, 8))
    assert "publish.py" in failed[0] and "in look" in failed[0], failed
    assert texts(opened(uri, CLEANING)) == {1: "second"}
    assert not opened(uri, CLEANING).timeline().pending()
    assert opened(uri, CLEANING).verify().ok


@pytest.mark.parametrize("index", [None, "record_index"])
@pytest.mark.parametrize("then", ["nothing", "restored", "archived"])
@pytest.mark.parametrize("before", ["its look", "its file"])
def test_it_sleeps_after_it_took_a_number(
    monkeypatch: pytest.MonkeyPatch, index: str | None, then: str, before: str
) -> None:
    """Another process completes its write, and undoes it or archives it. What it puts afterwards does not stay. Its clock
    matters only where others have decided so much that its mark is deleted."""
    options = {**CLEANING, "hoodie.keep.min.commits": "4", "hoodie.keep.max.commits": "5"}
    uri, table = _written(3, index, options)
    point = table.timeline().writes()[-1].requested
    clock, taken, late = [0.0], list[str](), list[str]()
    monkeypatch.setattr(ledger, "time", SimpleNamespace(time=lambda: clock[0]))

    def gate(operation: str, path: str) -> None:
        if operation == "put_if_absent" and path.startswith(ledger.FOLDER):
            taken.append(path)
        decided = bool(taken) and (operation, path) == ("list", ledger.FOLDER)
        if late or not (_is_commit(operation, path) if before == "its file" else decided):
            return
        if before == "its look":
            decision = decode_decision(table.handle.storage, int(taken[-1][-12:]))[1]
            if not decision.path.endswith(".commit"):
                return
            path = decision.path
        late.append(path)
        other = opened(uri, options)
        if then == "restored":
            assert texts(other) == {1: "slept"}
            other.restore(point)
        for number in range(20 if then == "archived" else 0):
            other.upsert(rows({2: f"{number}"}, number))
        clock[0] += 3600.0 if then == "archived" else 0.1

    with suppress(HoodooError):  # where its number is deleted, it does not know what became of it
        _gated(uri, options, gate).upsert(rows({1: "slept"}, 9))
    seen = opened(uri, options)
    there = {entry.path for entry in seen.handle.storage.list(".hoodie/timeline")}
    assert (late[0] in there) == (then == "nothing")
    assert texts(seen) == {
        "nothing": {1: "slept"}, "restored": {1: "2"}, "archived": {1: "slept", 2: "19"}
    }[then]  # fmt: skip
    assert seen.verify().ok
    seen.upsert(rows({3: "next"}, 10))
    assert texts(opened(uri, options))[3] == "next"
    assert opened(uri, options).verify().ok


@pytest.mark.parametrize("index", [None, "record_index"])
def test_who_carries_out_for_a_dead_writer_sleeps(index: str | None) -> None:
    """A third process does it meanwhile, and restores."""
    uri, table = _written(3, index)
    point = table.timeline().writes()[-1].requested

    def dies(operation: str, path: str) -> None:
        if _is_commit(operation, path):
            raise StorageError(path, "was not put.", "Try again.")

    with suppress(HoodooError):
        _gated(uri, CLEANING, dies).upsert(rows({1: "dead"}, 9))
    late: list[str] = []

    def gate(operation: str, path: str) -> None:
        if not late and _is_commit(operation, path):
            late.append(path)
            other = opened(uri, CLEANING)
            assert texts(other) == {1: "dead"}
            other.restore(point)

    assert texts(_gated(uri, CLEANING, gate)) == {1: "2"}
    there = {e.path for e in table.handle.storage.list(".hoodie/timeline")}
    assert late and late[0] not in there
    assert texts(opened(uri, CLEANING)) == {1: "2"}
    assert opened(uri, CLEANING).verify().ok


@pytest.mark.parametrize("index", [None, "record_index"])
def test_another_action_has_the_millisecond_of_its_clean(
    monkeypatch: pytest.MonkeyPatch, index: str | None
) -> None:
    """The clean gives way, before anything bears its instant; the next one cleans."""
    uri, table = _written(6, index)
    whole, taken = publish._whole, list[Instant]()

    def decided(seen: Timeline, *more: Any) -> Any:
        steps, action = whole(seen, *more)
        if len(steps) == 1:  # not decided to its end: participants will write under it
            taken.append(Instant(steps[0].requested, "commit", steps[0].state))
            table.handle.storage.put_if_absent(seen.path(taken[-1]), b"")
        return steps, action

    monkeypatch.setattr(publish, "_whole", decided)
    table.upsert(rows({1: "new"}, 9))
    monkeypatch.undo()
    assert bool(taken) == (index is not None)
    for instant in taken:
        found = [i for i in table.timeline().instants if i.requested == instant.requested]
        assert [i.action for i in found] in ([], ["commit"]), found
    for number in range(10, 14):
        table.upsert(rows({1: f"{number}"}, number))
    assert texts(opened(uri, CLEANING)) == {1: "13"}
    assert not opened(uri, CLEANING).timeline().pending()
    assert opened(uri, CLEANING).verify().ok
