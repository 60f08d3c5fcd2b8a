"""Tables that the page shows, and the page of one."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
from hoodoo_cli.ui.server import PageServer
from hoodoo_cli.ui.services import Health
from hoodoo_cli.ui.shown import ShownTable
from hoodoo_rows.testing.tables import Maker

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("ts", pa.int64())])
ODD = "<img src=x onerror=hacked()>"

rows = Maker(SCHEMA, "ts", "city", city=("oslo", "rome"))


def create(path: Path, kind: str = "COPY_ON_WRITE", **more: Any) -> hoodoo.Table:
    given = {"name": "trips", "partition_by": "city", **more}
    return hoodoo.create(
        str(path), SCHEMA, record_key="id", ordering="ts", table_type=kind, **given
    )


@contextmanager
def served(path: Path | str, *health: str) -> Iterator[PageServer]:
    server = PageServer(ShownTable(str(path), {}, tuple(map(Health.at, health))))
    server.start()
    try:
        yield server
    finally:
        server.stop()


def get(server: PageServer, path: str, method: str = "GET", **headers: str) -> tuple[int, Any, Any]:
    """Status, headers, and the answer: a value where it is JSON."""
    asked = urllib.request.Request(
        f"http://127.0.0.1:{server.port}/{path}", method=method, headers=headers
    )
    try:
        answer = urllib.request.urlopen(asked, timeout=600)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        body = answer.read()
        is_json = answer.headers["Content-Type"] == "application/json" and body
        return answer.status, answer.headers, json.loads(body) if is_json else body.decode()


def said(server: PageServer, path: str) -> Any:
    status, _, found = get(server, path)
    assert status == 200, found
    return found
