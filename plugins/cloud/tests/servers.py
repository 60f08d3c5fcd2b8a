"""Servers of the tests, on loopback: started here, stopped here.

moto comes with pip. The others are programs that ``tox run -e cloud`` brings (on_servers.py); here they are where
HOODOO_VERSITYGW, HOODOO_AZURITE and HOODOO_FAKE_GCS say, or on the PATH.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from socket import create_connection, socket
from typing import Any

from attrs import evolve, field, frozen
from google_front import google_front

START = 300.0  # seconds: a server that ends is seen at once
# Azurite's only account, which is no secret.
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)


@frozen
class Server:
    """``scheme``: of the URIs of tables on it. ``given``: what a table on it needs, beside the endpoint."""

    name: str
    port: int
    scheme: str = "s3"
    given: Mapping[str, str] = field(
        factory=lambda: {
            "aws_access_key_id": "access",
            "aws_secret_access_key": "secret-secret",
            "region": "us-east-1",
        }
    )
    endpoint_option: str = "endpoint"
    path: str = ""

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.path}"

    @property
    def options(self) -> dict[str, str]:
        return {
            **self.given,
            self.endpoint_option: self.endpoint,
            "hoodoo.cloud.timeout": "60",  # a server on a busy machine may need long for a request
        }

    def through(self, port: int) -> dict[str, str]:
        """The options of a table that comes by way of another port."""
        return evolve(self, port=port).options

    def bucket(self, name: str) -> str:
        """A new bucket; the URI of it."""
        _MAKERS[self.scheme](self, name)
        return f"{self.scheme}://{name}"


def _s3_bucket(server: Server, name: str) -> None:
    import boto3

    boto3.client(
        "s3", endpoint_url=server.endpoint, region_name="us-east-1",
        aws_access_key_id="access", aws_secret_access_key="secret-secret",
    ).create_bucket(Bucket=name)  # fmt: skip


def _container(server: Server, name: str) -> None:
    """By a request that is signed as Azure wants it."""
    date = formatdate(usegmt=True)
    headers = {"x-ms-date": date, "x-ms-version": "2021-08-06"}
    text = "PUT" + "\n" * 12 + "".join(f"{key}:{value}\n" for key, value in sorted(headers.items()))
    text += f"/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
    key = base64.b64decode(ACCOUNT_KEY)
    signed = base64.b64encode(hmac.new(key, text.encode(), hashlib.sha256).digest()).decode()
    headers["Authorization"] = f"SharedKey {ACCOUNT}:{signed}"
    _send(f"{server.endpoint}/{name}?restype=container", "PUT", b"", headers)


def _google_bucket(server: Server, name: str) -> None:
    upstream = json.loads(server.given["google_service_account_key"])["project_id"]
    _send(
        f"http://127.0.0.1:{upstream}/storage/v1/b", "POST", json.dumps({"name": name}).encode(),
        {"Content-Type": "application/json"},
    )  # fmt: skip


def _send(url: str, method: str, data: bytes, headers: dict[str, str]) -> None:
    asked = urllib.request.Request(url, data or None, headers, method=method)
    with urllib.request.urlopen(asked, timeout=START):
        pass


_MAKERS: dict[str, Callable[[Server, str], None]] = {
    "s3": _s3_bucket,
    "az": _container,
    "gs": _google_bucket,
}


def free_port() -> int:
    with socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def running(name: str, command: list[str], port: int, log: Path, **more: str) -> Iterator[None]:
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
                    create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield
            code = process.poll()
            assert code is None, f"{name} ended by itself ({code}): {log.read_text('utf-8')}"
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def _program(name: str, variable: str) -> str:
    found = os.environ.get(variable) or shutil.which(name)
    assert found, f"{name} is not there: `tox run -e cloud` brings it, or {variable} names it"
    return found


@contextmanager
def moto(folder: Path) -> Iterator[Server]:
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with running("moto", command, port, folder / "moto.log"):
        yield Server("moto", port)


@contextmanager
def versitygw(folder: Path) -> Iterator[Server]:
    program = _program("versitygw", "HOODOO_VERSITYGW")
    port, data, meta = free_port(), folder / "data", folder / "meta"
    data.mkdir()
    meta.mkdir()
    command = [program, "--port", f"127.0.0.1:{port}", "posix", "--sidecar", str(meta), str(data)]
    keys = {"ROOT_ACCESS_KEY": "access", "ROOT_SECRET_KEY": "secret-secret"}
    with running("versitygw", command, port, folder / "versitygw.log", **keys):
        yield Server("versitygw", port)


@contextmanager
def azurite(folder: Path) -> Iterator[Server]:
    program = _program("azurite-blob", "HOODOO_AZURITE")
    port = free_port()
    command = [
        program, "--blobHost", "127.0.0.1", "--blobPort", str(port), "--inMemoryPersistence",
        "--skipApiVersionCheck", "--disableTelemetry", "--silent",
    ]  # fmt: skip
    given = {"account_name": ACCOUNT, "account_key": ACCOUNT_KEY}
    with running("azurite", command, port, folder / "azurite.log"):
        yield Server("azurite", port, "az", given, "azure_endpoint", f"/{ACCOUNT}")


@contextmanager
def fake_gcs(folder: Path) -> Iterator[Server]:
    program = _program("fake-gcs-server", "HOODOO_FAKE_GCS")
    port = free_port()
    command = [
        program, "-backend", "memory", "-scheme", "http", "-host", "127.0.0.1", "-port", str(port),
        "-public-host", f"127.0.0.1:{port}", "-log-level", "error",
    ]  # fmt: skip
    with (
        running("fake-gcs-server", command, port, folder / "fake-gcs.log"),
        google_front(port) as front,
    ):
        # Credentials that ask nobody for a token; the server itself is at the port that is the project's name.
        key: dict[str, Any] = {
            "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": "",
            "project_id": str(port),
        }  # fmt: skip
        given = {"google_service_account_key": json.dumps(key)}
        yield Server("fake-gcs", front, "gs", given, "google_base_url")


SERVERS = {"moto": moto, "versitygw": versitygw, "azurite": azurite, "fake-gcs": fake_gcs}
