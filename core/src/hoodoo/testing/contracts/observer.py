"""What every observer promises: the contract of the hook ``hoodoo_event`` as tests.

Usage::

    class TestMine(ObserverContract):
        @pytest.fixture
        def observe(self):
            return my_module.hoodoo_event
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from hoodoo.hookspecs.observer import Event

_EVENTS = [
    Event("write.started", "file:///data/trips"),
    Event("write.committed", "file:///data/trips", "20240101000000000", {"inserted": 3}),
    Event("write.committed", "", "", {"event": "a", "table": 1, "instant": None, "x y": {}}),
    Event("nobody.knows.this", "t", "i", {"error": ValueError("text")}),
]


class ObserverContract:
    """Subclass, and answer the fixture ``observe``."""

    @pytest.fixture
    def observe(self) -> Callable[[Event], None]:
        raise NotImplementedError("override the fixture `observe`")

    @pytest.mark.parametrize("event", _EVENTS, ids=lambda e: f"{e.kind}-{len(e.detail)}")
    def test_takes_any_event_and_decides_nothing(
        self, observe: Callable[[Event], None], event: Event
    ) -> None:
        before = copy.copy(dict(event.detail))
        answer: object = observe(event)  # type: ignore[func-returns-value]  # that is the test
        assert answer is None
        assert dict(event.detail) == before
