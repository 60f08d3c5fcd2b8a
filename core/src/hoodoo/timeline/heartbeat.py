"""Heartbeats: whether the writer of a pending instant is still there.

Hudi's file, `.hoodie/.heartbeat/<instant>`: its modification time says when the writer last lived
(HoodieHeartbeatClient). Hoodoo's file also names the process, so that a dead writer on
the same machine is known at once. Ages are differences of the store's own times: clocks of machines
don't matter. A wrong guess costs work, never rows: a writer that was undone can't publish
(timeline/ledger.py).
"""

from __future__ import annotations

import functools
import json
import os
import threading
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from hoodoo.errors import StorageError, StorageUnknownError
from hoodoo.log import get_logger
from hoodoo.storage import processes
from hoodoo.storage.api import Entry, Storage, get_if_there
from hoodoo.storage.processes import process_lives
from hoodoo.storage.together import discard

FOLDER = ".hoodie/.heartbeat"
# Hudi's defaults: hoodie.client.heartbeat.interval_in_ms, .tolerable.misses.
INTERVAL = 60.0
TOLERABLE_MISSES = 2
THREAD = "hoodoo-heartbeat"
_log = get_logger(__name__)


class Beating:
    """Context: keeps the instants that are added alive until its end. An instant is added before it
    is on the timeline, so that nobody meets it there without a heartbeat."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._added: list[str] = []

    def add(self, requested: str) -> bool:
        """False: another writer has this instant, or is about to ask for it. Harmless if repeated.
        Raises StorageError if the store does not take the heartbeat."""
        if requested in self._added:
            return True
        ours = _beats().start(self._storage, requested)
        if ours:
            self._added.append(requested)
        return ours

    def add_ahead(self, requested: str) -> None:
        """Of the instant that will be asked for if nothing comes before it."""
        with suppress(StorageError):  # it is added when its time has come
            self.add(requested)

    def __enter__(self) -> Beating:
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()

    def end(self, left: Sequence[str] = ()) -> None:
        """Stop now, and delete what is ``left`` of the instants besides. Harmless if repeated."""
        added, self._added = self._added, []
        if added or left:
            _beats().stop(self._storage, added, left)


class Liveness:
    """Who lives, as far as one look at the store tells. Costs one listing, and a read for each of
    the instants asked about."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._entries: dict[str, Entry] | None = None

    def is_alive(self, requested: str) -> bool:
        """Whether the writer of the pending instant ``requested`` may still be at work. Without a
        heartbeat there is none."""
        entry = self.look().get(requested)
        if entry is None:
            return False
        if _beats().has(self._storage, requested):
            return True
        try:
            data = self._storage.get(entry.path)
        except FileNotFoundError:
            return False
        owner = decode(data)
        if data and not owner:
            return False  # torn by a dead writer: Hudi's files are empty, Hoodoo's can be parsed
        if owner.get("process") == identity()["process"]:
            return _beats().has(self._storage, requested)
        return may_live(self._storage, owner, entry)

    def sweep(self) -> None:
        """Delete the heartbeats of dead writers."""
        for requested, entry in self.look().items():
            if not self.is_alive(requested):
                self._storage.delete(entry.path)

    def look(self) -> dict[str, Entry]:
        """The heartbeats, listed once."""
        if self._entries is None:
            self._entries = {e.name: e for e in self._storage.list(FOLDER) if not e.is_dir}
        return self._entries


def may_live(storage: Storage, owner: Mapping[str, Any], entry: Entry) -> bool:
    """Whether another process, the ``owner`` of the file ``entry``, may be at work: of this machine
    that is known; elsewhere it may, until it has not renewed the file for some time."""
    if owner.get("host") == identity()["host"]:
        return process_lives(owner)
    interval = owner.get("interval")
    seconds = interval if isinstance(interval, (int, float)) else INTERVAL
    return store_time(storage, FOLDER) - entry.modified <= seconds * TOLERABLE_MISSES


def store_time(storage: Storage, folder: str) -> float:
    """The store's time, in seconds: that of a file which is made for it in ``folder``."""
    probe = f"{folder}/probe-{uuid.uuid4().hex}"
    storage.put(probe, b"")
    found = storage.head(probe)
    storage.delete(probe)
    return found.modified if found else 0.0


def identity() -> dict[str, Any]:
    """This process (:func:`hoodoo.storage.processes.identity`), and how often it renews its
    heartbeats."""
    return {**processes.identity(), "interval": INTERVAL}


def decode(data: bytes) -> dict[str, Any]:
    """The :func:`identity` in a file; empty where there is none."""
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


class _Beats:
    """The instants of this process, and the thread that renews their files."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._alive: dict[tuple[str, str], Storage] = {}
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()

    def start(self, storage: Storage, requested: str) -> bool:
        """False if it is another writer's: whoever ends first would end both."""
        with self._lock:
            if (storage.root, requested) in self._alive:
                return False
            self._alive[storage.root, requested] = storage
            if self._thread is None:
                self._thread = threading.Thread(target=self._renew, name=THREAD, daemon=True)
                self._thread.start()
        ours = False
        try:
            ours = _put_first(storage, requested)
        finally:
            if not ours:
                self._forget(storage, requested)
        return ours

    def stop(self, storage: Storage, stopped: Sequence[str], left: Sequence[str] = ()) -> None:
        """Stop the heartbeats of the instants ``stopped``, and delete their files and those
        ``left`` behind."""
        for requested in stopped:
            self._forget(storage, requested)
        with suppress(StorageError):  # it says nothing without its process
            discard(storage, [*left, *(f"{FOLDER}/{requested}" for requested in stopped)])

    def has(self, storage: Storage, requested: str) -> bool:
        """Return True if this process keeps a heartbeat of the instant."""
        with self._lock:
            return (storage.root, requested) in self._alive

    def _forget(self, storage: Storage, requested: str) -> None:
        with self._lock:
            self._alive.pop((storage.root, requested), None)

    def _renew(self) -> None:
        while not self._wake.wait(INTERVAL):
            with self._lock:
                alive = list(self._alive.items())
            for (_root, requested), storage in alive:
                try:
                    if self.has(storage, requested):
                        storage.put(f"{FOLDER}/{requested}", json.dumps(identity()).encode())
                except Exception as error:  # the next turn may do better
                    _log.warning("heartbeat_failed", instant=requested, error=str(error))


def _put_first(storage: Storage, requested: str) -> bool:
    path, data = f"{FOLDER}/{requested}", json.dumps(identity()).encode()
    with suppress(StorageUnknownError):
        if storage.put_if_absent(path, data):
            return True
    # It may be this process's own: the answer was lost, or a renewal came after an end.
    return storage.put_if_absent(path, data) or get_if_there(storage, path) == data


def _beats() -> _Beats:
    return _beats_of(os.getpid())


@functools.lru_cache(maxsize=2)
def _beats_of(pid: int) -> _Beats:
    """A process that was forked has instants of its own."""
    return _Beats()
