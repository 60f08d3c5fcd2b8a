"""Spark Hudi and Hoodoo write on one table on S3, and exclude each other by Hudi's lock in a DynamoDB table, or by its
lock file beside the table.

The server of both is moto, or versitygw for the table where HOODOO_VERSITYGW names it. Spark Hudi's lock client has
options for the endpoint and the keys, and none for the region that requests are signed for: that one comes from the
chain of Amazon's own client (here ``AWS_REGION``).
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import boto3
import pytest
from attrs import frozen
from both import Both, Spark
from hoodoo.errors import CommitConflictError
from hoodoo.hookspecs import Settings
from hoodoo.storage.lock import Held
from hoodoo.table.settings import open_storage
from hoodoo_cloud.locks.dynamodb import DynamoLock
from hoodoo_cloud.locks.table_lock import StorageLock
from hoodoo_rows.testing.tables import Maker
from model import SCHEMA, Model, table
from spark_hudi import JAR_VARIABLE, OLD_JAR_VARIABLE, S3_JARS_VARIABLE, HudiError, SparkHudi

HERE = Path(__file__).parent
KEYS = {"aws_access_key_id": "access", "aws_secret_access_key": "secret-secret"}
LOCK = "hoodie.write.lock.dynamodb."
WAIT = "hoodie.write.lock.wait_time_ms"  # how long a lock's lease is, too
HUDIS = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.write.lock.num_retries": "1",
}
# What 1.2 does by itself where there is a column to order by.
ORDERED = {
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.payload.class": (
        "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
    ),
    "hoodie.payload.ordering.field": "ts",
}
PROVIDER = "org.apache.hudi.aws.transaction.lock.DynamoDBBasedLockProvider"
KINDS = ("COPY_ON_WRITE", "MERGE_ON_READ")


@frozen
class Place:
    """Where tables and locks are. ``lock``: options of the lock, which both know."""

    store: Any
    dynamo: Any

    @property
    def lock(self) -> dict[str, str]:
        return {
            "hoodie.aws.access.key": "access",
            "hoodie.aws.secret.key": "secret-secret",
            WAIT: "20000",
            f"{LOCK}table": "locks",
            f"{LOCK}endpoint_url": self.dynamo.endpoint,
            f"{LOCK}region": "us-east-1",
        }

    def items(self) -> list[dict[str, Any]]:
        client = boto3.client(
            "dynamodb", endpoint_url=self.dynamo.endpoint, region_name="us-east-1", **KEYS
        )
        found: list[dict[str, Any]] = client.scan(TableName="locks")["Items"]
        return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    sys.path.append(str(Path(__file__).resolve().parents[2] / "plugins/cloud/tests"))
    from servers import SERVERS

    with ExitStack() as stack:
        dynamo = stack.enter_context(SERVERS["moto"](tmp_path_factory.mktemp("dynamo")))
        store = dynamo
        if os.environ.get("HOODOO_VERSITYGW"):
            store = stack.enter_context(SERVERS["versitygw"](tmp_path_factory.mktemp("store")))
        yield Place(store, dynamo)


@frozen
class Hudi:
    """Spark Hudi of one version, with a client of S3; ``lock``: what it takes for Hudi's lock."""

    worker: SparkHudi
    version: int
    lock: str


@pytest.fixture(scope="module", params=[9, 6], ids=["1.2", "0.15"])
def hudi(
    request: pytest.FixtureRequest, place: Place, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Hudi]:
    version: int = request.param
    jar = os.environ.get(JAR_VARIABLE if version == 9 else OLD_JAR_VARIABLE, "")
    folder = os.environ.get(S3_JARS_VARIABLE)
    if not folder or not jar:
        pytest.fail(f"{S3_JARS_VARIABLE} must name the folder of jars that prepare.py fetches")
    jars, lock = sorted(Path(folder).glob("*.jar")), PROVIDER
    (provider,) = (one for one in jars if one.name.startswith("hudi-aws-"))
    if _version(Path(jar)) != _version(provider):
        jars.append(_built("AmazonsLock", [Path(jar), *jars], tmp_path_factory.mktemp("lock")))
        lock = "AmazonsLock"
    if version == 9:  # 0.15 has no lock file on object stores
        name = "S3StorageLockClient"
        jars.append(_built(name, [Path(jar), *jars], tmp_path_factory.mktemp("client")))
    s3a = {
        "endpoint": place.store.endpoint, "endpoint.region": "us-east-1", "access.key": "access",
        "secret.key": "secret-secret", "path.style.access": "true",
        "connection.ssl.enabled": "false",
        "connection.maximum": "2000",  # Hudi leaves streams of its metadata table open
    }  # fmt: skip
    if place.store.name == "versitygw":  # it has no objects that are folders of others, too
        s3a["directory.marker.retention"] = "keep"
    with SparkHudi(
        jar=jar,
        log=tmp_path_factory.mktemp("log") / f"spark-s3-{version}.log",
        timeout=600,
        more_jars=jars,
        settings={f"spark.hadoop.fs.s3a.{key}": value for key, value in s3a.items()},
        variables={"AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL_S3": place.store.endpoint},
    ) as running:
        yield Hudi(running, version, lock)


def _version(jar: Path) -> str:
    return jar.stem.rpartition("-")[2]


def _built(name: str, jars: list[Path], folder: Path) -> Path:
    """The jar of a class beside this file."""
    compiler = shutil.which("javac")
    assert compiler, "javac is missing: hudi-aws is of another version than the bundle"
    command = [compiler, "-proc:none", "-cp", os.pathsep.join(map(str, jars)), "-d", str(folder)]
    subprocess.run([*command, str(HERE / f"{name}.java")], check=True)
    made = folder / f"{name}.jar"
    with zipfile.ZipFile(made, "w") as packed:
        for one in folder.rglob("*.class"):
            packed.write(one, one.relative_to(folder))
    return made


@pytest.fixture
def both(hudi: Hudi, place: Place, tmp_path: Path) -> Both:
    """One table on S3, still to be made; what either needs to know of the lock."""
    uri = f"{place.store.bucket(f'b-{uuid4().hex}')}/t".replace("s3://", "s3a://")
    lock = {**place.lock, f"{LOCK}partition_key": uri}
    ours = {**place.store.options, **lock, "hoodie.write.lock.provider": "dynamodb"}
    both = Both(Spark(hudi.worker, tmp_path / "exchange"), uri, opened={"options": ours})
    both.setup(Model(), SCHEMA, hudi.version, partition_by=["region"])
    both.options |= {**HUDIS, **lock, "hoodie.write.lock.provider": hudi.lock}
    if hudi.version == 6:
        both.options |= ORDERED
    return both


rows = Maker(
    SCHEMA, "ts", "region", id="k{}".format, name=lambda n, ts: f"{ts}-{n}", region=("eu", "us")
).dicts


def make(both: Both, maker: str, kind: str) -> None:
    if kind == "MERGE_ON_READ":
        both.options |= {
            "hoodie.datasource.write.table.type": kind,
            "hoodie.compact.inline": "false",
        }
    if maker == "hoodoo":
        both.create(both.opened["options"])
        both.hoodoo_upsert(rows(range(10), 1))
    else:
        both.spark_upsert(rows(range(10), 1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("maker", ["spark", "hoodoo"])
def test_twenty_writes_by_turns(both: Both, place: Place, maker: str, kind: str) -> None:
    """After each, there are the rows that a model has, for both of them, and no lock is left."""
    if maker == "spark":
        both.options["hoodie.metadata.enable"] = "true"
        both.options["hoodie.metadata.index.column.stats.enable"] = "false"
    make(both, maker, kind)
    draw = random.Random(f"{maker}{kind}")
    for ts in range(2, 22):
        first = draw.randrange(30)
        changed = rows(range(first, first + draw.randrange(1, 12)), draw.choice([ts, ts, 1]))
        (both.hoodoo_upsert if ts % 2 else both.spark_upsert)(changed)
        both.check(f"{maker}, {kind}, write {ts}", spark=ts % 6 == 3 or ts > 19)
        assert place.items() == []
    assert both.hoodoo().verify().ok


def test_an_owner_that_died(both: Both, place: Place) -> None:
    """Who comes next waits until its lease has ended, whichever of the two it was."""
    make(both, "hoodoo", "COPY_ON_WRITE")
    impatient = {WAIT: "1000", "hoodie.write.lock.client.num_retries": "0"}
    held = take(both)
    with pytest.raises(HudiError, match="lock"):
        both.spark_write("upsert", rows(range(5), 2), impatient)
    assert held.is_held(), "Spark took it"
    assert len(place.items()) == 1
    held._stop.set()  # type: ignore[attr-defined]
    both.spark_upsert(rows(range(5), 2))
    assert not held.is_held()
    assert place.items() == []
    both.check("Spark after Hoodoo")


def take(both: Both) -> Held:
    """The lock of the table, by Hoodoo, for 4 seconds that are prolonged."""
    given = {**both.opened["options"], WAIT: "4000"}
    lock = DynamoLock.from_settings(Settings(options=given))
    held = lock.acquire(open_storage(str(both.path), given), "table", 0)
    assert held is not None
    return held


@pytest.mark.parametrize("kind", KINDS)
def test_both_write_at_the_same_time(both: Both, place: Place, kind: str) -> None:
    """Both in one partition, and each in one of its own: what either acknowledges is there, nothing else, nothing
    twice. A writer that finds its files changed meanwhile may fail, and then has changed nothing."""
    both.options["hoodie.clean.automatic"] = "false"  # docs/many-writers.md: one of the two cleans
    make(both, "hoodoo", kind)
    failed: list[BaseException] = []
    done, gave_way, sorts = threading.Event(), [0, 0], set[frozenset[str]]()

    def spark() -> None:
        try:
            for ts in range(2, 8):
                # Of keys that are there: a new one of both could be there twice.
                first = ts % 5
                changed = rows(range(first, first + 5), 2 * ts, "" if ts % 3 == 0 else "spark")
                try:
                    both.spark_write("upsert", changed)
                    model.append(changed)
                except HudiError as error:
                    if "conflict" not in str(error).lower():
                        raise
                    gave_way[0] += 1
        except BaseException as error:
            failed.append(error)
        finally:
            done.set()

    model: list[list[dict[str, Any]]] = []
    watcher = threading.Thread(target=lambda: _watch(place, done, sorts))
    thread = threading.Thread(target=spark)
    thread.start()
    watcher.start()
    writer, count = both.hoodoo(), 0
    while not done.is_set() and count < 60:
        count += 1
        changed = rows(
            range(count % 5, count % 5 + 5), 2 * count + 1, "" if count % 3 == 0 else "ours"
        )
        try:
            writer.upsert(table(changed))
            model.append(changed)
        except CommitConflictError:
            gave_way[1] += 1
    thread.join()
    watcher.join()
    assert failed == []
    assert count > 4
    # Order does not matter: the later one of a key is the one with the higher ts.
    for changed in model:
        both.model.upsert(changed)
    both.check(f"after both, {gave_way} gave way")
    assert sorts == {frozenset({"key", "ownerName", "leaseDuration", "recordVersionNumber"})}
    assert place.items() == []


def _watch(place: Place, done: threading.Event, sorts: set[frozenset[str]]) -> None:
    """What items of the lock there are, by their attributes."""
    while not done.is_set():
        sorts.update(frozenset(item) for item in place.items())
        time.sleep(0.02)


# --- the lock file beside the table ---------------------------------------------------------------
FILE = ".hoodie/.locks/table_lock.json"
STORED = "hoodie.write.lock.storage."
PATIENT = {
    "hoodie.write.lock.provider": (
        "org.apache.hudi.client.transaction.lock.StorageBasedLockProvider"
    ),
    f"{STORED}validity.timeout.secs": "10",
    f"{STORED}renew.interval.secs": "1",
    WAIT: "30000",
}


@pytest.fixture
def by_file(hudi: Hudi, place: Place, tmp_path: Path) -> Both:
    """One table on S3 with Hudi's lock file, named alike to both."""
    if hudi.version == 6 or place.store.name != "moto":
        pytest.skip("of Hudi 1.2, on a server that checks no signatures")
    uri = f"{place.store.bucket(f'b-{uuid4().hex}')}/t".replace("s3://", "s3a://")
    ours = {**place.store.options, **PATIENT}
    both = Both(Spark(hudi.worker, tmp_path / "exchange"), uri, opened={"options": ours})
    both.setup(Model(), SCHEMA, hudi.version, partition_by=["region"])
    both.options |= {**HUDIS, **PATIENT}
    return both


def said(both: Both) -> dict[str, Any]:
    """What the lock file says."""
    store = open_storage(str(both.path), both.opened["options"])
    found: dict[str, Any] = json.loads(store.get(FILE))
    return found


def test_one_lock_file(by_file: Both) -> None:
    """Each waits for the other, takes what was given back, and what has expired."""
    make(by_file, "spark", "COPY_ON_WRITE")
    theirs = said(by_file)
    assert theirs.keys() == {"expired", "validUntil", "owner"} and theirs["expired"] is True
    by_file.hoodoo_upsert(rows(range(5), 2))
    ours = said(by_file)
    assert ours["expired"] is True and ours["owner"] != theirs["owner"]
    given = by_file.opened["options"]
    store = open_storage(str(by_file.path), given)
    held = StorageLock(1.0, 10.0, given).acquire(store, "table", 0)
    assert held is not None
    impatient = {WAIT: "1000", "hoodie.write.lock.client.num_retries": "0"}
    with pytest.raises(HudiError, match="lock"):
        by_file.spark_write("upsert", rows(range(5), 3), impatient)
    assert held.is_held(), "Spark took it"
    held._stop.set()  # type: ignore[attr-defined]
    by_file.spark_upsert(rows(range(5), 3))
    assert not held.is_held() and said(by_file)["expired"] is True
    by_file.check("Spark after a holder that died")


def test_both_write_by_the_lock_file(by_file: Both) -> None:
    """At the same time, each in a partition of its own: all that is acknowledged is there."""
    by_file.options["hoodie.clean.automatic"] = "false"
    make(by_file, "hoodoo", "COPY_ON_WRITE")
    failed: list[BaseException] = []
    theirs = [rows(range(20, 25), ts, "spark") for ts in range(2, 7)]

    def spark() -> None:
        try:
            for changed in theirs:
                by_file.spark_write("upsert", changed)
        except BaseException as error:
            failed.append(error)

    thread, ours = threading.Thread(target=spark), list[list[dict[str, Any]]]()
    thread.start()
    writer = by_file.hoodoo()
    while thread.is_alive() and len(ours) < 60:
        ours.append(rows(range(5), len(ours) + 2, "ours"))
        writer.upsert(table(ours[-1]))
    thread.join()
    assert failed == [] and len(ours) > 4
    for changed in [*theirs, *ours]:
        by_file.model.upsert(changed)
    by_file.check(f"after both, {len(ours)} of ours")
    assert said(by_file)["expired"] is True
