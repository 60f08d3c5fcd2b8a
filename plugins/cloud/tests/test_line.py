"""A line that is slow, asks to slow down, loses answers or cuts them off: the table is right, in a bounded time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import hoodoo
import pytest
from counted import count
from hoodoo.errors import StorageError
from hoodoo.table.settings import open_storage
from servers import Server
from shaping import CUT, CUT_AFTER, HALF, UPLOAD, Line, Request, Trouble, line_to
from small_tables import created, rows, texts

pytestmark = pytest.mark.sampled(4)

MORE = os.environ.get("HOODOO_TRIALS") in ("more", "all")
TROUBLES = {
    "slow down": Trouble(503, "SlowDown"),
    "too many": Trouble(429, "TooManyRequests"),
    "error": Trouble(500, "InternalError"),
    "error, but done": Trouble(500, "InternalError", after=True),
    "slow down, but done": Trouble(503, "SlowDown", after=True),
    "lost": CUT,
    "lost, but done": CUT_AFTER,
    "half an answer": HALF,
}
KINDS = list(TROUBLES) if MORE else ["slow down", "lost, but done", "half an answer"]


@pytest.fixture
def line(server: Server) -> Iterator[Line]:
    with line_to(server.port) as found:
        yield found


def _place(server: Server, line: Line) -> tuple[str, dict[str, str]]:
    uri = f"{server.bucket(f'b-{uuid4().hex}')}/t"
    return uri, server.through(line.port)


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_over_a_bad_line(server: Server, line: Line, kind: str) -> None:
    """Every third request, and those that repeat it may have the same fate."""
    uri, options = _place(server, line)
    line.rule = lambda request: TROUBLES[kind] if request.number % 3 == 0 else None
    table = created(uri, options)
    table.upsert(rows({1: "a", 2: "a"}, 1))
    table.upsert(rows({1: "b", 3: "b"}, 2))
    table.delete(rows({2: ""}, 3))
    again = hoodoo.open(uri, options)
    assert texts(again) == {1: "b", 3: "b"}
    assert line.troubles > 10
    line.rule = None
    assert not again.verify().findings
    count("trouble at each third request")


def test_a_store_that_only_asks_to_slow_down(server: Server, line: Line) -> None:
    """It is tried again, ever less often, for the time that the user gave; nothing is written."""
    uri, options = _place(server, line)
    table = created(uri, options)
    table.upsert(rows({1: "a"}, 1))
    given = {**options, "hoodoo.cloud.timeout": "2"}
    store: Any = open_storage(uri, given)
    assert store.put_if_absent("warm", b"1")
    line.rule = lambda request: Trouble(503)
    for call in (lambda: store.get("warm"), lambda: store.put_if_absent("x", b"1")):
        before, began = len(line.requests), time.monotonic()
        with pytest.raises(StorageError, match="asks to slow down"):
            call()
        assert time.monotonic() - began < 8
        assert 3 < len(line.requests) - before < 20
    line.rule = None
    assert store.head("x") is None
    assert texts(hoodoo.open(uri, options)) == {1: "a"}


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("times", [1, 1000])
def test_a_meeting_of_requests_is_not_taken_for_a_file(
    server: Server, line: Line, kind: str, times: int
) -> None:
    """409 ConditionalRequestConflict: nothing was written, and it is to be sent again."""
    uri, options = _place(server, line)
    created(uri, options, kind).upsert(rows({1: "a"}, 1))
    left = iter(range(times))

    def rule(request: Request) -> Trouble | None:
        data = request.method == "PUT" and "/.hoodie/" not in request.target
        return (
            Trouble(409, "ConditionalRequestConflict")
            if data and next(left, None) is not None
            else None
        )

    again = hoodoo.open(uri, {**options, "hoodoo.cloud.timeout": "2"})
    line.rule = rule
    new = rows({1: "b", 3: "b"}, 2)
    if times == 1:
        again.upsert(new)
    else:
        with pytest.raises(StorageError, match="status 409, ConditionalRequestConflict"):
            again.upsert(new)
    line.rule = None
    assert line.troubles == times if times == 1 else line.troubles > 3
    found: Any = hoodoo.open(uri, options)
    assert texts(found) == ({1: "b", 3: "b"} if times == 1 else {1: "a"})
    assert not found.verify().findings


def _left(server: Server, uri: str) -> list[str]:
    """All there is in the bucket, uploads that were begun and not ended among it, where the store has such."""
    store: Any = open_storage(uri.rpartition("/")[0] + "/", server.options)
    found = [entry.path for entry in store.list(recursive=True)]
    if server.scheme == "s3":
        import boto3

        client = boto3.client(
            "s3", endpoint_url=server.endpoint, region_name="us-east-1",
            aws_access_key_id="access", aws_secret_access_key="secret-secret",
        )  # fmt: skip
        bucket = uri.split("/")[2]
        found += [u["Key"] for u in client.list_multipart_uploads(Bucket=bucket).get("Uploads", ())]
    return found


def test_a_large_file_whose_upload_is_cut(server: Server, line: Line, tmp_path: Path) -> None:
    """In its middle: it is sent again, and never seen half; where it never gets through, nothing is left of it."""
    uri, options = _place(server, line)
    large = tmp_path / "large"
    large.write_bytes(os.urandom(8 << 20))
    store: Any = open_storage(uri, {**options, "hoodoo.cloud.timeout": "2"})
    store.put_if_absent("warm", b"1")
    cuts = iter([UPLOAD, UPLOAD])
    line.rule = lambda request: next(cuts, None) if request.method == "PUT" else None
    assert store.put_file_if_absent("d/x", str(large))
    assert line.troubles == 2
    with store.open("d/x") as file:
        assert file.read() == large.read_bytes()
    line.rule = lambda request: UPLOAD if request.method == "PUT" else None
    with pytest.raises(StorageError):
        store.put_file_if_absent("d/y", str(large))
    line.rule = None
    assert store.head("d/y") is None
    assert _left(server, uri) == ["t/d/x", "t/warm"]
    assert store.put_file_if_absent("d/y", str(large))
    assert store.head("d/y").size == large.stat().st_size


@pytest.mark.parametrize("lock", ["", "storage_based", "dynamodb"])
def test_a_server_that_ignores_conditions_is_refused(server: Server, line: Line, lock: str) -> None:
    """Before anything is written, whatever lock there is: files of tasks are created without it."""
    header = {"moto": b"if-none-match", "fake-gcs": b"x-goog-if-generation-match"}
    if server.name not in header:
        pytest.skip(f"{server.name} verifies the signature of the header")
    line.ignored = header[server.name]
    uri, options = _place(server, line)
    if lock:
        options["hoodie.write.lock.provider"] = lock
    if lock == "dynamodb":
        options["hoodie.write.lock.dynamodb.table"] = "locks"
    with pytest.raises(StorageError, match="ignores the condition of a conditional put"):
        created(uri, options)
    assert _left(server, uri) == []


def test_each_request_takes_longer(server: Server) -> None:
    with line_to(server.port, delay=0.05) as line:
        uri, options = _place(server, line)
        store = open_storage(uri, options)
        store.put_if_absent("x", b"1")
        began = time.monotonic()
        assert store.get("x") == b"1"
        assert time.monotonic() - began >= 0.05
