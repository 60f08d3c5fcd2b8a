"""Servers of the tests, on loopback: started here, stopped here."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

START = 60.0  # seconds


@frozen
class Server:
    """One that speaks S3. ``options`` are what a table on it needs."""

    name: str
    endpoint: str

    @property
    def port(self) -> int:
        return int(self.endpoint.rpartition(":")[2])

    @property
    def options(self) -> dict[str, str]:
        return {
            "endpoint": self.endpoint,
            "aws_access_key_id": "access",
            "aws_secret_access_key": "secret-secret",
            "region": "us-east-1",
            "hoodoo.cloud.timeout": "20",
        }

    def bucket(self, name: str) -> str:
        """A new bucket; the URI of it."""
        import boto3

        boto3.client(
            "s3", endpoint_url=self.endpoint, region_name="us-east-1",
            aws_access_key_id="access", aws_secret_access_key="secret-secret",
        ).create_bucket(Bucket=name)  # fmt: skip
        return f"s3://{name}"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def running(name: str, command: list[str], port: int, log: Path, **more: str) -> Iterator[Server]:
    """The program, until it is not needed any more."""
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **more}
        ) as process,
    ):
        try:
            end = time.monotonic() + START
            while True:
                assert process.poll() is None, log.read_text("utf-8")
                assert time.monotonic() < end, f"{name} does not answer after {START:g} s"
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield Server(name, f"http://127.0.0.1:{port}")
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


@contextmanager
def moto(folder: Path) -> Iterator[Server]:
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with running("moto", command, port, folder / "moto.log") as server:
        yield server


@contextmanager
def versitygw(folder: Path) -> Iterator[Server]:
    """The program is HOODOO_VERSITYGW, or the one on the PATH (``tox run -e cloud`` builds it)."""
    program = os.environ.get("HOODOO_VERSITYGW") or shutil.which("versitygw")
    assert program, "versitygw is not there: `tox run -e cloud` builds it, with Go"
    port, data = free_port(), folder / "data"
    data.mkdir()
    command = [
        program,
        "--port",
        f"127.0.0.1:{port}",
        "posix",
        "--sidecar",
        str(folder / "meta"),
        str(data),
    ]
    (folder / "meta").mkdir()
    keys = {"ROOT_ACCESS_KEY": "access", "ROOT_SECRET_KEY": "secret-secret"}
    with running("versitygw", command, port, folder / "versitygw.log", **keys) as server:
        yield server
