"""Locks: the contract, and what each of them writes, breaks and leaves alone."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hoodoo.errors import ConfigError, StorageError
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import default_name, resolve
from hoodoo.storage.lock import Lock
from hoodoo.testing.contracts.lock import LockContract
from hoodoo.testing.stores import Delegating, FailingStorage
from hoodoo.timeline.heartbeat import identity
from hoodoo_standard.lock import FOLDER, owner, renewals
from hoodoo_standard.lock.conditional_put import KEPT, ConditionalPutLock
from hoodoo_standard.lock.filesystem import FilesystemLock
from hoodoo_standard.lock.flock import FlockLock
from hoodoo_standard.lock.in_process import InProcessLock
from hoodoo_standard.lock.waiting import poll
from hoodoo_standard.storage.local import LocalStorage

PATH = "hoodie.write.lock.filesystem.path"
EXPIRE = "hoodie.write.lock.filesystem.expire"
RENEW = "hoodie.write.lock.storage.renew.interval.secs"
PATIENCE = 300  # seconds, of a wait that never lasts
VALIDITY = "hoodie.write.lock.storage.validity.timeout.secs"
JAVA = "org.apache.hudi.client.transaction.lock."
DAY = 86400.0


def named(name: str, **options: str) -> Any:
    return resolve("lock", name, Settings(options=options)).instance


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path / "table"), durable=False)


class TestInProcess(LockContract):
    processes = False
    expires = False

    @pytest.fixture
    def lock(self) -> Lock:
        return InProcessLock()


class TestFilesystem(LockContract):
    @pytest.fixture
    def lock(self) -> Lock:
        return FilesystemLock(expire=60)


class TestFilesystemForEver(LockContract):
    processes = False  # as above
    expires = False

    @pytest.fixture
    def lock(self) -> Lock:
        return FilesystemLock()


class TestFilesystemElsewhere(LockContract):
    processes = False  # as above

    @pytest.fixture
    def lock(self, tmp_path: Path) -> Lock:
        return FilesystemLock(str(tmp_path / "table/locks"), expire=60)


class TestFlock(LockContract):
    expires = False

    @pytest.fixture
    def lock(self) -> Lock:
        return FlockLock()


class TestConditionalPut(LockContract):
    @pytest.fixture
    def lock(self) -> Lock:
        return ConditionalPutLock()


# --- names and options ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "java", "kind"),
    [
        ("in_process", "InProcessLockProvider", InProcessLock),
        ("filesystem", "FileSystemBasedLockProvider", FilesystemLock),
    ],
)
def test_names(name: str, java: str, kind: type) -> None:
    assert named(name) == named(JAVA + java) == kind()
    assert named("conditional_put") == ConditionalPutLock()  # Hudi has none like it


def test_flock_is_the_default() -> None:
    assert named(default_name("lock", Settings())) == named("flock") == FlockLock()
    made = named("flock", **{RENEW: "0.5", VALIDITY: "5"})
    assert made == FlockLock(0.5, 5.0)


def test_options() -> None:
    assert named("filesystem", **{PATH: "/locks", EXPIRE: "7"}) == FilesystemLock("/locks", 7)
    made = named("conditional_put", **{RENEW: "0.5", VALIDITY: "5"})
    assert made == ConditionalPutLock(0.5, 5.0)


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("filesystem", PATH, "locks"),
        ("filesystem", EXPIRE, "-1"),
        ("filesystem", EXPIRE, "soon"),
        ("conditional_put", RENEW, "0"),
        ("conditional_put", RENEW, "inf"),
        ("conditional_put", VALIDITY, "often"),
        ("conditional_put", VALIDITY, "59"),
        ("flock", VALIDITY, "59"),
    ],
)
def test_options_that_are_none(name: str, key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=key) as caught:
        named(name, **{key: value})
    assert caught.value.fix


# --- flock ----------------------------------------------------------------------------------------
def _never(*args: object) -> None:
    raise AssertionError("it asked again")


def test_flock_is_woken_by_the_system(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", _never)
    lock, order = FlockLock(), []
    held = lock.acquire(storage, "turn", 0)
    assert held is not None

    def wait() -> None:
        mine = lock.acquire(storage, "turn", PATIENCE)
        assert mine is not None and not mine.from_dead
        order.append("waited")
        mine.release()

    waiting = [threading.Thread(target=wait) for _ in range(4)]
    for thread in waiting:
        thread.start()
    order.append("released")
    held.release()
    for thread in waiting:
        thread.join()
    assert order == ["released", *["waited"] * 4]
    assert [entry.name for entry in storage.list(FOLDER)] == ["turn.flock"]


def test_flock_frees_what_nobody_waits_for_any_more(storage: LocalStorage) -> None:
    lock = FlockLock()
    held = lock.acquire(storage, "turn", 0)
    assert held is not None
    assert lock.acquire(storage, "turn", 0.01) is None
    held.release()
    for thread in threading.enumerate():
        if thread.name == "hoodoo-flock":
            thread.join(PATIENCE)
    again = lock.acquire(storage, "turn", 0)
    assert again is not None and not again.from_dead
    again.release()


def test_flock_is_given_back_though_a_child_has_the_file(storage: LocalStorage) -> None:
    lock = FlockLock()
    held = lock.acquire(storage, "turn", 0)
    assert held is not None
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.read(reading, 1)
        os._exit(0)
    held.release()
    again = lock.acquire(storage, "turn", 0)
    os.write(writing, b"1")
    os.waitpid(child, 0)
    assert again is not None
    again.release()


@pytest.mark.parametrize("error", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_flock_without_locks_of_the_system(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    def refused(*args: object) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(fcntl, "flock", refused)
    open_before = len(os.listdir("/proc/self/fd"))
    held = FlockLock().acquire(storage, "turn", 0)
    assert held is not None
    assert FlockLock().acquire(storage, "turn", 0) is None
    assert ConditionalPutLock().acquire(storage, "turn", 0) is None, "it is the same lock"
    assert len(os.listdir("/proc/self/fd")) == open_before
    held.release()


def test_flock_of_a_file_that_cannot_be_locked(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object) -> None:
        raise OSError(errno.EIO, "I/O error")

    monkeypatch.setattr(fcntl, "flock", broken)
    with pytest.raises(StorageError, match="turn.flock") as caught:
        FlockLock().acquire(storage, "turn", 0)
    assert "hoodie.write.lock.provider" in caught.value.fix


def test_flock_leaves_no_file_open(storage: LocalStorage) -> None:
    lock = FlockLock()
    before = len(os.listdir("/proc/self/fd"))
    held = lock.acquire(storage, "turn", 0)
    assert held is not None
    assert [lock.acquire(storage, "turn", 0) for _ in range(3)] == [None] * 3
    held.release()
    assert len(os.listdir("/proc/self/fd")) == before


def test_flock_of_a_dead_process_is_not_kept_by_its_child(storage: LocalStorage) -> None:
    lock = FlockLock()
    held_now, held = os.pipe()
    child_waits, end_of_child = os.pipe()
    parent = os.fork()
    if not parent:
        mine = lock.acquire(storage, "turn", 0)
        if not os.fork():
            os.close(end_of_child)
            mine.release()  # type: ignore[union-attr]  # it is not the child's
            os.write(held, b"1")
            os.read(child_waits, 1)
            os._exit(0)
        signal.pause()
    assert os.read(held_now, 1)
    assert lock.acquire(storage, "turn", 0) is None
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    again = lock.acquire(storage, "turn", 0)
    os.close(end_of_child)
    os.close(held_now), os.close(held), os.close(child_waits)
    assert again is not None
    again.release()


class Stopped(BaseException):
    """As KeyboardInterrupt is."""


def test_flock_of_a_wait_that_is_interrupted(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, wait, before = FlockLock(), threading.Event.wait, len(os.listdir("/proc/self/fd"))
    held = lock.acquire(storage, "turn", 0)
    assert held is not None

    def interrupted(self: threading.Event, timeout: float | None = None) -> bool:
        if timeout == PATIENCE:
            raise Stopped
        return wait(self, timeout)

    monkeypatch.setattr(threading.Event, "wait", interrupted)
    with pytest.raises(Stopped):
        lock.acquire(storage, "turn", PATIENCE)
    held.release()
    for thread in threading.enumerate():
        if thread.name == "hoodoo-flock":
            thread.join(PATIENCE)
    again = lock.acquire(storage, "turn", 0)
    assert again is not None
    again.release()
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    ("of", "name", "error"),
    [
        (os, "pwrite", OSError(errno.ENOSPC, "no space")),
        (threading.Thread, "start", RuntimeError("can't start new thread")),
    ],
)
def test_flock_is_free_after_an_error(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch, of: Any, name: str, error: Exception
) -> None:
    lock, before = FlockLock(), len(os.listdir("/proc/self/fd"))

    def fails(*args: object) -> None:
        raise error

    held = lock.acquire(storage, "turn", 0) if name == "start" else None
    with monkeypatch.context() as broken:
        broken.setattr(of, name, fails)
        with pytest.raises((StorageError, RuntimeError), match=str(error)[-8:]):
            lock.acquire(storage, "turn", PATIENCE)
    if held is not None:
        held.release()
    again = lock.acquire(storage, "turn", 0)
    assert again is not None
    again.release()
    assert len(os.listdir("/proc/self/fd")) == before


# --- waiting --------------------------------------------------------------------------------------
def test_waits_longer_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    now = [0.0]

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    assert poll(lambda: None, 60) is None
    assert slept[0] <= 0.003
    assert max(slept) <= 0.375
    assert sum(slept) == pytest.approx(60)
    assert 160 < len(slept) < 500
    assert poll(lambda: 1, 0) == 1


# --- conditional put ------------------------------------------------------------------------------
def epochs(storage: LocalStorage, name: str = "table") -> list[str]:
    return [e.name for e in storage.list(f"{FOLDER}/{name}")]


def leave(storage: LocalStorage, epoch: int, told: object, age: float = 0.0) -> str:
    """An epoch that another process left; ``age`` is how long ago, in seconds."""
    path = f"{FOLDER}/table/{epoch:012d}"
    storage.put(path, json.dumps(told).encode())
    then = time.time() - age
    os.utime(os.path.join(storage.base, path), (then, then))
    return path


def elsewhere(**more: object) -> dict[str, object]:
    """The holder on another machine."""
    return {**identity(), "host": "other", "process": "p", "token": "t", **more}


def test_epochs_grow_and_old_ones_go(storage: LocalStorage) -> None:
    lock = ConditionalPutLock()
    for _ in range(KEPT + 5):
        held = lock.acquire(storage, "table", 0)
        assert held is not None
        held.release()
    assert epochs(storage) == [f"{n:012d}" for n in range(6, KEPT + 6)]


@pytest.mark.parametrize(
    ("age", "validity", "taken"),
    [(100.0, 300.0, False), (400.0, 300.0, True), (400.0, 500.0, False), (40.0, 30.0, True)],
)
def test_another_machine_keeps_it_as_long_as_it_promised(
    storage: LocalStorage, age: float, validity: float, taken: bool
) -> None:
    leave(storage, 5, elsewhere(validity=validity), age)
    held = ConditionalPutLock().acquire(storage, "table", 0)
    assert (held is not None) is taken
    if held is not None:
        assert held.from_dead
        assert epochs(storage)[-1] == f"{6:012d}"
        held.release()
    assert not [name for name in epochs(storage) if name.startswith("probe")]


def test_the_stores_clock_counts(storage: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(storage, 5, elsewhere(validity=300), 100)
    monkeypatch.setattr(time, "time", lambda: 9e9)
    assert ConditionalPutLock().acquire(storage, "table", 0) is None


def test_a_process_that_has_ended(storage: LocalStorage) -> None:
    leave(storage, 5, {**identity(), "process": "p", "pid": 2**22 + 1, "token": "t"})
    held = ConditionalPutLock().acquire(storage, "table", 0)
    assert held is not None and held.from_dead


def test_a_number_that_another_process_has_now(storage: LocalStorage) -> None:
    leave(storage, 5, {**identity(), "process": "p", "started": "1", "token": "t"})
    held = ConditionalPutLock().acquire(storage, "table", 0)
    assert held is not None and held.from_dead


def test_a_process_that_nobody_has_waited_for(storage: LocalStorage) -> None:
    """It has ended, and its number is still taken."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        started = Path(f"/proc/{other.pid}/stat").read_text().rpartition(")")[2].split()[19]
        told = {**identity(), "process": "p", "pid": other.pid, "started": started, "token": "t"}
        leave(storage, 5, {**told, "validity": 300})
        assert ConditionalPutLock().acquire(storage, "table", 0) is None
        other.kill()
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
        held = ConditionalPutLock().acquire(storage, "table", 0)
    assert held is not None and held.from_dead


def test_a_process_that_lives(storage: LocalStorage) -> None:
    leave(storage, 5, {**identity(), "process": "p", "token": "t", "validity": 300})
    assert ConditionalPutLock().acquire(storage, "table", 0) is None


def test_a_torn_file_counts_by_its_age(storage: LocalStorage) -> None:
    path = leave(storage, 5, {}, 100)
    storage.put(path, b'{"host"')
    assert ConditionalPutLock().acquire(storage, "table", 0) is None
    then = time.time() - DAY
    os.utime(os.path.join(storage.base, path), (then, then))
    assert ConditionalPutLock().acquire(storage, "table", 0) is not None


class Interrupted(Delegating):
    """Does something once, right before the first call of an operation."""

    def __init__(self, inner: LocalStorage, op: str, then: Callable[[], object]) -> None:
        super().__init__(inner)
        self._op, self._then = op, then

    def around(self, op: str, path: str, call: Callable[[], Any]) -> Any:
        if op == self._op:
            self._op = ""
            self._then()
        return call()


def test_a_sleeper_does_not_get_a_number_that_was_there_before(storage: LocalStorage) -> None:
    """It looked, then slept while the lock changed hands so often that its number was deleted."""
    lock = ConditionalPutLock()

    def meanwhile() -> None:
        for _ in range(3 * KEPT):
            held = lock.acquire(storage, "table", 0)
            assert held is not None
            held.release()

    leave(storage, 1, {"free": True})
    slow = Interrupted(storage, "put_if_absent", meanwhile)
    before = len(epochs(storage))
    assert lock.acquire(slow, "table", 0) is None
    assert before == 1
    assert epochs(storage) == [f"{n:012d}" for n in range(2 * KEPT + 2, 3 * KEPT + 2)]


def test_the_first_number_taken_twice(storage: LocalStorage) -> None:
    lock = ConditionalPutLock()

    def meanwhile() -> None:
        for _ in range(3 * KEPT):
            held = lock.acquire(storage, "table", 0)
            assert held is not None
            held.release()

    assert lock.acquire(Interrupted(storage, "put_if_absent", meanwhile), "table", 0) is None
    assert f"{1:012d}" not in epochs(storage)


def test_an_error_after_the_put_leaves_the_lock_free(storage: LocalStorage) -> None:
    """To other processes this one would seem to hold it, as long as it lives."""
    failing = FailingStorage(storage, 2, ops={"list"})
    with pytest.raises(StorageError):
        ConditionalPutLock().acquire(failing, "table", 0)
    assert json.loads(storage.get(f"{FOLDER}/table/{1:012d}"))["free"] is True


def test_an_error_after_the_put_leaves_no_file(storage: LocalStorage) -> None:
    failing = FailingStorage(storage, 1, ops={"get"})
    with pytest.raises(StorageError):
        FilesystemLock().acquire(failing, "table", 0)
    assert storage.list(recursive=True) == []


def test_without_the_epoch_before_it_an_epoch_is_void(storage: LocalStorage) -> None:
    before = leave(storage, 5, {"free": True})
    slow = Interrupted(storage, "put_if_absent", lambda: storage.delete(before))
    assert ConditionalPutLock().acquire(slow, "table", 0) is None
    assert epochs(storage) == []


def test_a_holder_that_is_not_the_one_that_seemed_dead(storage: LocalStorage) -> None:
    """Between look and put the dead one's number was given to one that lives."""
    path = leave(storage, 5, elsewhere(), DAY)
    alive = json.dumps(elsewhere(token="new")).encode()
    slow = Interrupted(storage, "put_if_absent", lambda: storage.put(path, alive))
    assert ConditionalPutLock().acquire(slow, "table", 0) is None
    assert epochs(storage) == [f"{5:012d}"]


def test_renewal(storage: LocalStorage) -> None:
    """The thread of renewals makes the file young again, until the lock is given back."""
    renewed = threading.Event()

    class Watched(Delegating):
        def around(self, op: str, path: str, call: Callable[[], Any]) -> Any:
            answer = call()
            if op == "put":
                renewed.set()
            return answer

    held = ConditionalPutLock(0.01, 300).acquire(Watched(storage), "table", 0)
    assert held is not None
    path = os.path.join(storage.base, FOLDER, "table", f"{1:012d}")
    os.utime(path, (0, 0))
    renewed.clear()
    assert renewed.wait(PATIENCE)  # this one may have been put before the file was made old
    renewed.clear()
    assert renewed.wait(PATIENCE) and os.stat(path).st_mtime > time.time() - 60
    held.release()
    assert json.loads(Path(path).read_bytes())["free"] is True


def test_no_renewal_after_the_release(storage: LocalStorage) -> None:
    held: Any = ConditionalPutLock().acquire(storage, "table", 0)
    held.release()
    held.renew()
    assert json.loads(storage.get(f"{FOLDER}/table/{1:012d}"))["free"] is True


def test_who_was_taken_over_renews_no_more(storage: LocalStorage) -> None:
    held: Any = ConditionalPutLock().acquire(storage, "table", 0)
    leave(storage, 2, elsewhere())
    storage.delete(f"{FOLDER}/table/{1:012d}")
    held.renew()
    assert epochs(storage) == [f"{2:012d}"]
    held.release()
    assert epochs(storage) == [f"{2:012d}"]


def test_a_renewal_that_fails_does_not_end_the_others() -> None:
    called = threading.Event()

    def fail() -> None:
        raise OSError("no")

    first, second = owner.begin(), owner.begin()
    renewals.start(first, 0.01, fail)
    renewals.start(second, 0.01, called.set)
    assert called.wait(PATIENCE)
    called.clear()
    assert called.wait(PATIENCE)
    renewals.stop(first)
    renewals.stop(second)
    owner.end(first)
    owner.end(second)


def test_a_renewal_that_is_due_sooner_wakes_the_thread() -> None:
    asleep, called = threading.Event(), threading.Event()

    class Watched(threading.Condition):
        def wait(self, timeout: float | None = None) -> bool:
            asleep.set()  # who starts a renewal now has to wait for the lock until we sleep
            return super().wait(timeout)

    kept = renewals._Renewals(Watched())
    kept.start("late", 3600, called.set)
    assert asleep.wait(PATIENCE)
    kept.start("soon", 0.01, called.set)
    assert called.wait(PATIENCE)
    kept.stop("soon")


# --- Hudi's lock file -----------------------------------------------------------------------------
FILE = ".hoodie/lock"
SPARK = b'{\n  "lockCreateTime" : "2024-01-01 00:00:00.000",\n  "lockThreadName" : "main"\n}'


def test_content_is_hudis(storage: LocalStorage) -> None:
    held = FilesystemLock().acquire(storage, "table", 0)
    assert held is not None
    told = json.loads(storage.get(FILE))
    assert list(told)[:3] == ["lockCreateTime", "lockThreadName", "lockStacksInfo"]
    assert told["pid"] == os.getpid()
    held.release()
    assert storage.head(FILE) is None
    assert storage.list(recursive=True) == []


@pytest.mark.parametrize("content", [SPARK, b"", SPARK[:20]])
def test_sparks_lock_is_kept(storage: LocalStorage, content: bytes) -> None:
    storage.put(FILE, content)
    os.utime(os.path.join(storage.base, FILE), (0, 0))
    assert FilesystemLock().acquire(storage, "table", 0) is None
    assert storage.get(FILE) == content


@pytest.mark.parametrize(("age", "taken"), [(59.0, False), (90.0, True)])
def test_sparks_lock_expires(storage: LocalStorage, age: float, taken: bool) -> None:
    storage.put(FILE, SPARK)
    then = time.time() - age
    os.utime(os.path.join(storage.base, FILE), (then, then))
    held = FilesystemLock(expire=1).acquire(storage, "table", 0)
    assert (held is not None) is taken
    if held is not None:
        assert held.from_dead and held.is_held()
        held.release()


def test_a_lock_that_spark_deleted_is_not_held(storage: LocalStorage) -> None:
    """Hudi deletes the file whoever made it, and makes its own."""
    held = FilesystemLock().acquire(storage, "table", 0)
    assert held is not None
    storage.delete(FILE)
    assert not held.is_held()
    storage.put(FILE, SPARK)
    assert not held.is_held()
    held.release()
    assert storage.get(FILE) == SPARK


def test_sparks_second_delete(storage: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Hudi writer that ends deletes the file twice: what was made in between is gone."""
    storage.put(FILE, SPARK)
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) <= 2:  # waiting for Spark's lock; then looking at ours again
            storage.delete(FILE)

    monkeypatch.setattr(time, "sleep", sleep)
    held = FilesystemLock().acquire(storage, "table", 60)
    assert len(pauses) > 2
    assert held is not None and held.is_held()
    held.release()


def test_a_dead_holder_elsewhere_stays_unless_it_expires(storage: LocalStorage) -> None:
    storage.put(FILE, json.dumps(elsewhere()).encode())
    os.utime(os.path.join(storage.base, FILE), (0, 0))
    assert FilesystemLock().acquire(storage, "table", 0) is None
    assert FilesystemLock(expire=1).acquire(storage, "table", 0) is not None


def test_a_lock_is_not_broken_that_changed_meanwhile(storage: LocalStorage) -> None:
    storage.put(FILE, SPARK)
    os.utime(os.path.join(storage.base, FILE), (0, 0))
    slow = Interrupted(storage, "put_if_absent", lambda: storage.put(FILE, SPARK + b" "))
    assert FilesystemLock(expire=1).acquire(slow, "table", 0) is None
    assert storage.get(FILE) == SPARK + b" "


def test_one_at_a_time_breaks_a_lock(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were there two, the second would delete the lock of who came after the first."""
    monkeypatch.setattr("hoodoo_standard.lock.filesystem._BREAK_WAIT", 0)
    storage.put(FILE, json.dumps({**identity(), "token": "gone"}).encode())
    others: list[object] = []
    slow = Interrupted(
        storage, "delete", lambda: others.append(FilesystemLock().acquire(storage, "table", 0))
    )
    held = FilesystemLock().acquire(slow, "table", 0)
    assert others == [None]
    assert held is not None and held.from_dead and held.is_held()
    held.release()


def test_an_expired_lock_of_ours_is_given_back(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = FilesystemLock(expire=1).acquire(storage, "table", 0)
    assert held is not None
    later = time.monotonic() + 61
    monkeypatch.setattr(time, "monotonic", lambda: later)
    held.release()
    assert storage.head(FILE) is None


def test_the_path_of_the_table_is_the_default(storage: LocalStorage) -> None:
    held = FilesystemLock().acquire(storage, "table", 0)
    for path in (f"{storage.base}/.hoodie", f"{storage.root}/.hoodie/"):
        assert FilesystemLock(path).acquire(storage, "table", 0) is None
    assert held is not None
    held.release()


def test_one_path_for_two_tables(tmp_path: Path) -> None:
    one, two = (LocalStorage(str(tmp_path / name), durable=False) for name in "ab")
    lock = FilesystemLock(str(tmp_path / "locks"))
    held = lock.acquire(one, "table", 0)
    assert held is not None and (tmp_path / "locks/lock").exists()
    assert lock.acquire(two, "table", 0) is None
    held.release()
