"""As much of S3 as a table needs, in this process: a bucket that can be put back to what it was, and whose answers a
rule changes, as :class:`~shaping.Line` does before a server of its own. It is small, so that thousands of trials are
cheap; that tables work as they do here is shown by the servers of :mod:`servers`."""

from __future__ import annotations

import hashlib
import http.server
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import formatdate
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

from attrs import define, field, frozen
from shaping import Request, Trouble

_META = "x-amz-meta-"
_PAGE = 1000
Answer = tuple[int, dict[str, str], bytes]


@frozen
class Kept:
    data: bytes
    meta: dict[str, str]
    modified: float
    tag: str


def _error(status: int, code: str) -> Answer:
    body = f"<Error><Code>{code}</Code><Message>No.</Message></Error>".encode()
    return status, {"Content-Type": "application/xml"}, body


@define
class SmallS3:
    """One bucket, ``b``."""

    objects: dict[str, Kept] = field(factory=dict)
    rule: Callable[[Request], Trouble | None] | None = None
    port: int = 0
    count: int = 0
    troubles: int = 0
    lock: Any = field(factory=threading.Lock)

    @property
    def options(self) -> dict[str, str]:
        return {
            "aws_access_key_id": "access", "aws_secret_access_key": "secret-secret",
            "region": "us-east-1", "endpoint": f"http://127.0.0.1:{self.port}",
        }  # fmt: skip

    def answer(
        self, method: str, target: str, headers: Any, body: bytes, refuse: str = ""
    ) -> Answer:
        url = urlsplit(target)
        query = {k: v[0] for k, v in parse_qs(url.query, keep_blank_values=True).items()}
        key = unquote(url.path).partition("/")[2].partition("/")[2]
        with self.lock:
            if "list-type" in query:
                return self._list(query)
            if method == "POST":
                return self._delete(body.decode(), refuse)
            if method == "DELETE":
                self.objects.pop(key, None)
                return 204, {}, b""
            if method == "PUT":
                return self._put(key, headers, body)
            return self._get(key, headers)

    def _put(self, key: str, headers: Any, body: bytes) -> Answer:
        there = self.objects.get(key)
        if headers.get("If-None-Match") == "*" and there is not None:
            return _error(412, "PreconditionFailed")
        wanted = headers.get("If-Match")
        if wanted and (there is None or there.tag != wanted):
            return _error(412, "PreconditionFailed")
        meta = {k.lower(): v for k, v in headers.items() if k.lower().startswith(_META)}
        tag = f'"{hashlib.md5(body).hexdigest()}"'
        self.objects[key] = Kept(body, meta, time.time(), tag)
        return 200, {"ETag": tag}, b""

    def _get(self, key: str, headers: Any) -> Answer:
        found = self.objects.get(key)
        if found is None:
            return _error(404, "NoSuchKey")
        if headers.get("If-Match") not in (None, found.tag):
            return _error(412, "PreconditionFailed")
        said = {
            "ETag": found.tag, "Last-Modified": formatdate(found.modified, usegmt=True),
            "Content-Type": "binary/octet-stream", **found.meta,
        }  # fmt: skip
        part = re.fullmatch(r"bytes=(\d+)-(\d+)", headers.get("Range", ""))
        if part is None:
            return 200, said, found.data
        start, end = int(part[1]), min(int(part[2]) + 1, len(found.data))
        said["Content-Range"] = f"bytes {start}-{end - 1}/{len(found.data)}"
        return 206, said, found.data[start:end]

    def _delete(self, text: str, refuse: str) -> Answer:
        """``refuse``: the first of them, with this code."""
        keys = [unescape(key) for key in re.findall("<Key>(.*?)</Key>", text)]
        refused = ""
        if refuse:
            key = escape(keys.pop(0))
            refused = f"<Error><Key>{key}</Key><Code>{refuse}</Code><Message>No.</Message></Error>"
        for key in keys:
            self.objects.pop(key, None)
        gone = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)
        return 200, {}, f"<DeleteResult>{gone}{refused}</DeleteResult>".encode()

    def _list(self, query: dict[str, str]) -> Answer:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        behind = query.get("continuation-token") or query.get("start-after", "")
        entries: dict[str, str] = {}
        for key in sorted(k for k in self.objects if k.startswith(prefix)):
            rest = key[len(prefix) :]
            if delimiter and delimiter in rest:
                name = prefix + rest.split(delimiter)[0] + delimiter
                text = f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>"
            else:
                name, kept = key, self.objects[key]
                when = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(kept.modified))
                text = (
                    f"<Contents><Key>{escape(key)}</Key><LastModified>{when}</LastModified>"
                    f"<ETag>{escape(kept.tag)}</ETag><Size>{len(kept.data)}</Size></Contents>"
                )
            if name > behind:
                entries.setdefault(name, text)
        names = list(entries)[:_PAGE]
        cut = len(entries) > _PAGE
        token = f"<NextContinuationToken>{escape(names[-1])}</NextContinuationToken>" if cut else ""
        body = (
            f"<ListBucketResult><IsTruncated>{str(cut).lower()}</IsTruncated>{token}"
            f"{''.join(entries[name] for name in names)}</ListBucketResult>"
        )
        return 200, {"Content-Type": "application/xml"}, body.encode()


def _handler(store: SmallS3) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def log_message(self, *_args: Any) -> None:
            pass

        def go(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            store.count += 1
            trouble = (
                store.rule(Request(store.count, self.command, self.path, b""))
                if store.rule
                else None
            )
            store.troubles += trouble is not None
            if trouble is not None and trouble.until is not None:
                trouble.until.wait(60)
                trouble = None
            each = trouble.each if trouble is not None and self.command == "POST" else ""
            if trouble is not None and not trouble.after and trouble.edit is None and not each:
                return self._end(trouble.answer)
            status, headers, said = store.answer(self.command, self.path, self.headers, body, each)
            if each:
                trouble = None
            if trouble is not None and trouble.edit is not None:
                said = trouble.edit(said)
            elif trouble is not None and not trouble.half:
                return self._end(trouble.answer)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if status != 204:
                self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            if trouble is not None and trouble.half:
                return self._end(said[: len(said) // 2])
            if self.command != "HEAD":
                self.wfile.write(said)
            return None

        def _end(self, said: bytes) -> None:
            self.wfile.write(said)
            self.close_connection = True

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = go

    return Handler


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a client that goes away is a part of the trials."""


@contextmanager
def small_s3() -> Iterator[SmallS3]:
    store = SmallS3()
    with _Server(("127.0.0.1", 0), _handler(store)) as server:
        store.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield store
        finally:
            server.shutdown()
