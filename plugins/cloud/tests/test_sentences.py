"""What users read of what a store refuses; and how long it takes."""

from __future__ import annotations

import http.server
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import hoodoo
import pytest
import structlog
from hoodoo.errors import ConfigError, StorageError
from hoodoo.storage.api import Storage
from hoodoo.table.settings import open_storage
from hoodoo_cli.tables_below import TableBelow, tables_below
from hoodoo_cloud import waiting
from servers import Server
from small_tables import created

pytestmark = pytest.mark.sampled(3)

KEYS = {
    "aws_access_key_id": "a",
    "aws_secret_access_key": "the-secret",
    "hoodoo.cloud.timeout": "1",  # a machine may be busy
}


@contextmanager
def _answering(status: int, code: str) -> Iterator[Storage]:
    """A store whose every answer is this error."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = f"<Error><Code>{code}</Code><Message>Because.</Message></Error>".encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = answer

        def log_message(self, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            endpoint = f"http://127.0.0.1:{server.server_address[1]}"
            yield open_storage("s3://some-bucket/t", {**KEYS, "endpoint": endpoint})
        finally:
            server.shutdown()


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (404, "NoSuchBucket", "there is no bucket 'some-bucket'"),
        (301, "PermanentRedirect", "not in the region us-east-1"),
        (400, "AuthorizationHeaderMalformed", "not in the region us-east-1"),
        (403, "AccessDenied", "access is denied"),
        (400, "ExpiredToken", "has expired"),
        (403, "InvalidAccessKeyId", "credentials are not valid"),
        (403, "SignatureDoesNotMatch", "credentials are not valid"),
        (403, "RequestTimeTooSkewed", "clock of this host"),
        (503, "SlowDown", "slow down"),
        (500, "InternalError", "answered with an error"),
    ],
)
def test_a_sentence_each(status: int, code: str, said: str) -> None:
    with _answering(status, code) as store:
        for call in (
            lambda: store.get("x"),
            # The answer to HEAD has no text; that there is no bucket, it does not say.
            lambda: store.get("x") if status == 404 else store.head("x"),
            lambda: store.list(),
            lambda: store.put_if_absent("x", b"1"),
            lambda: store.put("x", b"1"),
            lambda: hoodoo.open(store.root, {**KEYS, "endpoint": store.place.settings[1][1]}),  # type: ignore[attr-defined]
        ):
            began = time.monotonic()
            with pytest.raises(StorageError, match=said) as caught:
                call()
            assert time.monotonic() - began < 12
            assert "the-secret" not in str(caught.value)
            assert caught.value.fix


@pytest.mark.parametrize(
    ("status", "code", "state"),
    [
        (403, "AccessDenied", "denied"),
        (403, "InvalidAccessKeyId", "denied"),
        (503, "SlowDown", "unreachable"),
    ],
)
def test_a_list_of_tables_tells_what_is_refused(status: int, code: str, state: str) -> None:
    with _answering(status, code) as store, pytest.raises(StorageError) as caught:
        tables_below(store)
    assert TableBelow("s3://some-bucket/t", "t", error=caught.value).state == state


def test_a_store_without_conditional_puts() -> None:
    with (
        _answering(501, "NotImplemented") as store,
        pytest.raises(StorageError, match="does not know conditional puts"),
    ):
        store.put_if_absent("x", b"1")


def test_an_endpoint_that_is_not_there() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # nobody listens
        options = {**KEYS, "endpoint": f"http://127.0.0.1:{unused.getsockname()[1]}"}
        del options[
            "hoodoo.cloud.timeout"
        ]  # a minute, which is not waited for where nothing ever was
        store = open_storage("s3://b/t", options)
        for call in (
            lambda: store.list(),
            lambda: store.put_if_absent("x", b"1"),
            lambda: store.delete_prefix("x"),
            lambda: hoodoo.open("s3://b/t", options),
        ):
            began = time.monotonic()
            with pytest.raises(StorageError, match=r":\d+ refuses connections\. Fix: Start the"):
                call()
            assert time.monotonic() - began < 30


def test_an_endpoint_that_is_silent() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        store = open_storage("s3://b/t", {**KEYS, "endpoint": endpoint})
        for call in (lambda: store.get("x"), lambda: store.put_if_absent("x", b"1")):
            began = time.monotonic()
            with pytest.raises(StorageError, match="gave no answer"):
                call()
            assert time.monotonic() - began < 10


def test_who_waits_for_a_silent_endpoint_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it gives up: what it does, for whom it waits, and for how long it will."""
    monkeypatch.setattr(waiting, "FIRST", 0.1)
    monkeypatch.setattr(waiting, "NEXT", 0.3)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        options = {**KEYS, "endpoint": endpoint}
        store = open_storage("s3://b/t", options)
        for call in (
            lambda: hoodoo.open("s3://b/t", options),
            lambda: store.put_if_absent("x", b"1"),
        ):
            with structlog.testing.capture_logs() as lines, pytest.raises(StorageError):
                call()
            told = [line for line in lines if line["event"] == "store_silent"]
            assert len(told) > 1 and {line["log_level"] for line in told} == {"warning"}
            assert told[0]["object"].startswith("s3://b/t") and told[0]["doing"]
            assert told[0]["waits_for"] == f"an answer of {endpoint}"
            assert told[0]["waited"] >= 0.1 and max(line["waited"] for line in told) >= 0.4
            assert told[0]["gives_up_in"] == pytest.approx(1 - told[0]["waited"], abs=0.11)
            assert "the-secret" not in str(told)


def test_who_is_answered_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error is an answer, too; and a store that has just answered is not watched."""
    monkeypatch.setattr(waiting, "FIRST", 0.5)
    with _answering(403, "AccessDenied") as store, structlog.testing.capture_logs() as lines:
        for _ in range(2):
            with pytest.raises(StorageError):
                store.get("x")
        with pytest.raises(StorageError):
            store.put_if_absent("x", b"1")
    assert not lines


@pytest.mark.parametrize(
    ("uri", "options"),
    [
        ("az://c/t", {"account_name": "a", "account_key": "!!"}),
        ("gs://b/t", {"google_service_account_key": "{}"}),
        ("gs://b/t", {"google_service_account": "/nowhere/key.json"}),
    ],
)
def test_keys_that_cannot_be_read(uri: str, options: dict[str, str]) -> None:
    """At once: nothing was sent."""
    store = open_storage(uri, options)
    for call in (lambda: store.get("x"), lambda: store.head("x"), lambda: store.put("x", b"1")):
        began = time.monotonic()
        with pytest.raises(StorageError, match="credentials can't be read"):
            call()
        assert time.monotonic() - began < 10


@pytest.mark.parametrize("endpoint", ["http://", "http://two words", "ftp://host"])
def test_an_endpoint_that_is_no_url(endpoint: str) -> None:
    with pytest.raises(ConfigError, match="is no URL of a server"):
        open_storage("s3://b/t", {**KEYS, "endpoint": endpoint})


def test_a_bucket_that_is_not_there(server: Server) -> None:
    uri = f"{server.scheme}://b-{uuid4().hex}/t"
    with pytest.raises(StorageError, match="there is no bucket"):
        hoodoo.open(uri, server.options)
    with pytest.raises(StorageError, match="there is no bucket"):
        created(uri, server.options)
