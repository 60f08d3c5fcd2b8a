"""Hudi's locks of the cloud: the contract of locks, and what lies there in Hudi's form."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import boto3
import hoodoo
import pytest
from hoodoo.errors import CommitConflictError, ConfigError, StorageError
from hoodoo.hookspecs import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.storage.api import Storage
from hoodoo.storage.lock import Lock
from hoodoo.table.settings import open_storage
from hoodoo.testing.contracts.lock import LockContract
from hoodoo_cloud.locks import leases
from hoodoo_cloud.locks.dynamodb import DynamoLock
from hoodoo_cloud.locks.table_lock import StorageLock
from servers import Server, moto
from shaping import CUT_AFTER, Trouble, line_to
from small_tables import created, rows, texts

pytestmark = pytest.mark.sampled

MORE = os.environ.get("HOODOO_TRIALS") in ("more", "all")
LEASE, SHORT = "20000", "700"  # milliseconds
MORTAL = ("killed", "slept", "dead")  # of tests whose holders end
DYNAMO = "hoodie.write.lock.dynamodb."
STORED = "hoodie.write.lock.storage."
WAIT = "hoodie.write.lock.wait_time_ms"
PATH = ".hoodie/.locks/table_lock.json"
JAVA = "org.apache.hudi."


@pytest.fixture(scope="module")
def dynamo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """moto's, whichever the store is."""
    with moto(tmp_path_factory.mktemp("dynamo")) as started:
        yield started


def options(dynamo: Server, **more: str) -> dict[str, str]:
    return {
        "hoodie.write.lock.provider": "dynamodb",
        "hoodie.write.lock.wait_time_ms": LEASE,
        "hoodie.aws.access.key": "access",
        "hoodie.aws.secret.key": "secret-secret",
        f"{DYNAMO}table": "locks",
        f"{DYNAMO}endpoint_url": dynamo.endpoint,
        f"{DYNAMO}region": "us-east-1",
        **{f"{DYNAMO}{key}": value for key, value in more.items()},
    }


def named(name: str, given: dict[str, str]) -> Any:
    return resolve("lock", name, Settings(options=given)).instance


def client(dynamo: Server) -> Any:
    return boto3.client(
        "dynamodb", endpoint_url=dynamo.endpoint, region_name="us-east-1",
        aws_access_key_id="access", aws_secret_access_key="secret-secret",
    )  # fmt: skip


_HELD: list[leases.Lease] = []


@pytest.fixture(autouse=True)
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Those that this process had, so that a test may silence them."""
    begin = leases.Lease.__attrs_post_init__

    def kept(self: leases.Lease) -> None:
        _HELD.append(self)
        begin(self)

    monkeypatch.setattr(leases.Lease, "__attrs_post_init__", kept)
    yield
    silence()
    _HELD.clear()


def silence() -> None:
    for one in _HELD:
        one._stop.set()


class Contract(LockContract):
    """Those that exclude each other take long, as each waits for a server: they are trials."""

    if not MORE:
        test_threads_exclude_each_other = None  # type: ignore[assignment]
        test_processes_exclude_each_other = None  # type: ignore[assignment]


class TestDynamo(Contract):
    @pytest.fixture
    def lock(self, dynamo: Server, request: pytest.FixtureRequest) -> Lock:
        given = options(dynamo)
        if any(word in request.node.name for word in MORTAL):
            given["hoodie.write.lock.wait_time_ms"] = SHORT
        self.made: DynamoLock = DynamoLock.from_settings(Settings(options=given))
        return self.made

    def age(self, storage: Storage) -> None:
        silence()
        assert self.made.acquire(storage, "table", 0) is None  # from now on it is watched
        time.sleep(0.8)


class TestStorageBased(Contract):
    @pytest.fixture
    def storage(self, server: Server) -> Storage:
        self.server = server
        return open_storage(f"{server.bucket(f'b-{uuid4().hex}')}/t", server.options)

    def other(self, tmp_path: Path) -> Storage:
        return open_storage(f"{self.server.bucket(f'b-{uuid4().hex}')}/t", self.server.options)

    @pytest.fixture
    def lock(self, server: Server, request: pytest.FixtureRequest) -> Lock:
        mortal = any(word in request.node.name for word in MORTAL)
        return StorageLock(renew=0.3, validity=1.5 if mortal else 60.0, options=server.options)

    def age(self, storage: Storage) -> None:
        silence()
        time.sleep(2.1)


class TestInMemory(LockContract):
    """The same file in a store of this process."""

    processes = False

    @pytest.fixture
    def storage(self) -> Storage:
        return open_storage(f"memory://{uuid4().hex}/t", {})

    def other(self, tmp_path: Path) -> Storage:
        return open_storage(f"memory://{uuid4().hex}/t", {})

    @pytest.fixture
    def lock(self, request: pytest.FixtureRequest) -> Lock:
        mortal = any(word in request.node.name for word in MORTAL)
        return StorageLock(renew=0.3, validity=1.5 if mortal else 60.0)

    def age(self, storage: Storage) -> None:
        silence()
        time.sleep(2.1)


class TestOnDisk(LockContract):
    @pytest.fixture
    def lock(self) -> Lock:
        return StorageLock(renew=60.0)


# --- DynamoDB -------------------------------------------------------------------------------------
def test_names() -> None:
    given = {f"{DYNAMO}table": "locks"}
    java = f"{JAVA}aws.transaction.lock.DynamoDBBasedLockProvider"
    assert named("dynamodb", given) == named(java, given)
    java = f"{JAVA}client.transaction.lock.StorageBasedLockProvider"
    assert named("storage_based", {}) == named(java, {}) == StorageLock()


def test_an_item_as_hudi_makes_it(dynamo: Server, tmp_path: Path) -> None:
    table = hoodoo.create(
        str(tmp_path / "t"), rows({1: "a"}, 1).schema, name="trips", record_key="id",
        options=options(dynamo, table="first"),
    )  # fmt: skip
    lock = named("dynamodb", options(dynamo, table="first", partition_key="trips"))
    had = lock.acquire(open_storage(str(tmp_path / "t"), {}), "table", 0)
    items = client(dynamo).scan(TableName="first")["Items"]
    assert [set(item) for item in items] == [
        {"key", "ownerName", "leaseDuration", "recordVersionNumber"}
    ]
    assert items[0]["key"] == {"S": "trips"}
    assert items[0]["leaseDuration"] == {"S": LEASE}
    had.release()
    assert client(dynamo).scan(TableName="first")["Items"] == []
    table.upsert(rows({1: "a"}, 1))
    assert client(dynamo).scan(TableName="first")["Items"] == []


def test_items_of_others(dynamo: Server, tmp_path: Path) -> None:
    given = options(dynamo, table="others", partition_key="k")
    lock, storage = named("dynamodb", given), open_storage(str(tmp_path / "t"), {})
    lock.acquire(storage, "table", 0).release()  # makes the table
    item = {
        "key": "k", "ownerName": "spark", "leaseDuration": "300", "recordVersionNumber": "1-2-3",
    }  # fmt: skip
    theirs = {key: {"S": value} for key, value in item.items()}
    put = client(dynamo).put_item
    put(TableName="others", Item=theirs)
    began = time.monotonic()
    had = lock.acquire(storage, "table", 5)  # silent for as long as it says
    assert had.from_dead
    assert time.monotonic() - began >= 0.3
    put(TableName="others", Item=theirs)  # by one that had slept
    assert not had.is_held()
    had.release()
    assert client(dynamo).scan(TableName="others")["Items"] == [theirs]
    put(TableName="others", Item={**theirs, "isReleased": {"S": "1"}})
    had = lock.acquire(storage, "table", 0)
    assert not had.from_dead
    had.release()


def test_an_answer_that_is_lost(dynamo: Server, tmp_path: Path) -> None:
    """The client asks again, and loses against itself: the lock is had."""
    storage = open_storage(str(tmp_path / "t"), {})
    named("dynamodb", options(dynamo)).acquire(storage, "table", 0).release()
    for trouble in (CUT_AFTER, Trouble(500, after=True)):
        with line_to(dynamo.port) as line:
            line.rule = lambda request, trouble=trouble: (
                trouble if b"PutItem" in request.head and line.troubles == 0 else None
            )
            lock = named("dynamodb", options(dynamo, endpoint_url=line.endpoint))
            had = lock.acquire(storage, "table", 0)
            assert line.troubles == 1
            assert had.is_held()
            had.release()


def test_what_it_says(dynamo: Server, tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path / "t"), {})
    with pytest.raises(ConfigError, match=r"dynamodb.table.* needs a table"):
        named("dynamodb", {})
    with pytest.raises(StorageError, match="can't be reached"):
        given = options(dynamo, endpoint_url="http://127.0.0.1:1")
        named("dynamodb", given).acquire(storage, "table", 0)
    client(dynamo).create_table(
        TableName="numbers", KeySchema=[{"AttributeName": "n", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "n", "AttributeType": "N"}],
        BillingMode="PAY_PER_REQUEST",
    )  # fmt: skip
    with pytest.raises(StorageError, match="another key than Hudi's lock"):
        named("dynamodb", options(dynamo, table="numbers")).acquire(storage, "table", 0)


# --- the lock file of an object store -------------------------------------------------------------
def test_a_file_as_hudi_makes_it(server: Server) -> None:
    uri = f"{server.bucket(f'b-{uuid4().hex}')}/t"
    store, lock = open_storage(uri, server.options), StorageLock(options=server.options)
    had = lock.acquire(store, "table", 0)
    said = json.loads(store.get(PATH))
    assert said.keys() == {"expired", "validUntil", "owner"}
    assert said["expired"] is False
    assert 290 < said["validUntil"] / 1000 - time.time() <= 300
    had.release()
    assert json.loads(store.get(PATH)) == {**said, "expired": True}
    theirs = {**said, "owner": "spark", "validUntil": int(time.time() * 1000) + 60_000}
    store.put(PATH, json.dumps({**theirs, "unknown": 1}).encode())
    assert lock.acquire(store, "table", 0.1) is None
    store.put(PATH, json.dumps({**theirs, "validUntil": int(time.time() * 1000) - 600}).encode())
    had = lock.acquire(store, "table", 0)
    assert had.from_dead
    store.put(PATH, json.dumps(theirs).encode())
    assert not had.is_held()
    had.release()
    assert json.loads(store.get(PATH)) == theirs


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"expired":',
        "\0" * 60,
        '{"expired": "false", "validUntil": 1, "owner": "spark"}',
        '{"expired": false, "validUntil": null, "owner": "spark"}',
        '{"expired": false, "validUntil": 1}',
    ],
)
def test_a_file_that_is_none(text: str) -> None:
    """Nobody can tell whether it is held: it stays, and nothing is committed."""
    uri = f"memory://{uuid4().hex}/t"
    given = {"hoodie.write.lock.provider": "storage_based", WAIT: "100"}
    table = created(uri, given)
    table.upsert(rows({1: "a"}, 1))
    store = open_storage(uri, {})
    store.put(PATH, text.encode())
    with pytest.raises(StorageError, match="no lock file of Hudi.*Delete it"):
        table.upsert(rows({1: "b"}, 2))
    assert store.get(PATH) == text.encode()
    assert texts(hoodoo.open(uri)) == {1: "a"}
    store.delete(PATH)
    table.upsert(rows({1: "c"}, 3))
    assert texts(hoodoo.open(uri)) == {1: "c"}


def held_by_spark(seconds: float, **more: Any) -> bytes:
    """A lock file of another program, valid for so long."""
    until = int((time.time() + seconds) * 1000)
    return json.dumps({"expired": False, "validUntil": until, "owner": "spark", **more}).encode()


def test_spark_holds_it() -> None:
    """Nothing is written under its lock; half a second after its time it counts as dead, as the
    clocks of two hosts may differ so much; given back, it is had at once."""
    uri = f"memory://{uuid4().hex}/t"
    given = {"hoodie.write.lock.provider": "storage_based", WAIT: "100"}
    table, store = created(uri, given), open_storage(uri, {})
    theirs = held_by_spark(60)
    store.put(PATH, theirs)
    with pytest.raises(CommitConflictError, match="could not be acquired"):
        table.upsert(rows({1: "a"}, 1))
    assert store.get(PATH) == theirs
    assert texts(hoodoo.open(uri)) == {}
    store.put(PATH, held_by_spark(-0.2))
    assert StorageLock().acquire(store, "table", 0) is None
    store.put(PATH, held_by_spark(-0.6))
    table.upsert(rows({1: "b"}, 2))
    store.put(PATH, held_by_spark(60, expired=True))
    table.upsert(rows({2: "b"}, 2))
    assert texts(hoodoo.open(uri)) == {1: "b", 2: "b"}
    assert json.loads(store.get(PATH))["expired"] is True


def test_who_lost_the_lease_commits_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one does that was suspended for longer than its lease, while Spark took the lock over."""
    uri = f"memory://{uuid4().hex}/t"
    given = {"hoodie.write.lock.provider": "storage_based", WAIT: "200"}
    table, store = created(uri, given), open_storage(uri, {})
    table.upsert(rows({1: "a"}, 1))
    acquire, taken = StorageLock.acquire, list[bytes]()

    def suspended(self: StorageLock, storage: Storage, name: str, wait: float) -> Any:
        lease = acquire(self, storage, name, wait)
        if lease is not None and name == "table":
            taken.append(held_by_spark(60))
            storage.put(PATH, taken[-1])
        return lease

    monkeypatch.setattr(StorageLock, "acquire", suspended)
    with pytest.raises(CommitConflictError):
        table.upsert(rows({1: "b"}, 2))
    monkeypatch.undo()
    assert store.get(PATH) == taken[-1], "it gave back what another held"
    assert texts(hoodoo.open(uri)) == {1: "a"}
    store.put(PATH, held_by_spark(0, expired=True))
    table.upsert(rows({1: "c"}, 3))
    assert texts(hoodoo.open(uri)) == {1: "c"}


def test_a_writer_that_died_with_the_lock() -> None:
    """The next one waits until its time is over, and commits."""
    uri = f"memory://{uuid4().hex}/t"
    given = {"hoodie.write.lock.provider": "storage_based", WAIT: "20000"}
    table, store = created(uri, given), open_storage(uri, {})
    assert StorageLock(renew=0.2, validity=0.7).acquire(store, "table", 0) is not None
    silence()
    began = time.monotonic()
    table.upsert(rows({1: "a"}, 1))
    assert time.monotonic() - began > 1.0
    assert texts(hoodoo.open(uri)) == {1: "a"}


def test_the_older_name_of_the_interval() -> None:
    given = {f"{STORED}heartbeat.poll.secs": "2", f"{STORED}validity.timeout.secs": "20"}
    assert named("storage_based", given) == StorageLock(2.0, 20.0)
    with pytest.raises(ConfigError, match="less than twice"):
        named("storage_based", {f"{STORED}validity.timeout.secs": "20"})


def test_a_disk_has_no_such_file(tmp_path: Path) -> None:
    """Spark Hudi fails over this provider there; writers of Hoodoo exclude each other."""
    given = {
        "hoodie.write.lock.provider": f"{JAVA}client.transaction.lock.StorageBasedLockProvider",
        WAIT: "100",
    }
    table = created(str(tmp_path / "t"), given)
    table.upsert(rows({1: "a"}, 1))
    assert not (tmp_path / "t" / PATH).exists()
    held = StorageLock().acquire(open_storage(str(tmp_path / "t"), {}), "table", 0)
    assert held is not None
    with pytest.raises(CommitConflictError, match="could not be acquired"):
        table.upsert(rows({1: "b"}, 2))
    held.release()
    table.upsert(rows({1: "c"}, 3))
    assert texts(hoodoo.open(str(tmp_path / "t"))) == {1: "c"}


@pytest.mark.parametrize("provider", ["dynamodb", "storage_based"])
def test_a_table_under_the_lock(server: Server, dynamo: Server, provider: str) -> None:
    given = {**options(dynamo), **server.options, "hoodie.write.lock.provider": provider}
    if provider == "storage_based":
        given = {key: value for key, value in given.items() if not key.startswith(DYNAMO)}
    uri = f"{server.bucket(f'b-{uuid4().hex}')}/t"
    table = created(uri, given)
    table.upsert(rows({1: "a", 2: "a"}, 1))
    table.upsert(rows({1: "b"}, 2))
    assert texts(hoodoo.open(uri, server.options)) == {1: "b", 2: "a"}
