"""Others who come between the steps of an action, as writers beside each other do.

An action is on the timeline in three steps, in each process: it is requested, it is inflight, and
it is completed. What is done here is done in this process alone, to actions of all tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import Any, Literal
from unittest import mock

from hoodoo.timeline import publish

Step = Literal["request", "inflight", "complete"]


@contextmanager
def around(step: Step, call: Callable[[Callable[[], Any]], Any]) -> Iterator[None]:
    """Each such step is done by ``call``, which gets it as a function and returns what that
    returns.

    Example:
        >>> def slow(step):
        ...     others.upsert(rows)
        ...     return step()
        >>> with around("complete", slow):
        ...     table.upsert(rows)
    """
    real = getattr(publish, step)

    def instead(*args: Any, **named: Any) -> Any:
        return call(lambda: real(*args, **named))

    with mock.patch.object(publish, step, instead):
        yield


@contextmanager
def before(step: Step, others: Callable[[], object]) -> Iterator[list[str]]:
    """``others`` come right before the first such step; then the list that is yielded has its name.

    Raises AssertionError where no action came to the step.
    """
    came: list[str] = []

    def gated(real: Callable[[], Any]) -> Any:
        if not came:
            came.append(step)
            others()
        return real()

    with around(step, gated):
        yield came
    assert came, f"no action came to its step {step!r}"


@contextmanager
def clock(ahead: Callable[[], timedelta]) -> Iterator[None]:
    """The clock that new instants are made of is ahead by what ``ahead`` returns."""
    with mock.patch.object(publish, "_at", lambda now: now or datetime.now(timezone.utc) + ahead()):
        yield
