"""Spark Hudi and Hoodoo exclude each other by Hudi's lock file, and write side by side."""

from __future__ import annotations

import hoodoo
import pytest
from both import Both
from hoodoo.storage.lock import Held
from hoodoo_rows.testing.tables import Maker
from hoodoo_standard.lock.filesystem import FilesystemLock
from hoodoo_standard.storage.local import LocalStorage
from model import SCHEMA, Model, table
from spark_hudi import HudiError

PROVIDER = {"hoodie.write.lock.provider": "filesystem"}
SPARK = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.write.lock.provider": (
        "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
    ),
    "hoodie.write.lock.client.wait_time_ms_between_retry": "50",
    "hoodie.write.lock.client.num_retries": "500",
    "hoodie.write.lock.num_retries": "1",
}
IMPATIENT = {"hoodie.write.lock.client.num_retries": "1", "hoodie.write.lock.wait_time_ms": "500"}

rows = Maker(
    SCHEMA, "ts", "region", id=lambda n, region: f"{region}{n}", name=lambda n, ts: f"{ts}"
).dicts


def prepared(both: Both, version: int) -> None:
    both.setup(Model(), SCHEMA, version, "SIMPLE", False, ["region"])
    both.create()
    both.hoodoo_upsert(rows(range(5), 1, "eu") + rows(range(5), 1, "us"))


def take(both: Both, wait: float) -> Held | None:
    return FilesystemLock().acquire(LocalStorage(str(both.path)), "table", wait)


@pytest.mark.parametrize("version", [6, 9])
def test_spark_waits_for_hoodoo(both: Both, version: int) -> None:
    prepared(both, version)
    held = take(both, 0)
    assert held is not None
    with pytest.raises(HudiError, match="lock"):
        both.spark_upsert(rows(range(5), 2, "eu"), **{**SPARK, **IMPATIENT})
    assert held.is_held(), "Spark took it"
    held.release()
    both.spark_upsert(rows(range(5), 2, "eu"), **SPARK)
    assert take(both, 0) is not None, "Spark left it"
    both.check("after the lock")


def test_hoodoo_waits_for_spark(both: Both) -> None:
    prepared(both, 9)
    (both.path / ".hoodie/lock").touch()  # as Hudi does: empty
    writer = hoodoo.open(both.path, options={**PROVIDER, "hoodie.write.lock.wait_time_ms": "300"})
    with pytest.raises(hoodoo.errors.CommitConflictError, match="lock"):
        writer.upsert(table(rows(range(5), 2, "eu")))
    (both.path / ".hoodie/lock").unlink()
    both.check("nothing was published")


@pytest.mark.parametrize("version", [6, 9])
def test_both_write_at_the_same_time(both: Both, version: int) -> None:
    prepared(both, version)
    both.write_at_once(rows, SPARK, PROVIDER)
