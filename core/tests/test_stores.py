"""The stores for tests do what the crash and error suites rely on."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hoodoo.errors import StorageError, StorageUnknownError
from hoodoo.storage.api import Storage
from hoodoo.testing.contracts.storage import StorageContract
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.testing.stores import (
    Crash,
    CrashingStorage,
    Delegating,
    FailingStorage,
    RecordingStorage,
)
from hoodoo.timeline import heartbeat


@pytest.fixture
def inner(tmp_path: Path) -> DirectoryStorage:
    return DirectoryStorage(tmp_path)


@pytest.mark.parametrize("kind", [Delegating, RecordingStorage, CrashingStorage])
class TestWrapped(StorageContract):
    """A wrapper that does nothing special is a store like the one below it."""

    picklable = False

    @pytest.fixture
    def storage(self, inner: DirectoryStorage, kind: type[Delegating]) -> Storage:
        return kind(inner)


def _scratch_file(storage: Storage, data: bytes) -> str:
    local = os.path.join(storage.scratch(), "f")
    Path(local).write_bytes(data)
    return local


def _do_all(storage: Storage) -> None:
    storage.put("p", b"put!")
    storage.put_if_absent("a", b"absent")
    storage.put_file_if_absent("f", _scratch_file(storage, b"file"))
    storage.get("p")
    storage.open("p").close()
    storage.head("p")
    storage.list("")
    storage.delete("p")
    storage.delete_prefix("d")


def test_a_heartbeat_is_no_step_and_dies_unheard(tmp_path: Path) -> None:
    store = CrashingStorage(DirectoryStorage(str(tmp_path)), 1)
    told: list[BaseException] = []

    def beat() -> None:
        try:
            store.put("beat", b"")
        except StorageError as error:
            told.append(error)

    def run() -> None:
        thread = threading.Thread(target=beat, name=heartbeat.THREAD)
        thread.start()
        thread.join()

    run()
    assert (store.count, told) == (0, [])
    with pytest.raises(Crash):
        store.put("a", b"")
    run()
    assert len(told) == 1


def test_recording(inner: DirectoryStorage) -> None:
    storage = RecordingStorage(inner)
    _do_all(storage)
    assert storage.calls == [
        ("put", "p"),
        ("put_if_absent", "a"),
        ("put_file_if_absent", "f"),
        ("get", "p"),
        ("open", "p"),
        ("head", "p"),
        ("list", ""),
        ("delete", "p"),
        ("delete_prefix", "d"),
    ]
    assert [op for op, _ in storage.mutations] == [
        "put",
        "put_if_absent",
        "put_file_if_absent",
        "delete",
        "delete_prefix",
    ]


def test_failing_once(inner: DirectoryStorage) -> None:
    storage = FailingStorage(inner, 2)
    storage.put("1", b"")
    with pytest.raises(StorageError) as caught:
        storage.put("2", b"")
    assert type(caught.value) is StorageError
    storage.put("3", b"")
    assert [entry.path for entry in inner.list(recursive=True)] == ["1", "3"]
    assert storage.count == 3


def test_failing_for_good(inner: DirectoryStorage) -> None:
    storage = FailingStorage(inner, 2, once=False)
    storage.put("1", b"")
    for call in (
        lambda: storage.put("2", b""),
        lambda: storage.get("1"),
        lambda: storage.list(),
    ):
        with pytest.raises(StorageError):
            call()
    assert [entry.path for entry in inner.list(recursive=True)] == ["1"]


def test_failing_counts_only_what_it_was_asked_to(inner: DirectoryStorage) -> None:
    storage = FailingStorage(inner, 1, ops={"put_if_absent"})
    storage.put("1", b"")
    storage.list()
    with pytest.raises(StorageError):
        storage.put_if_absent("2", b"")
    assert storage.put_if_absent("2", b"") is True


def test_answer_lost(inner: DirectoryStorage) -> None:
    storage = FailingStorage(inner, 1, after=True)
    with pytest.raises(StorageUnknownError):
        storage.put_if_absent("x", b"landed")
    assert storage.get("x") == b"landed"
    reading = FailingStorage(inner, 1, after=True)
    with pytest.raises(StorageError) as caught:
        reading.get("x")
    assert type(caught.value) is StorageError


@pytest.mark.parametrize(
    ("when", "expected"),
    [("before", None), ("torn", b"ha"), ("after", b"half")],
)
def test_crash_in_put(inner: DirectoryStorage, when: str, expected: bytes | None) -> None:
    storage = CrashingStorage(inner, 2, when)  # type: ignore[arg-type]
    storage.put("1", b"one")
    storage.head("1")  # reading ones don't count
    with pytest.raises(Crash):
        storage.put("x", b"half")
    found = inner.get("x") if inner.head("x") else None
    assert found == expected
    assert storage.crashed and storage.count == 2


@pytest.mark.parametrize("op", ["put_if_absent", "put_file_if_absent"])
def test_a_torn_creation_leaves_a_temporary(inner: DirectoryStorage, op: str) -> None:
    storage = CrashingStorage(inner, 1, "torn")
    with pytest.raises(Crash):
        if op == "put_if_absent":
            storage.put_if_absent("x", b"half")
        else:
            storage.put_file_if_absent("x", _scratch_file(storage, b"half"))
    assert inner.head("x") is None
    assert inner.list(recursive=True) == []
    torn = Path(inner.scratch(), "torn-1")
    assert torn.read_bytes() == b"ha"
    assert inner.sweep(-1) >= 1
    assert not torn.exists()


@pytest.mark.parametrize(("when", "left"), [("before", 5), ("torn", 2), ("after", 0)])
def test_crash_in_delete_prefix(inner: DirectoryStorage, when: str, left: int) -> None:
    for number in range(5):
        inner.put(f"d/{number}", b"")
    storage = CrashingStorage(inner, 1, when)  # type: ignore[arg-type]
    with pytest.raises(Crash):
        storage.delete_prefix("d")
    assert len(inner.list("d")) == left


@pytest.mark.parametrize("when", ["before", "torn", "after"])
def test_crash_in_delete(inner: DirectoryStorage, when: str) -> None:
    inner.put("x", b"1")
    storage = CrashingStorage(inner, 1, when)  # type: ignore[arg-type]
    with pytest.raises(Crash):
        storage.delete("x")
    assert (inner.head("x") is None) == (when == "after")


def test_nothing_happens_after_a_crash(inner: DirectoryStorage) -> None:
    inner.put("x", b"1")
    storage = CrashingStorage(inner, 1)
    with pytest.raises(Crash):
        try:
            storage.put("y", b"1")
        finally:
            storage.delete("x")  # what a dead process cannot do
    for call in (
        lambda: storage.get("x"),
        lambda: storage.open("x"),
        lambda: storage.head("x"),
        lambda: storage.list(),
        lambda: storage.scratch(),
        lambda: storage.put_if_absent("z", b"1"),
    ):
        with pytest.raises(Crash):
            call()
    assert not issubclass(Crash, Exception)
    assert [entry.path for entry in inner.list(recursive=True)] == ["x"]


def test_counts_without_crashing(inner: DirectoryStorage) -> None:
    storage = CrashingStorage(inner)
    _do_all(storage)
    assert storage.count == 5 and not storage.crashed


def test_threads_are_counted_one_by_one(inner: DirectoryStorage) -> None:
    storage = CrashingStorage(inner, 15)  # before any thread can be through
    ended: list[str] = []

    def work(number: int) -> None:
        try:
            for step in range(20):
                storage.put(f"{number}/{step}", b"1")
        except Crash as crash:
            ended.append(str(crash))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(inner.list(recursive=True)) == 14
    assert len(ended) == 8
    assert sum("mutating operation 15" in text for text in ended) == 1
