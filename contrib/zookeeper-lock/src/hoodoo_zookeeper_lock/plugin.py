"""What this distribution offers, and its options by Hudi's own names (HoodieLockConfig)."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo import hookimpl
from hoodoo.hookspecs import Option, Registration
from hoodoo.options import Duration, Text, Whole

_PREFIX = "hoodie.write.lock.zookeeper"

URL = Option(
    f"{_PREFIX}.url",
    "The servers, host:port,host:port; without a port 2181.",
    kind=Text(empty=False),
)
PORT = Option(
    f"{_PREFIX}.port",
    "Hudi's writers do not read it: the port stands in the URL, and this one must be the same.",
    kind=Whole(1),
)
BASE = Option(
    f"{_PREFIX}.base_path",
    "The node under which those of the locks are, the same for all writers.",
    kind=Text(empty=False),
)
KEY = Option(
    f"{_PREFIX}.lock_key",
    "The node of the table's lock under base_path, the same for all its writers; by default the "
    "table's name.",
    kind=Text(empty=False),
)
SESSION = Option(
    f"{_PREFIX}.session_timeout_ms",
    "Milliseconds without a sign of life after which ZooKeeper frees the lock of a holder.",
    "60000",
    kind=Duration("ms", 1),
)
CONNECTION = Option(
    f"{_PREFIX}.connection_timeout_ms",
    "Milliseconds within which ZooKeeper has to answer.",
    "15000",
    kind=Duration("ms", 1),
)


@hookimpl
def hoodoo_locks() -> Iterable[Registration]:
    return [
        Registration(
            "zookeeper",
            "hoodoo_zookeeper_lock.lock:ZookeeperLock.from_settings",
            ("org.apache.hudi.client.transaction.lock.ZookeeperBasedLockProvider",),
            (URL, PORT, BASE, KEY, SESSION, CONNECTION),
            "Hudi's nodes in ZooKeeper, beside Spark writers",
        )
    ]
