"""Queries in SQL of the table that a page shows, in processes of their own: what takes too long, or
too much memory, is ended, and the page stays."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any

from hoodoo.errors import ConfigError, HoodooError, PluginError
from hoodoo.kernel.registry import kernel

MOST_ROWS = 500
SECONDS = 60.0
BYTES = 2 << 30  # of memory
_AT_ONCE = 2
_COMMENTS = re.compile(r"\s*(--[^\n]*(\n|$)|/\*.*?\*/|\s)", re.DOTALL)
_BEGINS = re.compile(r"\(*\s*(select|with)\b", re.IGNORECASE)
_RUN = "import sys; del sys.path[0]; from hoodoo_cli.ui.query_run import main; main()"
_running = threading.BoundedSemaphore(_AT_ONCE)
_SMALLER = "Ask for less: add a condition, or LIMIT; hoodoo sql has no such bounds."


def answer(path: str, options: Mapping[str, str], text: str) -> dict[str, Any]:
    """The rows of a query, as texts: 500 at most, and ``total``, how many there are. In the query
    the table has its own name. Raises ConfigError for what is no query, and where it is ended; and
    what ``hoodoo.sql`` raises."""
    _check(text)
    if kernel().find("function", "sql") is None:
        raise PluginError(
            "a query", "needs hoodoo-statements.", 'pip install "hoodoo-statements[sql]".'
        )
    if not _running.acquire(timeout=1.0):
        raise ConfigError(
            "query", f"{_AT_ONCE} others are running.", "Ask again when they have an answer."
        )
    try:
        return _told(_run(path, options, text))
    finally:
        _running.release()


def _check(text: str) -> None:
    start = 0
    while (found := _COMMENTS.match(text, start)) is not None:
        start = found.end()
    if not _BEGINS.match(text, start):
        raise ConfigError(
            f"query {text.strip()[:40]!r}",
            "is no query, and this page changes nothing.",
            "Begin it with SELECT or WITH; hoodoo sql runs other statements.",
        )


def _run(path: str, options: Mapping[str, str], text: str) -> Any:
    asked = {
        "path": path,
        "options": dict(options),
        "text": text,
        "rows": MOST_ROWS,
        "bytes": BYTES,
    }
    # Not -m, which would import modules of the folder that this process was started in.
    command = [sys.executable, "-c", _RUN]
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    try:
        done = subprocess.run(
            command,
            input=json.dumps(asked).encode(),
            capture_output=True,
            timeout=SECONDS,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        raise ConfigError(
            "query", f"took longer than {SECONDS:g} seconds, and was ended.", _SMALLER
        ) from None
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"failed": None}


def _told(found: Any) -> dict[str, Any]:
    if "failed" not in found:
        answered: dict[str, Any] = found
        return answered
    said = found["failed"]
    if said is None:
        bound = f"{BYTES >> 30} GB of memory"
        raise ConfigError("query", f"needs more than {bound}, and was ended.", _SMALLER)
    raise HoodooError.from_dict(said)
