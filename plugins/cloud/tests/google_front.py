"""What fake-gcs-server lacks of Google's XML API, made of its JSON API: puts with conditions, and lists in pages.

Everything else is passed on as it is. The conditions are judged by the server, not here.
"""

from __future__ import annotations

import http.client
import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit
from xml.sax.saxutils import escape

_BOUNDARY = "between-the-parts"
_META = "x-goog-meta-"
_ANSWERED = ("content-type", "etag", "last-modified", "content-range", "x-goog-generation")


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    upstream = 0

    def _ask(
        self, method: str, target: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> tuple[http.client.HTTPResponse, bytes]:
        line = http.client.HTTPConnection("127.0.0.1", self.upstream, timeout=60)
        try:
            line.request(method, target, body or None, headers or {})
            found = line.getresponse()
            return found, found.read()
        finally:
            line.close()

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        bucket, _, name = urlsplit(self.path).path[1:].partition("/")
        said = {"name": unquote(name), "metadata": {
            key[len(_META):]: value for key, value in self.headers.items()
            if key.lower().startswith(_META)
        }}  # fmt: skip
        query = {"uploadType": "multipart", "name": unquote(name)}
        if condition := self.headers.get("x-goog-if-generation-match"):
            query["ifGenerationMatch"] = condition
        parts = (
            ("application/json", json.dumps(said).encode()),
            ("application/octet-stream", data),
        )
        body = b"".join(
            b"--%b\r\nContent-Type: %b\r\n\r\n%b\r\n" % (_BOUNDARY.encode(), kind.encode(), text)
            for kind, text in parts
        )
        found, text = self._ask(
            "POST", f"/upload/storage/v1/b/{bucket}/o?{urlencode(query)}",
            body + b"--%b--\r\n" % _BOUNDARY.encode(),
            {"Content-Type": f"multipart/related; boundary={_BOUNDARY}"},
        )  # fmt: skip
        if found.status != 200:
            return self._answer(found.status, text, {})
        made = json.loads(text)
        self._answer(
            200, b"", {"ETag": f'"{made["etag"]}"', "x-goog-generation": made["generation"]}
        )

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        bucket, _, name = url.path[1:].partition("/")
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        if name:
            return self._object(self.path)
        asked = {"maxResults": query.get("max-keys", "1000")}
        for theirs, ours in (
            ("prefix", "prefix"), ("delimiter", "delimiter"), ("continuation-token", "pageToken"),
        ):  # fmt: skip
            if theirs in query:
                asked[ours] = query[theirs]
        found, text = self._ask("GET", f"/storage/v1/b/{bucket}/o?{urlencode(asked)}")
        if found.status != 200:
            return self._answer(found.status, text, {})
        page = json.loads(text)
        inside = "".join(
            f"<Contents><Key>{escape(one['name'])}</Key><LastModified>{one['updated']}</LastModified>"
            f"<ETag>{one['etag']}</ETag><Size>{one.get('size', 0)}</Size></Contents>"
            for one in page.get("items", ())
        )
        inside += "".join(
            f"<CommonPrefixes><Prefix>{escape(one)}</Prefix></CommonPrefixes>"
            for one in page.get("prefixes", ())
        )
        if token := page.get("nextPageToken"):
            inside += f"<NextContinuationToken>{escape(token)}</NextContinuationToken>"
        listed = (
            f"<?xml version='1.0' encoding='UTF-8'?><ListBucketResult>{inside}</ListBucketResult>"
        )
        self._answer(200, listed.encode(), {"Content-Type": "application/xml"})

    do_HEAD = do_DELETE = do_GET

    def _object(self, target: str) -> None:
        bucket, _, name = urlsplit(target).path[1:].partition("/")
        passed = {
            key: value for key, value in self.headers.items()
            if key.lower() in ("range", "if-match", "if-none-match")
        }  # fmt: skip
        if self.command == "DELETE":
            target = f"/storage/v1/b/{bucket}/o/{quote(unquote(name), safe='')}"
        found, body = self._ask(self.command, target, headers=passed)
        headers = {
            key: value for key, value in found.headers.items()
            if key.lower() in _ANSWERED or key.lower().startswith(_META)
        }  # fmt: skip
        if self.command == "HEAD":
            headers["Content-Length"] = found.headers.get("Content-Length") or "0"
        self._answer(found.status, body, headers)

    def log_message(self, *args: Any) -> None:
        pass


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


@contextmanager
def google_front(upstream: int) -> Iterator[int]:
    """The port of it, before the server on the port ``upstream`` of loopback."""
    handler = type("Handler", (_Handler,), {"upstream": upstream})
    with _Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
