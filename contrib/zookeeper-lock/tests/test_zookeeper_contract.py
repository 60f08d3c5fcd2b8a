"""The suite that every lock passes, on a real ZooKeeper server."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from hoodoo.hookspecs import Settings
from hoodoo.storage.api import Storage
from hoodoo.storage.lock import Lock
from hoodoo.testing.contracts.lock import LockContract
from hoodoo_zookeeper_lock.lock import ZookeeperLock
from zookeeper_server import Server, expire, noted, options, started

pytestmark = pytest.mark.spark  # what needs a JVM
MORTAL = ("killed",)  # those that wait for a holder's session to end


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with started() as found:
        yield found


@pytest.fixture(autouse=True)
def sessions() -> Iterator[None]:
    with noted():
        yield


class TestZookeeper(LockContract):
    @pytest.fixture
    def lock(self, server: Server, request: pytest.FixtureRequest) -> Lock:
        self.server = server
        more = {"lock_key": f"t{time.monotonic_ns()}"}
        if any(word in request.node.name for word in MORTAL):
            more["session_timeout_ms"] = "1500"
        return ZookeeperLock.from_settings(Settings(options=options(server, **more)))

    def age(self, storage: Storage) -> None:
        expire(self.server)
