"""Waiting for a lock: asking again, ever more seldom, out of step with others."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
# Decisions take milliseconds, so the first answers come soon; a turn may take minutes.
_FIRST, _LONGEST, _GROWTH = 0.002, 0.25, 1.5


def poll(attempt: Callable[[], T | None], wait: float) -> T | None:
    """What ``attempt`` answers first that is not None; None after ``wait`` seconds. It is asked at
    least once, and a last time at the end."""
    end = time.monotonic() + wait
    pause = _FIRST
    while (found := attempt()) is None:
        left = end - time.monotonic()
        if left <= 0:
            return None
        time.sleep(min(left, pause * random.uniform(0.5, 1.5)))
        pause = min(pause * _GROWTH, _LONGEST)
    return found
