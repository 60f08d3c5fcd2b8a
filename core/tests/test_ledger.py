"""The ledger: one order of decisions, carried out by whoever comes next, with nothing but put-if-absent."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from attrs import define
from hoodoo.errors import (
    CommitConflictError,
    CorruptTableError,
    StorageError,
    StorageUnknownError,
)
from hoodoo.model.config import TableConfig
from hoodoo.storage.api import Storage
from hoodoo.storage.lock import GuardedStorage
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.testing.stores import (
    Crash,
    CrashingStorage,
    Delegating,
    GatedStorage,
    RecordingStorage,
)
from hoodoo.timeline import create, publish
from hoodoo.timeline.decision import FOLDER, Decision, Whole
from hoodoo.timeline.ledger import KEPT, LOCK, barrier, decide, settle
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline, load


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStorage:
    found = DirectoryStorage(str(tmp_path))
    create.init_table(found, TableConfig({"hoodie.table.name": "t", "hoodie.table.version": "9"}))
    return found


CONFIG = TableConfig({"hoodie.table.name": "t", "hoodie.table.version": "9",
                      "hoodie.timeline.layout.version": "2"})  # fmt: skip


def line(store: Storage) -> Timeline:
    return load(store, CONFIG)


def decision(number: int, **more: Any) -> Decision:
    path = f".hoodie/timeline/202401010000{number:05d}_202401020000{number:05d}.commit"
    return Decision(path, f"content {number}".encode(), **more)


def decided(store: Storage, number: int) -> tuple[Decision, bool]:
    return decide(Snapshot(store, line(store)), lambda fresh: decision(number))


def ledger(store: Storage) -> list[str]:
    return [entry.name for entry in store.list(FOLDER)]


def seen(fresh: Timeline) -> int:
    return len(fresh.completed())


def test_each_decision_takes_the_next_number_and_sees_those_before(store: DirectoryStorage) -> None:
    looks: list[int] = []
    for number in range(5):

        def make(fresh: Timeline, number: int = number) -> Decision:
            looks.append(seen(fresh))
            return decision(number)

        found, done = decide(Snapshot(store, line(store)), make)
        assert (found, done) == (decision(number), True)
        assert store.get(found.path) == found.content
    assert looks == [0, 1, 2, 3, 4]
    assert ledger(store) == [f"{n:012d}{end}" for n in range(1, 6) for end in ("", ".done")]


def test_old_numbers_go(store: DirectoryStorage) -> None:
    for number in range(3 * KEPT):
        decided(store, number)
    newest = range(2 * KEPT + 1, 3 * KEPT + 1)
    assert ledger(store) == [f"{n:012d}{end}" for n in newest for end in ("", ".done")]


def test_what_refuses_decides_nothing(store: DirectoryStorage) -> None:
    def refuse(fresh: Timeline) -> Decision:
        raise CommitConflictError("a", "b.")

    with pytest.raises(CommitConflictError):
        decide(Snapshot(store, line(store)), refuse)
    assert ledger(store) == []


def test_who_comes_second_looks_again(store: DirectoryStorage) -> None:
    looks: list[int] = []

    def make(fresh: Timeline) -> Decision:
        looks.append(seen(fresh))
        if len(looks) == 1:
            decided(store, 1)
        return decision(2)

    decide(Snapshot(store, line(store)), make)
    assert looks == [0, 1]


def test_a_barrier_makes_others_look_again(store: DirectoryStorage) -> None:
    looks: list[int] = []

    def make(fresh: Timeline) -> Decision:
        looks.append(seen(fresh))
        if len(looks) == 1:
            barrier(Snapshot(store, line(store)))
        return decision(2)

    decide(Snapshot(store, line(store)), make)
    assert looks == [0, 0]


@pytest.mark.parametrize("when", ["before", "after", "torn"])
def test_a_decider_dies_anywhere(store: DirectoryStorage, tmp_path: Path, when: Any) -> None:
    """From the put of its number on the decision stands, and the next one carries it out."""
    recording = RecordingStorage(store)
    decided(recording, 0)
    for at in range(1, len(recording.mutations) + 1):
        root = tmp_path / f"{when}-{at}"
        fresh = DirectoryStorage(str(root))
        create.init_table(fresh, CONFIG)
        crashing = CrashingStorage(fresh, at, when)
        with pytest.raises(Crash):
            decided(crashing, 1)
        claimed = at > 1 or when == "after"
        looks: list[int] = []

        def make(then: Timeline, looks: list[int] = looks) -> Decision:
            looks.append(seen(then))
            return decision(2)

        decide(Snapshot(fresh, line(fresh)), make)
        assert looks == [int(claimed)], f"{when} operation {at}"
        assert (fresh.head(decision(1).path) is not None) == claimed


def test_a_decision_whose_instant_was_taken_back_is_void(store: DirectoryStorage) -> None:
    needs = (".hoodie/timeline/20240101000000001.commit.requested",)
    crashing = CrashingStorage(store, 1, "after")
    with pytest.raises(Crash):
        decide(Snapshot(crashing, line(store)), lambda fresh: decision(1, needs=needs))
    assert settle(store, CONFIG) == 1
    assert store.head(decision(1).path) is None
    assert f"{1:012d}.done" in ledger(store), "it is looked at once"


def test_settling_twice_changes_nothing(store: DirectoryStorage) -> None:
    decided(store, 1)
    recording = RecordingStorage(store)
    assert settle(recording, CONFIG) == settle(recording, CONFIG) == 1
    assert recording.mutations == []
    assert settle(DirectoryStorage(store.base + "/elsewhere"), CONFIG) == 0


@pytest.mark.parametrize("data", [b"", b"{", b"[]\n", b'{"token": "x"}\n', b"\xff\xfe"])
def test_a_damaged_number_is_named(store: DirectoryStorage, data: bytes) -> None:
    store.put(f"{FOLDER}/{7:012d}", data)
    with pytest.raises(CorruptTableError, match="000000000007.*does not contain a decision"):
        decided(store, 1)


def test_a_file_of_other_bytes_is_not_ours(store: DirectoryStorage) -> None:
    store.put(decision(1).path, b"of somebody else")
    _decision, done = decided(store, 1)
    assert not done
    assert store.get(decision(1).path) == b"of somebody else"


class NeverOurs(Delegating):
    """Each number is another's, and no listing shows it."""

    def put_if_absent(self, path: str, data: bytes) -> bool:
        return not path.startswith(FOLDER) and self.inner.put_if_absent(path, data)


def test_a_decision_that_always_comes_second_ends(
    store: DirectoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hoodoo.timeline.ledger._LONGEST", 0.05)
    with pytest.raises(CommitConflictError, match="others were faster for 0.05 s"):
        decided(NeverOurs(store), 1)
    assert ledger(store) == []


class Answers(Delegating):
    """The first puts of a number go as the script says."""

    def __init__(self, inner: Storage, *script: str, of: str = FOLDER) -> None:
        super().__init__(inner)
        self.script, self.of = list(script), of

    def put_if_absent(self, path: str, data: bytes) -> bool:
        step = self.script.pop(0) if self.script and path.startswith(self.of) else "ok"
        if step in ("ok", "lost"):
            created = self.inner.put_if_absent(path, data)
        if step == "error":
            raise StorageError(path, "the disk is full.")
        if step != "ok":
            raise StorageUnknownError(path, "the answer was lost.")
        return created


@pytest.mark.parametrize("script", [("lost",), ("time-out",), ("lost", "error"), ("lost", "lost")])
def test_a_lost_answer_is_asked_for_again(store: DirectoryStorage, script: tuple[str, ...]) -> None:
    assert decided(Answers(store, *script), 1)[1]
    assert store.get(decision(1).path) == decision(1).content
    assert len(ledger(store)) == 2


def test_after_a_lost_answer_the_number_may_be_of_another(store: DirectoryStorage) -> None:
    looks: list[int] = []

    def make(fresh: Timeline) -> Decision:
        looks.append(seen(fresh))
        if len(looks) == 1:
            decided(store, 1)
        return decision(2)

    assert decide(Snapshot(Answers(store, "time-out"), line(store)), make)[1]
    assert looks == [0, 1]


def test_no_answer_at_all_is_unknown(store: DirectoryStorage) -> None:
    with pytest.raises(StorageUnknownError):
        decided(Answers(store, "time-out", "time-out"), 1)
    assert ledger(store) == []


def test_a_clear_error_decides_nothing(store: DirectoryStorage) -> None:
    with pytest.raises(StorageError) as error:
        decided(Answers(store, "error"), 1)
    assert not isinstance(error.value, StorageUnknownError)
    assert ledger(store) == []


def test_a_file_that_could_not_be_put_is_left_to_the_next(store: DirectoryStorage) -> None:
    failing = Answers(store, "error", of=".hoodie/timeline")
    assert decided(failing, 1) == (decision(1), False)
    assert store.head(decision(1).path) is None
    settle(store, CONFIG)
    assert store.get(decision(1).path) == decision(1).content


@pytest.mark.parametrize("others", [1, KEPT - 1, KEPT, KEPT + 1, 3 * KEPT])
def test_a_sleeper_does_not_take_a_number_that_has_gone(
    store: DirectoryStorage, others: int
) -> None:
    """It had looked; then so many decided that its number came and went."""
    looks: list[int] = []

    def make(fresh: Timeline) -> Decision:
        looks.append(seen(fresh))
        if len(looks) == 1:
            for number in range(others):
                decided(store, number)
        return decision(99)

    assert decide(Snapshot(store, line(store)), make)[1]
    assert looks == [0, others]


def test_a_sleeper_meets_the_mark_of_a_number_that_has_gone(store: DirectoryStorage) -> None:
    """Who tidied died between the number and its mark."""

    class Dies(Delegating):
        def around(self, op: str, path: str, call: Callable[[], Any]) -> Any:
            if op == "delete" and path.endswith(".done"):
                raise Crash("here")
            return call()

    looks: list[int] = []

    def make(fresh: Timeline) -> Decision:
        looks.append(seen(fresh))
        if len(looks) == 1:
            for number in range(KEPT):
                decided(store, number)
            with pytest.raises(Crash):
                decided(Dies(store), KEPT)
            assert f"{1:012d}" not in ledger(store)
            assert f"{1:012d}.done" in ledger(store)
        return decision(99)

    assert decide(Snapshot(store, line(store)), make)[1]
    assert looks == [0, KEPT + 1]


def test_two_sleepers_with_numbers_in_a_row(store: DirectoryStorage) -> None:
    """The one puts the number before that of the other, who must not take it for the one it saw."""
    looks: list[int] = []
    decided(store, 0)

    def make(fresh: Timeline) -> Decision:
        looks.append(seen(fresh))
        if len(looks) == 1:
            for number in range(1, KEPT + 2):
                decided(store, number)
            store.put(f"{FOLDER}/{1:012d}", store.get(f"{FOLDER}/{KEPT:012d}"))
        return decision(99)

    assert decide(Snapshot(store, line(store)), make)[1]
    assert looks == [1, KEPT + 2]


def test_a_number_that_went_before_it_was_looked_at_is_unknown(store: DirectoryStorage) -> None:
    slept: list[str] = []

    def sleep(op: str, path: str) -> None:
        if op == "list" and path == FOLDER and slept[-1:] == ["put_if_absent"]:
            for number in range(2 * KEPT):
                decided(store, number)
        slept.append(op)

    with pytest.raises(StorageUnknownError, match="before it was read"):
        decided(GatedStorage(store, sleep), 99)
    assert store.head(decision(99).path) is not None, "it was decided, and carried out by the next"


@define
class FakeHeld:
    script: list[bool]
    from_dead: bool = False
    released: int = 0

    def is_held(self) -> bool:
        return self.script.pop(0)

    def release(self) -> None:
        self.released += 1
        raise StorageError("a", "b.")


@define
class FakeLock:
    held: FakeHeld | None
    asked: list[tuple[str, float]]

    def acquire(self, storage: Storage, name: str, wait: float) -> FakeHeld | None:
        assert isinstance(storage, DirectoryStorage)
        self.asked.append((name, wait))
        return self.held


def guarded(store: DirectoryStorage, held: FakeHeld | None) -> tuple[GuardedStorage, FakeLock]:
    lock = FakeLock(held, [])
    return GuardedStorage(store, lock, 7.0), lock


def test_under_a_lock(store: DirectoryStorage) -> None:
    storage, lock = guarded(store, FakeHeld([True]))
    assert decided(storage, 1)[1]
    assert lock.asked == [(LOCK, 7.0)]
    assert lock.held is not None
    assert lock.held.released == 1, "and a release that fails harms nobody"


def test_a_lock_that_cannot_be_had(store: DirectoryStorage) -> None:
    with pytest.raises(CommitConflictError, match="within 7 seconds"):
        decided(guarded(store, None)[0], 1)
    assert ledger(store) == []


def test_a_lock_that_was_lost_decides_nothing(store: DirectoryStorage) -> None:
    storage, lock = guarded(store, FakeHeld([False]))
    with pytest.raises(CommitConflictError, match="held by another"):
        decided(storage, 1)
    assert ledger(store) == []
    assert lock.held is not None
    assert lock.held.released == 1


def test_who_takes_a_lock_from_the_dead_makes_them_look_again(store: DirectoryStorage) -> None:
    """The sleeper has found its lock held, and decides when the other already has it."""
    looks: list[int] = []
    mine = FakeHeld([True, False])

    def make(fresh: Timeline) -> Decision:
        looks.append(seen(fresh))
        other, _lock = guarded(store, FakeHeld([True], from_dead=True))
        assert decided(other, 1)[1]
        return decision(2)

    with pytest.raises(CommitConflictError, match="held by another"):
        decide(Snapshot(guarded(store, mine)[0], line(store)), make)
    assert looks == [0]
    assert store.head(decision(2).path) is None
    assert ledger(store)[-1] == f"{2:012d}.done", "a barrier, and its decision"


def test_the_number_says_it_all(store: DirectoryStorage) -> None:
    decide(Snapshot(store, line(store)), lambda fresh: decision(1, needs=("a", "b")))
    head, _, content = store.get(f"{FOLDER}/{1:012d}").partition(b"\n")
    told = json.loads(head)
    assert (told["path"], told["needs"]) == (decision(1).path, ["a", "b"])
    assert content == decision(1).content
    assert set(told) == {"token", "path", "needs"}


@pytest.mark.parametrize("action", ["commit", "clean"])
def test_instants_are_taken_under_the_lock(store: DirectoryStorage, action: str) -> None:
    """Hudi takes its own under it: who has the lock next reads a later clock, so no two are the same."""
    storage, lock = guarded(store, FakeHeld([True]))
    before = load(store, CONFIG)
    named: list[tuple[str, int]] = []

    def seen(instant: str) -> bool:
        assert lock.held is not None
        named.append((instant, lock.held.released))
        return True

    found = publish.request(Snapshot(storage, before), action, named=seen)  # type: ignore[arg-type]
    assert named == [(found.requested, 0)]
    assert lock.asked == [(LOCK, 7.0)]
    assert lock.held is not None
    assert lock.held.released == 1


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("count", [3, 1], ids=["whole", "its request"])
def test_what_follows_is_carried_out_by_the_next_one(
    store: DirectoryStorage, count: int, when: Any
) -> None:
    """Wherever its process ends once the number is there: in order, and nothing before the commit."""
    begun = ".hoodie/timeline/20240101000099999"
    ends = (".clean.requested", ".clean.inflight", "_20240103000000000.clean")
    files = tuple((f"{begun}{end}", end.encode()) for end in ends)[:count]
    gone = ("old.parquet",) if count > 1 else ()
    at = 0
    while True:
        at += 1
        store.put("old.parquet", b"old")
        crashing, made = CrashingStorage(store, at, when), decision(at, then=Whole(files, gone))
        with suppress(Crash):
            decide(Snapshot(crashing, line(store)), lambda fresh, made=made: made)
        there = [store.head(path) is not None for path, _ in files]
        assert there == sorted(there, reverse=True)
        assert store.head(made.path) is not None or not any(there)
        decides = store.head(f"{FOLDER}/{settle(store, CONFIG):012d}") is not None
        for path, content in files if decides and store.head(made.path) else ():
            assert store.get(path) == content
        if decides and store.head(made.path):
            assert (store.head("old.parquet") is None) == bool(gone)
        else:
            assert store.head("old.parquet") is not None
        for path, _ in files:
            store.delete(path)
        if not crashing.crashed:
            break
    assert at > 3 + count
