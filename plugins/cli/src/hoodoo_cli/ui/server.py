"""The pages over HTTP: their files, and what they ask for as JSON. They change nothing. Without a
token, questions of this machine alone have an answer."""

from __future__ import annotations

import hmac
import ipaddress
import json
import socket
import threading
from collections.abc import Callable, Mapping
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from attrs import define, field
from hoodoo.errors import ConfigError, HoodooError, NotATableError, PluginError, SchemaError

from hoodoo_cli.ui.shown import ShownTable
from hoodoo_cli.ui.tables import ManyTables

_KINDS = {
    "index.html": "text/html; charset=utf-8",
    "many.html": "text/html; charset=utf-8",
    "many.js": "text/javascript; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "parts.js": "text/javascript; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
# Nothing from elsewhere, no text of a table as a script, in no frame.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

IDLE = 30.0  # seconds for which a connection may say nothing
Query = Mapping[str, str]
Route = Callable[[Query], Any]
_NONE: Mapping[str, str] = {}
_OTHERS = ("cross-site", "same-site")  # pages of other hosts, and of other ports
_ADDRESS = "Open the address that hoodoo ui has printed."


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches ``host``."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@define
class PageServer:
    """Answers at ``host`` and ``port`` (0: any free one) from :meth:`start` to :meth:`stop`. With a
    ``token``, those alone who have it: in the address, from then on in a cookie, or as a bearer."""

    shown: ShownTable | ManyTables
    host: str = "127.0.0.1"
    port: int = 0
    token: str = ""
    _server: ThreadingHTTPServer | None = field(default=None, init=False)

    def start(self) -> str:
        """Begin to answer; the address of the page. ConfigError where the port is taken or the
        address is not of this machine."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            server_version, sys_version = "hoodoo", ""
            timeout = IDLE  # of the socket, which its base class reads

            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
                if not outer._allows(self.headers.get("Host", "")):
                    self._say(403, _refusal("host", "this page is for this machine"))
                elif outer.token and _same(query.pop("token", ""), outer.token):
                    self._move(f"{parts.path}?{urlencode(query)}" if query else parts.path)
                elif outer.token and not outer._knows(self.headers):
                    self._say(401, _refusal("token", "is missing, or another one", _ADDRESS))
                elif "/api/" in parts.path and self.headers.get("Sec-Fetch-Site") in _OTHERS:
                    # It would see no answer, but a query costs time and memory.
                    self._say(403, _refusal("page", "another page asks", _ADDRESS))
                else:
                    self._page(parts.path.lstrip("/"), query)

            def _page(self, name: str, query: Query) -> None:
                try:
                    routes, name, start = outer._place(name)
                except NotATableError as error:
                    return self._say(404, error.to_dict())
                name = name or start
                if name in _KINDS:
                    body = files("hoodoo_cli.ui").joinpath("page").joinpath(name).read_bytes()
                    self._send(200, _KINDS[name], body)
                elif name in routes:
                    self._say(*_answer(routes[name], query))
                else:
                    self._say(404, _refusal(urlsplit(self.path).path, "there is nothing here"))

            def _move(self, path: str) -> None:
                """To the address without the token, which no history and no log shall have."""
                cookie = f"{outer._cookie}={outer.token}; Path=/; HttpOnly; SameSite=Lax"
                where = "/" + path.lstrip("/\\")  # never to another host
                self._send(303, "text/plain", b"", {"Location": where, "Set-Cookie": cookie})

            do_HEAD = do_GET

            def _say(self, status: int, value: Any) -> None:
                self._send(status, "application/json", json.dumps(value).encode())

            def _send(
                self, status: int, kind: str, body: bytes, more: Mapping[str, str] = _NONE
            ) -> None:
                self.send_response(status)
                headers = {**_HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}
                headers.update(more)
                for key, value in headers.items():
                    self.send_header(key, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Nothing: a question every few seconds is no news."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            address_family = socket.AF_INET6 if ":" in self.host else socket.AF_INET

            def handle_error(self, request: Any, client_address: Any) -> None:
                """Nothing: a browser that closes a page before it has the answer is no error."""

        try:
            self._server = Server((self.host, self.port), Handler)
        except (OSError, OverflowError) as error:
            raise ConfigError(
                f"address {self.host}, port {self.port}",
                f"can't be listened at: {error}.",
                "Give another --port; 0 takes any that is free.",
            ) from None
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, name="ui", daemon=True).start()
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}/" + (f"?token={self.token}" if self.token else "")

    def stop(self) -> None:
        """End; harmless where it has not begun."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        if isinstance(self.shown, ManyTables):
            self.shown.stop()

    def _allows(self, host: str) -> bool:
        """Whether a request names this machine: a page of elsewhere whose name leads here does not
        (DNS rebinding). Who has the token may come by any name, such as that of a proxy."""
        if self.token:
            return True
        name = urlsplit(f"//{host}").hostname or ""
        if is_loopback(name) or name == self.host:
            return True
        if is_loopback(self.host):
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in (socket.gethostname().lower(), socket.getfqdn().lower())
        return True

    def _knows(self, headers: Message) -> bool:
        """Whether the question has the token."""
        kind, _, bearer = headers.get("Authorization", "").partition(" ")
        if kind.lower() == "bearer" and _same(bearer.strip(), self.token):
            return True
        pairs = (one.strip().partition("=") for one in headers.get("Cookie", "").split(";"))
        return any(name == self._cookie and _same(value, self.token) for name, _, value in pairs)

    @property
    def _cookie(self) -> str:
        return f"hoodoo_ui_{self.port}"  # cookies are of a host, whatever the port

    def _place(self, name: str) -> tuple[Mapping[str, Route], str, str]:
        """What can be asked for below ``name``, the rest of it, and the page that is there."""
        if isinstance(self.shown, ShownTable):
            return _of_table(self.shown), name, "index.html"
        folder, _, rest = name.partition("/")
        if folder != "table":
            tables = self.shown
            routes = {"api/tables": lambda query: tables.tables(query.get("mark", ""))}
            return routes, name, "many.html"
        number, slash, rest = rest.partition("/")
        return _of_table(self.shown.table(number)), rest if slash else "/", "index.html"


def _of_table(table: ShownTable) -> Mapping[str, Route]:
    return {
        "api/live": lambda query: table.live(),
        "api/table": lambda query: table.table(),
        "api/stats": lambda query: table.stats(),
        "api/files": lambda query: table.files(),
        "api/timeline": lambda query: table.timeline(
            _number(query, "limit", 50), query.get("archived") == "1"
        ),
        "api/partitions": lambda query: table.partitions(
            query.get("order", "partition"),
            _number(query, "limit", 50),
            _number(query, "offset", 0),
            query.get("prefix", ""),
        ),
        "api/layout": lambda query: table.layout(_text(query, "column"), query.get("partition")),
        "api/commit": lambda query: table.commit(_text(query, "instant"), _text(query, "action")),
        "api/rows": lambda query: table.rows(_number(query, "limit", 20), query.get("where", "")),
        "api/sql": lambda query: table.sql(_text(query, "text")),
    }


def _refusal(obj: str, rule: str, fix: str = "") -> dict[str, str]:
    return {"obj": obj, "rule": rule, "fix": fix}


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())


def _answer(route: Route, query: Query) -> tuple[int, Any]:
    try:
        return 200, route(query)
    except NotATableError as error:
        return 404, error.to_dict()
    except (ConfigError, SchemaError) as error:
        return 400, error.to_dict()
    except PluginError as error:
        return 501, error.to_dict()
    except HoodooError as error:
        return 503, error.to_dict()
    except FileNotFoundError as error:
        return 503, {
            "error": "FileNotFoundError",
            "obj": str(error.filename or error),
            "rule": "it was there a moment ago",
            "fix": "It is looked for again by itself.",
        }
    except Exception as error:  # the page goes on to show what it can
        return 500, {"error": type(error).__name__, "obj": "page", "rule": str(error), "fix": ""}


def _number(query: Query, name: str, default: int) -> int:
    text = query.get(name, str(default))
    try:
        return int(text)
    except ValueError:
        raise ConfigError(f"{name} {text!r}", "is no number.", "Give a whole number.") from None


def _text(query: Query, name: str) -> str:
    if not query.get(name):
        raise ConfigError(name, "is missing.", f"Add ?{name}=...")
    return query[name]
