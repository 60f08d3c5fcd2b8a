"""Spark Hudi and Hoodoo exclude each other by Hudi's nodes in ZooKeeper, and write side by side."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from both import Both
from hoodoo.hookspecs import Settings
from hoodoo.storage.lock import Held
from hoodoo_rows.testing.tables import Maker
from hoodoo_standard.storage.local import LocalStorage
from hoodoo_zookeeper_lock.lock import ZookeeperLock
from model import SCHEMA, Model
from spark_hudi import HudiError
from zookeeper_server import Server, options, started

PROVIDER = {
    "hoodie.write.lock.provider": (
        "org.apache.hudi.client.transaction.lock.ZookeeperBasedLockProvider"
    )
}
SPARK = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "50",
    "hoodie.write.lock.client.num_retries": "100",
}
IMPATIENT = {"hoodie.write.lock.client.num_retries": "1", "hoodie.write.lock.wait_time_ms": "500"}

rows = Maker(
    SCHEMA, "ts", "region", id=lambda n, region: f"{region}{n}", name=lambda n, ts: f"{ts}"
).dicts


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with started() as found:
        yield found


def prepared(both: Both, server: Server) -> dict[str, str]:
    """A table with rows, and the options of both for its lock."""
    both.setup(Model(), SCHEMA, 9, "SIMPLE", False, ["region"])
    both.create()
    both.hoodoo_upsert(rows(range(5), 1, "eu") + rows(range(5), 1, "us"))
    return {**PROVIDER, **options(server, lock_key=both.path.name)}


def take(both: Both, given: dict[str, str], wait: float) -> Held | None:
    lock = ZookeeperLock.from_settings(Settings(options=given))
    return lock.acquire(LocalStorage(str(both.path)), "table", wait)


def test_spark_waits_for_hoodoo(both: Both, server: Server) -> None:
    given = prepared(both, server)
    held = take(both, given, 60)
    assert held is not None
    with pytest.raises(HudiError, match="lock"):
        both.spark_upsert(rows(range(5), 2, "eu"), **{**SPARK, **given, **IMPATIENT})
    assert held.is_held(), "Spark took it"
    held.release()
    both.spark_upsert(rows(range(5), 2, "eu"), **{**SPARK, **given})
    after = take(both, given, 60)
    assert after is not None, "Spark left it"
    after.release()
    both.check("after the lock")


def test_both_write_at_the_same_time(both: Both, server: Server) -> None:
    given = prepared(both, server)
    both.write_at_once(rows, {**SPARK, **given}, given)
