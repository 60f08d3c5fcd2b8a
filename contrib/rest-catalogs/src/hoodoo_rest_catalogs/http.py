"""Calls of a catalog over HTTP: bounded in time, repeated where that is harmless, and answers that
say no as errors that tell what is missing from what may not be seen."""

from __future__ import annotations

import http.client
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from attrs import Factory, frozen
from hoodoo.hookspecs.registration import Settings
from hoodoo_catalogs.hookspecs.catalog import CatalogError

from hoodoo_rest_catalogs.plugin import TIMEOUT, TLS, TOKEN

_HERE = ("localhost", "127.0.0.1", "[::1]")
_TRIES, _PAUSE, _LONGEST = 3, 0.1, 2.0
_LATER = (429, 503)  # the server has done nothing
_FAILED = (500, 502, 504)  # it may have done it
MISSING, EXISTS, CHANGED = 404, 409, 412


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The token is for this server alone."""

    def redirect_request(self, *given: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirect)


@frozen
class Answer:
    """``body``: of JSON; empty where there is none. ``tag``: its ETag."""

    status: int
    body: Mapping[str, Any] = Factory(dict)
    tag: str = ""

    @property
    def said(self) -> str:
        """What it says of an error."""
        error = self.body.get("error")
        found = error if isinstance(error, Mapping) else self.body
        kind = found.get("type") or found.get("error_code") or found.get("status")
        return ": ".join(str(part) for part in (kind, found.get("message")) if part)


@frozen
class Server:
    """``title``: what it is called in messages. ``uri``: as users write the catalog. ``base``: the
    URL that paths are below. ``token``: asked for at each call. ``rights``: what a user needs."""

    title: str
    uri: str
    base: str
    timeout: float
    token: Callable[[], str | None]
    rights: str = ""

    def call(
        self,
        method: str,
        *path: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        form: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        refused: tuple[int, ...] = (),
    ) -> Answer:
        """``path``: its parts, not yet quoted. ``body``: sent as JSON; ``form``: sent as a form,
        without the token, which is what it asks for. The answer, also one whose status is among
        ``refused``. CatalogError for other ones that say no, and if there is none."""
        url = self.base + "".join(f"/{quote(part, safe='')}" for part in path)
        if query:
            url += f"?{urlencode(query)}"
        what = f"{self.title}, {method} {'/'.join(path)}"
        said = {"Accept": "application/json", **(headers or {})}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            said["Content-Type"] = "application/json"
        if form is not None:
            data = urlencode(form).encode()
        elif token := self.token():
            said["Authorization"] = f"Bearer {token}"
        request = urllib.request.Request(url, data, said, method=method)
        answer = self._tried(request, what, repeats=method != "POST")
        if answer.status < 300 or answer.status in refused:
            return answer
        raise self.error(what, answer)

    def pages(
        self, *path: str, key: str, token: tuple[str, str], query: Mapping[str, str] | None = None
    ) -> Iterator[Any]:
        """The items under ``key`` of all pages. ``token``: of the next page, as answers call it and
        as it is asked for. None of a place that is missing."""
        asked = dict(query or {})
        while True:
            answer = self.call("GET", *path, query=asked, refused=(MISSING,))
            yield from answer.body.get(key) or ()
            following = answer.body.get(token[0])
            if not following:
                return
            asked[token[1]] = str(following)

    def error(self, what: str, answer: Answer) -> CatalogError:
        """Of an answer that says no."""
        rule = f"HTTP {answer.status}{f', {answer.said}' if answer.said else ''}."
        if answer.status in (401, 403):
            fix = f"The entry may exist: give the user of this token the right to it{self.rights}."
        elif answer.status == MISSING:
            fix = "Check the name, and that the catalog and the schema are there."
        elif answer.status in (*_LATER, *_FAILED):
            fix = "The server is busy, or fails: the next commit, or table.sync(), repeats it."
        else:
            fix = f"Check that {self.uri} is the address of {self.title}."
        return CatalogError(what, rule, fix)

    def _tried(self, request: urllib.request.Request, what: str, repeats: bool) -> Answer:
        for number in range(_TRIES):
            last = number == _TRIES - 1
            try:
                with _opener.open(request, timeout=self.timeout) as found:
                    return Answer(found.status, _parsed(found.read()), found.headers["ETag"] or "")
            except urllib.error.HTTPError as error:
                with error:
                    again = error.code in _LATER or (repeats and error.code in _FAILED)
                    if last or not again:
                        return Answer(error.code, _parsed(error.read()))
            except (OSError, http.client.HTTPException, ValueError) as error:
                if last or not repeats:
                    raise CatalogError(
                        what,
                        f"{self.uri} does not answer ({type(error).__name__}: {error}).",
                        "Check the address, the network, and that the server is there.",
                    ) from error
            time.sleep(min(_PAUSE * 4**number, _LONGEST))
        raise AssertionError("the last try answers or raises")


def _parsed(data: bytes) -> Mapping[str, Any]:
    if not data.strip():
        return {}
    try:
        found = json.loads(data)
    except ValueError:  # a page of a proxy
        return {"message": data[:200].decode("utf-8", "replace").strip()}
    return found if isinstance(found, dict) else {}


def server(
    settings: Settings, title: str, uri: str, path: str, host: str = "", rights: str = ""
) -> Server:
    """The server of the catalog at ``uri``. ``path``: of its API. ``host``: where ``uri`` has
    none."""
    where = uri.partition("://")[2].strip("/") or host
    name = where.rpartition(":")[0] or where
    secure = TLS.given(settings.options)
    secure = name not in _HERE if secure is None else secure
    base = f"http{'s' if secure else ''}://{where}{path}"
    token = TOKEN.given(settings.options) or os.environ.get("HOODOO_CATALOG_TOKEN")
    wait = TIMEOUT.read(settings.options)
    return Server(title, uri, base, wait, lambda: token, rights)
