"""A sign of life of who waits for a store that says nothing: lines in the log, until it fails."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from hoodoo.log import get_logger

from hoodoo_cloud.faults import where_is
from hoodoo_cloud.places import Place

FIRST, NEXT = 5.0, 30.0  # seconds until the first line, and between two
_FRESH = 60.0  # seconds for which a store that has answered is not watched: a thread costs 0.1 ms
_log = get_logger(__name__)
_heard: dict[Place, float] = {}  # when it answered last


@contextmanager
def waiting(place: Place, obj: str, doing: str) -> Iterator[None]:
    """What is done inside waits for an answer of the store at ``place``."""
    began = time.monotonic()
    if place.cloud == "memory" or began - _heard.get(place, -_FRESH) < _FRESH:
        yield
        return
    ended = threading.Event()
    told = threading.Thread(target=_tell, args=(place, obj, doing, began, ended), daemon=True)
    told.start()
    try:
        yield
        _heard[place] = time.monotonic()
    except FileNotFoundError:  # an answer
        _heard[place] = time.monotonic()
        raise
    finally:
        ended.set()


def _tell(place: Place, obj: str, doing: str, began: float, ended: threading.Event) -> None:
    pause = FIRST
    while not ended.wait(pause):
        waited = time.monotonic() - began
        _log.warning(
            "store_silent",
            object=obj,
            doing=doing,
            waits_for=f"an answer of {where_is(place)}",
            waited=round(waited, 1),
            gives_up_in=round(max(0.0, place.timeout - waited), 1),
        )
        pause = NEXT
