"""What runs at a table now: pending instants with the signs of life of their writers, locks, and
the health of ``hoodoo serve``. Only looks: whether a writer of another host lives is not asked of
the store's clock, which takes a file."""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from attrs import frozen
from hoodoo.errors import ConfigError, HoodooError
from hoodoo.storage.api import Entry, Storage
from hoodoo.storage.processes import identity, process_lives
from hoodoo.timeline import heartbeat
from hoodoo.timeline.instants import to_datetime
from hoodoo.timeline.snapshot import Snapshot

# Where the lock `conditional_put` has its numbered files, a folder for each lock.
LOCKS = ".hoodie/.hoodoo/locks"
_EPOCH = re.compile(r"\d{12}")
_MOST = 100  # pending instants and locks that are looked at
_SECONDS = 1.0  # until a process that serves has to answer
_LARGEST = 1_000_000


def pending(snapshot: Snapshot) -> list[dict[str, Any]]:
    """The instants that are not completed, oldest first. ``writer``: ``lives``, ``gone`` (it has
    ended, or left no sign), ``silent`` or ``seen`` of another host, by how long ago it gave a sign;
    ``planned`` of a service that nobody runs."""
    waiting = snapshot.pending()[:_MOST]
    if not waiting:
        return []
    signs = {e.name: e for e in snapshot.storage.list(heartbeat.FOLDER) if not e.is_dir}
    found = []
    for instant in waiting:
        said = _sign(snapshot.storage, signs.get(instant.requested))
        if said["writer"] == "gone" and instant.traits.is_service:
            said["writer"] = "planned"
        found.append(
            {
                "requested": instant.requested,
                "action": instant.action,
                "state": instant.state.value.lower(),
                "age": _age(instant.requested, snapshot.config.timezone),
                **said,
            }
        )
    return found


def _sign(storage: Storage, entry: Entry | None) -> dict[str, Any]:
    if entry is None:
        return {"writer": "gone", "host": None, "pid": None, "sign": None}
    told = _read(storage, entry.path)
    since = max(0.0, time.time() - entry.modified)
    interval = told.get("interval")
    seconds = interval if isinstance(interval, (int, float)) else heartbeat.INTERVAL
    late = since > seconds * heartbeat.TOLERABLE_MISSES
    return {**_whose(told, late), "sign": round(since, 1)}


def locks(storage: Storage) -> list[dict[str, Any]]:
    """Locks of the kind ``conditional_put`` that somebody holds, such as ``services`` of the
    process that serves."""
    found = []
    for folder in [e for e in storage.list(LOCKS) if e.is_dir][:_MOST]:
        epochs = [e for e in storage.list(folder.path) if _EPOCH.fullmatch(e.name)]
        told = _read(storage, epochs[-1].path) if epochs else {}
        if not told or told.get("free") is True:
            continue
        since = max(0.0, time.time() - epochs[-1].modified)
        validity = told.get("validity")
        late = since > (validity if isinstance(validity, (int, float)) else 300.0)
        found.append({"name": folder.name, **_whose(told, late), "sign": round(since, 1)})
    return found


def _whose(told: Mapping[str, Any], late: bool) -> dict[str, Any]:
    host = str(told.get("host") or "")
    if host and host == identity()["host"]:
        writer = "lives" if process_lives(told) else "gone"
    else:
        writer = "silent" if late else "seen"
    pid = told.get("pid")
    return {
        "writer": writer,
        "host": host.partition("/")[0] or None,
        "pid": pid if isinstance(pid, int) else None,
    }


def _read(storage: Storage, path: str) -> dict[str, Any]:
    try:
        found = json.loads(storage.get(path))
    except (ValueError, RecursionError, FileNotFoundError):
        return {}
    return found if isinstance(found, dict) else {}


def _age(requested: str, zone: str) -> float | None:
    try:
        return round(max(0.0, time.time() - to_datetime(requested, zone).timestamp()), 1)
    except HoodooError:
        return None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_arguments: Any, **_more: Any) -> None:
        """None: who is asked answers by itself."""


@frozen
class Health:
    """The page ``/health`` of a process that serves, at ``url``."""

    url: str

    @classmethod
    def at(cls, url: str) -> Health:
        """ConfigError for what is no http address."""
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
            raise ConfigError(
                f"option --health {url!r}",
                "is no address of hoodoo serve.",
                "Name the one that `hoodoo serve --port` prints, such as "
                "http://127.0.0.1:9400/health.",
            )
        return cls(url)

    def asked(self) -> dict[str, Any]:
        """What it says; ``error`` where it does not answer. 503 is an answer: something is not
        well."""
        opener = urllib.request.build_opener(_NoRedirect)
        opener.addheaders = [("Accept", "application/json")]
        try:
            try:
                with opener.open(self.url, timeout=_SECONDS) as answer:
                    said = json.loads(answer.read(_LARGEST))
            except urllib.error.HTTPError as error:
                with error:
                    said = json.loads(error.read(_LARGEST))
        except (OSError, ValueError, RecursionError) as error:
            return {"url": self.url, "error": f"no answer: {error}"}
        if not isinstance(said, dict) or not isinstance(said.get("tables"), dict):
            return {"url": self.url, "error": "it is no answer of hoodoo serve"}
        return {"url": self.url, "well": said.get("well") is True, "tables": said["tables"]}
