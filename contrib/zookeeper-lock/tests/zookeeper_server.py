"""A ZooKeeper server on loopback, and Curator's mutex in a process of Java, both of the jars that
PySpark brings."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pyspark
import pytest
from hoodoo_zookeeper_lock import lock
from kazoo.client import KazooClient

TICK = 100  # milliseconds: a session lasts two of them at least, and 20 at most
_JARS = Path(pyspark.__file__).parent / "jars/*"
_WAIT = 120.0  # seconds that a busy machine may need to start a JVM
_QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m")
_LOG = """\
status = error
rootLogger.level = error
"""


_SESSIONS: list[Any] = []


def options(server: Server, **more: str) -> dict[str, str]:
    """Those of the lock, by the last words of their names."""
    given = {"url": server.hosts, "base_path": "/hudi", "session_timeout_ms": "10000", **more}
    return {f"hoodie.write.lock.zookeeper.{name}": value for name, value in given.items()}


@contextmanager
def noted() -> Iterator[None]:
    """The sessions that locks of this process have are known, and ended in the end."""
    begin = lock._Session.begin

    def kept(self: Any) -> None:
        begin(self)
        _SESSIONS.append(self._client)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lock._Session, "begin", kept)
        yield
    for client in _SESSIONS:
        client.stop()
        client.close()
    _SESSIONS.clear()


def expire(server: Server) -> None:
    """As ZooKeeper does where a session is silent for too long. Its holder has not heard of it."""
    for client in _SESSIONS:
        if client.client_id is not None:
            other = KazooClient(server.hosts, client_id=client.client_id)
            other.start()
            other.stop()
            other.close()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Server:
    def __init__(self, folder: Path, port: int) -> None:
        self.hosts = f"127.0.0.1:{port}"
        self.folder, self._port = folder, port
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        settings = self.folder / "zoo.cfg"
        lines = {
            "clientPort": self._port,
            "clientPortAddress": "127.0.0.1",
            "dataDir": self.folder / "data",
            "tickTime": TICK,
            "maxSessionTimeout": 60_000,
            "maxClientCnxns": 0,
            "admin.enableServer": "false",
        }
        settings.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        main = "org.apache.zookeeper.server.ZooKeeperServerMain"
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                _java(self.folder, main, str(settings)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        end = time.monotonic() + _WAIT
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise RuntimeError((self.folder / "server.log").read_text()[-3000:])
            time.sleep(0.05)

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), 1) as asked:
            asked.settimeout(2)
            asked.sendall(b"srvr")
            return b"Mode" in asked.recv(4096)
        return False

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """It takes connections, and answers nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)


class Mutex:
    """Curator's InterProcessMutex in a JVM of its own."""

    def __init__(self, server: Server, session: int) -> None:
        folder, source = server.folder, str(Path(__file__).with_name("Mutex.java"))
        with (folder / "mutex.log").open("ab") as log:
            self.process = subprocess.Popen(
                _java(folder, source, server.hosts, str(session)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.answer() == "ready", (folder / "mutex.log").read_text()[-3000:]

    def ask(self, *words: object) -> None:
        """Without waiting for the answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def acquire(self, node: str, wait: float) -> bool:
        self.ask("acquire", node, round(wait * 1000))
        return self.answer() == "true"

    def release(self) -> None:
        self.ask("release")
        assert self.answer() == "released"

    def nodes(self) -> list[str]:
        """Those that it sees as contenders, first the one that has the lock."""
        self.ask("nodes")
        return [node.rpartition("/")[2] for node in self.answer().split()]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def answer(self) -> str:
        found: IO[str] | None = self.process.stdout
        assert found is not None
        return found.readline().strip()


def _java(folder: Path, *arguments: str) -> list[str]:
    """``arguments``: a class, or a source file, and what it is given."""
    home = os.environ.get("JAVA_HOME")
    program = f"{home}/bin/java" if home else "java"
    log = folder / "log4j2.properties"
    log.write_text(_LOG)
    paths = ("-cp", str(_JARS), f"-Dlog4j2.configurationFile={log}")
    return [program, *_QUICK, "-Dzookeeper.4lw.commands.whitelist=srvr", *paths, *arguments]


@contextmanager
def started() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="hoodoo-zookeeper-") as folder:
        server = Server(Path(folder), free_port())
        try:
            server.start()
            yield server
        finally:
            server.stop()
