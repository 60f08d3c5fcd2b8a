"""Together: operations that do not wait for each other, at the same time where each waits for a network."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from hoodoo.storage.api import Storage


def at_once(storage: Storage) -> int:
    """How many operations it is worth to have under way at the same time: one, unless the store has an attribute
    ``at_once``. A disk answers faster than a thread starts."""
    return int(getattr(storage, "at_once", 1))


def together(storage: Storage, *calls: Callable[[], Any]) -> list[Any]:
    """What each of ``calls`` answers; none may depend on another one. In their order, one after another, on a store
    that does one at a time. All have ended when this returns; the first error, in their order, is raised then."""
    most = min(at_once(storage), len(calls))
    if most < 2:
        answers = []
        for call in calls:
            answers.append(call())
        return answers
    with ThreadPoolExecutor(most) as pool:
        running = [pool.submit(call) for call in calls]
    return [future.result() for future in running]
