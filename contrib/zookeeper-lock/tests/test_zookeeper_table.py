"""Writers of a table, Curator's mutex (which Spark Hudi takes), and a server that is not there."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import run
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import CommitConflictError, ConfigError, StorageError
from hoodoo.hookspecs import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.storage.lock import Held
from hoodoo.testing.directory import DirectoryStorage
from hoodoo_zookeeper_lock.lock import ZookeeperLock
from kazoo.client import KazooClient
from zookeeper_server import Mutex, Server, expire, noted, options, started

pytestmark = pytest.mark.spark  # what needs a JVM
JAVA = "org.apache.hudi.client.transaction.lock.ZookeeperBasedLockProvider"
NODE = "/hudi/trips"
LONG = 60.0


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with started() as found:
        yield found


@pytest.fixture(scope="module")
def mutexes(server: Server) -> Iterator[list[Mutex]]:
    found: list[Mutex] = []
    yield found
    for mutex in found:
        mutex.kill()


@pytest.fixture
def mutex(server: Server, mutexes: list[Mutex]) -> Mutex:
    """One for all tests, until a test kills it."""
    if not mutexes or mutexes[-1].process.poll() is not None:
        mutexes.append(Mutex(server, session=2000))
    return mutexes[-1]


@pytest.fixture
def table(server: Server, tmp_path: Path) -> hoodoo.Table:
    given = {
        "hoodie.write.lock.provider": JAVA,
        "hoodie.write.lock.wait_time_ms": "300",
        **options(server),
    }
    rows = pa.table({"id": [1], "n": [0]})
    made = hoodoo.create(
        str(tmp_path / "t"), rows.schema, name="trips", record_key="id", options=given
    )
    made.upsert(rows)
    return made


def put(table: hoodoo.Table, n: int) -> None:
    table.upsert(pa.table({"id": [1], "n": [n]}))


def value(table: hoodoo.Table) -> int:
    (found,) = hoodoo.open(table.path).read(["n"]).to_arrow().column("n").to_pylist()
    return int(found)


def locked(server: Server, wait: float = LONG, **more: str) -> Held | None:
    lock = ZookeeperLock.from_settings(Settings(options=options(server, lock_key="trips", **more)))
    return lock.acquire(DirectoryStorage("/nowhere"), "table", wait)


def until(check: Any) -> None:
    end = time.monotonic() + LONG
    while not check():
        assert time.monotonic() < end
        time.sleep(0.02)


class Waiting(threading.Thread):
    def __init__(self, server: Server) -> None:
        super().__init__()
        self.server, self.held = server, None
        self.start()

    def run(self) -> None:
        self.held = locked(self.server)


# --- beside Curator -------------------------------------------------------------------------------
def test_nothing_is_written_while_curator_holds_it(
    server: Server, mutex: Mutex, table: hoodoo.Table
) -> None:
    assert mutex.acquire(NODE, LONG)
    assert locked(server, 0) is None
    with pytest.raises(CommitConflictError, match="could not be acquired"):
        put(table, 1)
    assert value(table) == 0
    assert len(mutex.nodes()) == 1, "who gave up left a node"
    waiting = Waiting(server)
    until(lambda: len(mutex.nodes()) == 2)
    assert waiting.held is None
    mutex.release()
    waiting.join()
    assert waiting.held is not None and waiting.held.is_held()
    waiting.held.release()
    put(table, 2)
    assert value(table) == 2


def test_curator_waits_while_we_hold_it(server: Server, mutex: Mutex) -> None:
    held = locked(server)
    assert held is not None
    assert not mutex.acquire(NODE, 0.3)
    assert held.is_held()
    held.release()
    assert mutex.acquire(NODE, LONG)
    mutex.release()


def test_who_comes_first_is_first(server: Server, mutex: Mutex) -> None:
    """Of both kinds, each sees the nodes in the same order."""
    first = locked(server)
    assert first is not None
    with client(server) as asked:
        mutex.ask("acquire", NODE, 60_000)
        until(lambda: len(asked.get_children(NODE)) == 2)
        third = Waiting(server)
        until(lambda: len(asked.get_children(NODE)) == 3)
        first.release()
        assert mutex.answer() == "true"
        assert len(mutex.nodes()) == 2
        assert third.held is None
        mutex.release()
        third.join()
    assert third.held is not None and third.held.is_held()
    third.held.release()


def test_it_is_free_once_the_session_of_a_killed_process_has_ended(
    server: Server, mutex: Mutex, table: hoodoo.Table
) -> None:
    assert mutex.acquire(NODE, LONG)
    mutex.kill()
    assert locked(server, 0) is None, "its session lasts two seconds"
    held = locked(server)
    assert held is not None and held.is_held()
    held.release()
    put(table, 3)
    assert value(table) == 3


def test_who_lost_the_session_commits_nothing(
    server: Server, mutex: Mutex, table: hoodoo.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one does that was suspended for longer than its session, while Spark took the lock."""
    acquire = ZookeeperLock.acquire

    def suspended(self: ZookeeperLock, storage: Any, name: str, wait: float) -> Held | None:
        held = acquire(self, storage, name, wait)
        if held is not None and name == "table":
            expire(server)
            assert mutex.acquire(NODE, LONG)
        return held

    monkeypatch.setattr(ZookeeperLock, "acquire", suspended)
    with noted(), pytest.raises(CommitConflictError):
        put(table, 4)
    monkeypatch.undo()
    assert value(table) == 0
    assert len(mutex.nodes()) == 1, "it gave back what another held"
    mutex.release()
    put(table, 5)
    assert value(table) == 5


def test_what_is_left_after_a_write(server: Server, table: hoodoo.Table) -> None:
    put(table, 1)
    with client(server) as asked:
        assert {*asked.get_children("/hudi")} <= {"trips", "trips:turn"}
        assert asked.get_children(NODE) == []
        assert asked.get(NODE)[0] == b""


# --- a server that is not there -------------------------------------------------------------------
def test_a_server_that_is_down(table: hoodoo.Table, server: Server) -> None:
    """Nothing is written, and the write says what to do; that done, it succeeds."""
    down = hoodoo.open(
        table.path,
        {
            "hoodie.write.lock.provider": "zookeeper",
            **options(server, url="127.0.0.1:1", connection_timeout_ms="1000"),
        },
    )
    began = time.monotonic()
    with pytest.raises(StorageError, match=r"127.0.0.1:1 gave no answer.* Check hoodie") as caught:
        put(down, 1)
    assert time.monotonic() - began < 30
    assert "the lock /hudi/trips" in str(caught.value)
    assert value(table) == 0
    put(table, 2)
    assert value(table) == 2


def test_a_server_that_hangs(server: Server) -> None:
    held = locked(server, connection_timeout_ms="1000", session_timeout_ms="60000")
    assert held is not None
    with server.hanging():
        began = time.monotonic()
        with pytest.raises(StorageError, match="gave no answer within 1 s"):
            locked(server, connection_timeout_ms="1000")
        with pytest.raises(StorageError, match="gave no answer within 1 s"):
            held.is_held()
        with pytest.raises(StorageError, match="gave no answer within 1 s"):
            held.release()
        assert time.monotonic() - began < 30


def test_a_server_that_comes_back(server: Server) -> None:
    """Sessions outlive a server; so does the lock."""
    held = locked(server, connection_timeout_ms="60000", session_timeout_ms="60000")
    assert held is not None
    server.stop()
    server.start()
    assert held.is_held()
    assert locked(server, 0) is None
    held.release()
    after = locked(server)
    assert after is not None and not after.from_dead
    after.release()


# --- options --------------------------------------------------------------------------------------
PREFIX = "hoodie.write.lock.zookeeper."
GIVEN = {f"{PREFIX}url": "a:2181,b:2181", f"{PREFIX}base_path": "/x", f"{PREFIX}lock_key": "k"}


def test_names_and_defaults() -> None:
    settings = Settings(options=GIVEN)
    found = resolve("lock", JAVA, settings).instance
    assert found == resolve("lock", "zookeeper", settings).instance
    assert found == ZookeeperLock("a:2181,b:2181", "/x/k", session=60.0, connection=15.0)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"url": None}, "url: is missing"),
        ({"base_path": None}, "base_path: is missing"),
        ({"base_path": "x"}, "no path of ZooKeeper.* Begin it with a slash"),
        ({"base_path": "/x/"}, "no path of ZooKeeper"),
        ({"lock_key": None}, "no path of ZooKeeper.*lock_key if the table has no name"),
        ({"url": "a:port"}, "Write host:port"),
        ({"url": "a", "port": "2182"}, "Hudi's writers go by the URL"),
        ({"session_timeout_ms": "soon"}, "soon"),
    ],
)
def test_wrong_options(more: dict[str, str | None], expected: str) -> None:
    given = {**GIVEN, **{f"{PREFIX}{name}": text for name, text in more.items()}}
    known = {key: text for key, text in given.items() if text is not None}
    with pytest.raises(ConfigError, match=expected):
        ZookeeperLock.from_settings(Settings(options=known))


def test_discovery_does_not_import_kazoo() -> None:
    code = "import sys, hoodoo_zookeeper_lock.plugin\nassert 'kazoo' not in sys.modules"
    run([sys.executable, "-c", code], check=True)


class client:
    """A client that looks at nodes."""

    def __init__(self, server: Server) -> None:
        self._asked = KazooClient(server.hosts)

    def __enter__(self) -> Any:
        self._asked.start()
        return self._asked

    def __exit__(self, *_: object) -> None:
        self._asked.stop()
        self._asked.close()
