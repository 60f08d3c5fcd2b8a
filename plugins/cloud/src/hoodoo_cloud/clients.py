"""Clients of obstore, made once for each process, place and patience."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import obstore
from hoodoo.errors import ConfigError, StorageError
from obstore.store import AzureStore, GCSStore, MemoryStore, S3Store

from hoodoo_cloud.faults import STRANGE, StrangeAnswerError, is_page, may_help, never_sent
from hoodoo_cloud.places import Place

T = TypeVar("T")
_CONNECT = 5.0  # seconds
_PACE = 1 << 20  # bytes in a second that a slow line takes, at least
# Seconds for which a server that never was there is tried: more than one that starts beside us may
# need.
_NEVER_THERE = 3.0
# Of the client's own: where a listing has many pages, one that fails is not a reason to begin anew.
_RETRIES = 3
_lock = threading.Lock()
_clients: dict[tuple[int, Place, bool, int], Any] = {}
_memory: dict[str, MemoryStore] = {}
_answered: set[Place] = set()  # of which an answer came, to this process
_forked: list[
    int
] = []  # of a process whose parent used a store before: the threads of its clients are not there


def _after_fork() -> None:
    if _clients or _memory:
        _forked.append(os.getpid())


os.register_at_fork(after_in_child=_after_fork)


def client(place: Place, retries: bool = False, size: int = 0) -> Any:
    """A client for objects of ``size`` bytes. Without ``retries`` a request is sent once: what
    creates an object has to know the fate of each request that it sent, and others have their own
    :class:`Patience`."""
    if _forked:
        raise StorageError(
            f"{place.cloud} {place.bucket}",
            "this process was forked from one that had used an object store, whose threads it "
            "lacks.",
            "Start new processes: multiprocessing.get_context('spawn').",
        )
    if place.cloud == "memory":
        with _lock:
            return _memory.setdefault(place.bucket, MemoryStore())
    # A request may last longer for more bytes; powers of two, so that there are few clients.
    weight = 0 if size <= 16 << 20 else size.bit_length()
    key = (os.getpid(), place, retries, weight)
    with _lock:
        found = _clients.get(key)
        if found is None:
            try:
                found = _clients[key] = _made(place, retries, (1 << weight) / _PACE)
            except Exception as error:
                raise ConfigError(
                    f"{place.cloud} {place.bucket}",
                    f"can't be reached with these settings: {str(error).splitlines()[0]}",
                    "Correct the options, or the variables of the cloud.",
                ) from None
        return found


class Patience:
    """How long one operation at ``place`` is tried: for its time limit, with ever longer pauses;
    where no connection was ever made, for a few seconds."""

    def __init__(self, place: Place) -> None:
        self._place, self._pause = place, 0.05
        self._began = time.monotonic()

    def again(self, error: Exception) -> bool:
        """After ``error``, and a pause: True; False where the time is over."""
        if not never_sent(error):
            _answered.add(self._place)
        limit = self._place.timeout
        if self._place not in _answered:
            limit = min(limit, _NEVER_THERE)
        if time.monotonic() + self._pause > self._began + limit:
            return False
        time.sleep(self._pause * random.uniform(0.5, 1))
        self._pause = min(2 * self._pause, 5.0)
        return True


def tried(place: Place, call: Callable[[], T], again: Callable[[Exception], bool] = may_help) -> T:
    """What ``call`` reads. ``again``: which errors are worth another attempt."""
    patience = Patience(place)
    while True:
        try:
            found = call()
        except Exception as error:
            if not again(error) or not patience.again(error):
                raise
        else:
            _answered.add(place)
            return found


def delete(place: Place, keys: str | list[str]) -> None:
    """Raises obstore's errors; StrangeAnswerError for an answer about other objects, over which
    obstore falls."""
    try:
        obstore.delete(client(place), keys)
    except Exception:
        raise
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise StrangeAnswerError(STRANGE) from None
        raise


def got(place: Place, key: str, options: Any = None) -> Any:
    """The object ``key``, as obstore gets it. StrangeAnswerError: what came is none, whatever its
    status."""
    try:
        found = obstore.get(client(place), key, options=options)
    except FileNotFoundError as error:
        if is_page(error):
            raise StrangeAnswerError("a page, in HTML, with status 404") from None
        raise
    if found.attributes.get("Content-Type", "").startswith("text/html"):
        raise StrangeAnswerError("a page, in HTML")
    if not found.meta["e_tag"]:
        raise StrangeAnswerError("an object without a tag (ETag)")
    return found


def _made(place: Place, retries: bool, more: float) -> Any:
    limit = place.timeout
    given: dict[str, Any] = {
        "client_options": {
            "connect_timeout": timedelta(seconds=min(_CONNECT, limit)),
            "timeout": timedelta(seconds=limit + more),
            "allow_http": place.plain,
        },
        "retry_config": {
            "max_retries": _RETRIES if retries else 0,
            "retry_timeout": timedelta(seconds=limit),
            "backoff": {
                "init_backoff": timedelta(milliseconds=50),
                "max_backoff": timedelta(seconds=5),
                "base": 2,
            },
        },
    }
    config: Any = dict(place.settings)
    if place.cloud == "s3":
        config.setdefault("region", "us-east-1")
        return S3Store(place.bucket, config=config, **given)
    if place.cloud == "gs":
        return GCSStore(place.bucket, config=config, **given)
    return AzureStore(place.bucket, config=config, **given)
