"""Hudi's lock in ZooKeeper: Spark Hudi and Hoodoo exclude each other.

Source: ``org.apache.hudi.client.transaction.lock.ZookeeperBasedLockProvider`` of Hudi 1.2, and the
``InterProcessMutex`` of Curator that it uses: each contender makes an ephemeral node
`_c_<uuid>-lock-<sequence>` below `<base_path>/<lock_key>`. Whose sequence is the lowest has the
lock; the others wait for the one before them.

The lock of kazoo's own recipes names its nodes otherwise: Curator, which orders nodes by what
follows `lock-`, would order them after all of its own. Its calls also wait without an end for a
server that does not answer. So kazoo gives sessions, nodes and watches here, and the order is this
module's.

Each lock has a session of its own. ZooKeeper deletes its node when the session ends, by its holder
or because the holder is silent, and says neither. So a holder writes its mark into the node above
and erases it at the end: who finds a mark comes after a holder that died, or that only sleeps."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from typing import Any

from attrs import define, field, frozen
from hoodoo.errors import ConfigError, StorageError
from hoodoo.hookspecs import Settings
from hoodoo.log import get_logger
from hoodoo.storage.api import Storage
from hoodoo.storage.lock import Held
from hoodoo.timeline.ledger import LOCK
from kazoo.client import KazooClient
from kazoo.exceptions import (
    AuthFailedError,
    BadVersionError,
    ConnectionLoss,
    KazooException,
    NoAuthError,
    NoNodeError,
    SessionExpiredError,
)
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.hosts import collect_hosts

from hoodoo_zookeeper_lock.plugin import BASE, CONNECTION, KEY, PORT, SESSION, URL

_NAME = "lock-"
_MARK = b"hoodoo "
_log = get_logger(__name__)
_PAUSE = 0.05  # seconds between two questions while a connection comes back
# What this module raises says what happened; kazoo says each attempt to whoever listens.
logging.getLogger("kazoo").addHandler(logging.NullHandler())


@frozen
class ZookeeperLock:
    """``hosts``: host:port, separated by commas; ``node``: the path of the table's lock;
    ``session``: seconds without a sign of life after which a holder's lock is free;
    ``connection``: seconds within which an answer has to come."""

    hosts: str
    node: str
    session: float = 60.0
    connection: float = 15.0
    # A lock with a key of its own is one for all tables that are given it.
    path: str = field(default="", eq=False)

    @classmethod
    def from_settings(cls, settings: Settings) -> ZookeeperLock:
        given = settings.options
        hosts, base = URL.given(given), BASE.given(given)
        if not hosts or not base:
            raise ConfigError(
                f"option {(BASE if hosts else URL).key}",
                "is missing: the lock zookeeper needs it.",
                "Give what the other writers of the table give.",
            )
        key = KEY.given(given) or ""
        node = f"{base}/{key or settings.table.name}"
        parts = node.split("/")
        if parts[0] or not all(parts[1:]) or {".", ".."} & {*parts}:
            raise ConfigError(
                f"option {BASE.key}",
                f"makes {node!r} the node of the lock, which is no path of ZooKeeper.",
                f"Begin it with a slash, do not end it with one, and set {KEY.key} if the table "
                "has no name.",
            )
        _check(hosts, PORT.given(given))
        session, connection = SESSION.read(given) / 1000, CONNECTION.read(given) / 1000
        return cls(hosts, node, session, connection, path=key)

    def acquire(self, storage: Storage, name: str, wait: float) -> Held | None:
        """Raises StorageError; the lock is not had then."""
        # Beside the lock's node: Curator takes each node below it for a contender.
        node = self.node if name == LOCK else f"{self.node}:{name}"
        try:
            return self._contend(node, wait)
        except (ConnectionLoss, SessionExpiredError):
            # It is not known whether our node was made: it ends with that session.
            return self._contend(node, wait, last=True)

    def _contend(self, node: str, wait: float, last: bool = False) -> Held | None:
        session = _Session(self, node)
        held = None
        try:
            session.begin()
            held = session.contend(wait)
        except (ConnectionLoss, SessionExpiredError) as error:
            if last:
                raise session.explained(error) from None
            raise
        except (KazooException, KazooTimeoutError) as error:
            raise session.explained(error) from None
        finally:
            if held is None:
                session.end()
        return held


@define
class _Session:
    """``node``: that of the lock. ZooKeeper deletes what it makes when it ends."""

    lock: ZookeeperLock
    node: str
    _client: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        again = {"max_tries": -1, "delay": _PAUSE, "max_delay": 1.0}
        self._client = KazooClient(
            self.lock.hosts, timeout=self.lock.session, connection_retry=again
        )

    def begin(self) -> None:
        """Raises KazooTimeoutError."""
        if not self._client.start_async().wait(self.lock.connection):
            raise KazooTimeoutError

    def end(self) -> None:
        """In a thread: a server that hangs is waited for as long as any answer, and no longer."""
        ending = threading.Thread(target=self._end, name="hoodoo-zookeeper", daemon=True)
        ending.start()
        ending.join(self.lock.connection)

    def _end(self) -> None:
        try:
            self._client.stop()
        except Exception as error:
            _log.info("session_not_ended", node=self.node, error=str(error))  # it is silent now
        finally:
            self._client.close()

    def contend(self, wait: float) -> _Held | None:
        """The lock; None where it was not had within ``wait`` seconds. Raises what kazoo raises."""
        end = time.monotonic() + wait
        who = f"application_id=hoodoo {socket.gethostname()} {os.getpid()}".encode()
        ours = f"{self.node}/_c_{uuid.uuid4()}-{_NAME}"
        made = self.write("create", ours, who, ephemeral=True, sequence=True, makepath=True)
        name = made.rpartition("/")[2]
        while True:
            names = self.read("get_children", self.node)
            if name not in names:
                raise SessionExpiredError
            earlier = [other for other in names if _sequence(other) < _sequence(name)]
            if not earlier:
                return self._had(made)
            gone = threading.Event()
            before = f"{self.node}/{max(earlier, key=_sequence)}"
            if time.monotonic() >= end:
                return None
            # The watch tells of a connection that breaks, too.
            if self.read("exists", before, watch=lambda _, gone=gone: gone.set()) is not None:
                gone.wait(end - time.monotonic())

    def _had(self, made: str) -> _Held:
        mark, stat = self.read("get", self.node)
        stat = self.write("set", self.node, _MARK + uuid.uuid4().hex.encode(), stat.version)
        return _Held(self, made, stat.version, mark.startswith(_MARK))

    def write(self, call: str, *args: Any, **more: Any) -> Any:
        """The answer to what must not be asked twice."""
        return self._asked(call, args, more, self.lock.connection)

    def read(self, call: str, *args: Any, **more: Any) -> Any:
        """The answer, once more where the connection broke: it may have come back since."""
        end = time.monotonic() + self.lock.connection
        while True:
            try:
                return self._asked(call, args, more, end - time.monotonic())
            except ConnectionLoss:
                if time.monotonic() + _PAUSE >= end:
                    raise
            time.sleep(_PAUSE)

    def _asked(self, call: str, args: Any, more: Any, wait: float) -> Any:
        return getattr(self._client, f"{call}_async")(*args, **more).get(timeout=max(0.0, wait))

    def explained(self, error: Exception) -> StorageError:
        where = f"ZooKeeper at {self.lock.hosts}"
        rule, fix = f"{where} answered {type(error).__name__}", "Try again."
        if isinstance(error, KazooTimeoutError | ConnectionLoss):
            rule = f"{where} gave no answer within {self.lock.connection:g} s"
            fix = f"Check {URL.key}, the network, and that the servers run."
        elif isinstance(error, NoAuthError | AuthFailedError):
            rule = f"{where} denies access"
            fix = "Allow all writers to create, read, write and delete nodes there."
        elif isinstance(error, NoNodeError):
            rule = f"{where} has no such node, and it can't be made"
            fix = f"Make the node that {URL.key} ends with."
        return StorageError(f"the lock {self.node}", f"{rule}.", fix)


@define(eq=False)
class _Held:
    """Implements :class:`~hoodoo.storage.lock.Held`. ``_made``: our node, ``_version`` that of our
    mark in the node above."""

    _session: _Session
    _made: str
    _version: int
    from_dead: bool
    _guard: threading.Lock = field(factory=threading.Lock, init=False)
    _ended: bool = field(default=False, init=False)

    def is_held(self) -> bool:
        """Asks ZooKeeper, after all that it has decided. Raises StorageError."""
        if self._ended:
            return False
        try:
            self._session.read("sync", self._made)
            return self._session.read("exists", self._made) is not None
        except SessionExpiredError:
            return False
        except (KazooException, KazooTimeoutError) as error:
            raise self._session.explained(error) from None

    def release(self) -> None:
        with self._guard:
            ended, self._ended = self._ended, True
        if ended:
            return
        try:
            self._session.write("set", self._session.node, b"", self._version)
        except (BadVersionError, NoNodeError, SessionExpiredError):
            pass  # who had it since has a mark of its own
        except (KazooException, KazooTimeoutError) as error:
            raise self._session.explained(error) from None
        finally:
            self._session.end()


def _sequence(name: str) -> str:
    """What Curator orders by (StandardLockInternalsDriver.standardFixForSorting)."""
    return name.rpartition(_NAME)[2]


def _check(hosts: str, port: int | None) -> None:
    try:
        found = collect_hosts(hosts)[0]
    except ValueError:
        raise ConfigError(
            f"option {URL.key}", f"is {hosts!r}.", "Write host:port,host:port."
        ) from None
    if port is not None and any(each[1] != port for each in found):
        raise ConfigError(
            f"option {PORT.key}",
            f"is {port}, and {URL.key} is {hosts}: Hudi's writers go by the URL.",
            f"Write the port into {URL.key}, and leave this option out.",
        )
