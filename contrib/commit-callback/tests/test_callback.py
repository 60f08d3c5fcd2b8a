"""Each commit is posted to the URL; a URL that fails loses no commit."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError

ROWS = pa.table({"id": [1, 2], "fare": [1.0, 2.0]})
PREFIX = "hoodie.write.commit.callback"


class Receiver(HTTPServer):
    """Notes headers and body of each request; ``status`` is its answer."""

    def __init__(self) -> None:
        self.got: list[tuple[Any, Any]] = []
        self.status = 200
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/commits"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server: Any = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.got.append((self.headers, body))
        self.send_response(server.status)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def options(url: str, **more: str) -> dict[str, str]:
    return {f"{PREFIX}.on": "true", f"{PREFIX}.http.url": url, **more}


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_each_commit_is_posted(tmp_path: Any, receiver: Receiver, kind: str) -> None:
    headers = {
        f"{PREFIX}.http.custom.headers": "X-Team: data; X-Env:test",
        f"{PREFIX}.http.api.key": "k",
    }
    table = hoodoo.create(
        f"{tmp_path}/t", ROWS.schema, name="rides", record_key="id", table_type=kind,
        options=options(receiver.url, **headers),
    )  # fmt: skip
    first = table.upsert(ROWS)
    second = table.upsert(ROWS)
    assert [body["commitTime"] for _, body in receiver.got] == [first.instant, second.instant]
    sent, body = receiver.got[0]
    assert (sent["HUDI-CALLBACK-KEY"], sent["X-Team"], sent["X-Env"]) == ("k", "data", "test")
    assert (body["tableName"], body["basePath"]) == ("rides", table.handle.storage.root)
    assert body["commitActionType"] == first.action
    assert sum(stat["numInserts"] for stat in body["hoodieWriteStat"]) == 2


def test_commits_of_others_are_not_posted(tmp_path: Any, receiver: Receiver) -> None:
    table = hoodoo.create(f"{tmp_path}/t", ROWS, record_key="id")
    own = hoodoo.open(f"{tmp_path}/t", options(receiver.url))
    table.upsert(ROWS)
    commit = own.upsert(ROWS)
    table.upsert(ROWS)
    own.clean()
    assert [body["commitTime"] for _, body in receiver.got] == [commit.instant]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_url_that_fails_loses_no_commit(tmp_path: Any, receiver: Receiver) -> None:
    table = hoodoo.create(
        f"{tmp_path}/t", ROWS.schema, record_key="id", options=options(receiver.url)
    )
    receiver.status = 503
    with pytest.warns(match="HTTP 503"):
        table.upsert(ROWS)
    assert table.read().count() == 2
    gone = hoodoo.open(f"{tmp_path}/t", options("http://127.0.0.1:9/commits"))
    with pytest.warns(match="did not take commit"):
        gone.upsert(ROWS)
    assert table.read().count() == 2


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({f"{PREFIX}.on": "true"}, "needs an HTTP URL"),
        (options("ftp://x"), "needs an HTTP URL"),
        (options("http://x", **{f"{PREFIX}.http.custom.headers": "none"}), "has no header"),
        (options("http://x", **{f"{PREFIX}.class": "org.example.Mine"}), "Mine"),
    ],
)
def test_wrong_options(tmp_path: Any, wrong: dict[str, str], expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        hoodoo.create(f"{tmp_path}/t", ROWS.schema, record_key="id", options=wrong)
