"""Clients of obstore, made once for each process, place and patience."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

from hoodoo.errors import ConfigError, StorageError
from obstore.store import AzureStore, GCSStore, MemoryStore, S3Store

from hoodoo_cloud.faults import cut_off
from hoodoo_cloud.places import Place

T = TypeVar("T")
_CONNECT = 5.0  # seconds
_PACE = 1 << 20  # bytes in a second that a slow line takes, at least
_lock = threading.Lock()
_clients: dict[tuple[int, Place, bool, int], Any] = {}
_memory: dict[str, MemoryStore] = {}
_forked: list[
    int
] = []  # of a process whose parent used a store before: the threads of its clients are not there


def _after_fork() -> None:
    if _clients or _memory:
        _forked.append(os.getpid())


os.register_at_fork(after_in_child=_after_fork)


def client(place: Place, retries: bool = True, size: int = 0) -> Any:
    """A client for objects of ``size`` bytes. Without ``retries`` a request is sent once: what creates an object
    has to know the fate of each request that it sent."""
    if _forked:
        raise StorageError(
            f"{place.cloud} {place.bucket}",
            "this process was forked from one that had used an object store, whose threads it lacks.",
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


def tried(place: Place, call: Callable[[], T], again: Callable[[Exception], bool] = cut_off) -> T:
    """What ``call`` reads. The client itself sends a request again that was not answered; of an answer that was
    cut off in its middle it knows nothing more. ``again``: which errors are worth another attempt."""
    end, pause = time.monotonic() + place.timeout, 0.05
    while True:
        try:
            return call()
        except Exception as error:
            if not again(error) or time.monotonic() + pause > end:
                raise
        time.sleep(pause * random.uniform(0.5, 1))
        pause = min(2 * pause, 5.0)


def _made(place: Place, retries: bool, more: float) -> Any:
    limit = place.timeout
    given: dict[str, Any] = {
        "client_options": {
            "connect_timeout": timedelta(seconds=min(_CONNECT, limit)),
            "timeout": timedelta(seconds=limit + more),
            "allow_http": place.plain,
        },
        "retry_config": {
            "max_retries": 12 if retries else 0,
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
