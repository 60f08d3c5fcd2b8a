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
    Event("sort.done", "t"),  # an action that knows nothing of what it did
    Event(
        "write.committed",
        "t",
        "20240101000000000",
        location="file:///data/t",
        run_id="a1",
        duration=1.5,
        files_added=2,
        files_removed=0,
        bytes_written=3,
        rows_inserted=1,
        rows_updated=0,
        rows_deleted=0,
        rows_unmerged=0,
        partitions=("a",),
    ),
    Event("clean.failed", "t", run_id="b2", duration=0.1, error="StorageError", rule="is full."),
    Event("clean.skipped", "t", run_id="c3", duration=0.1),
    Event("nobody.knows.this", "t", "i", {"error": ValueError("text")}),
]


class ObserverContract:
    """Subclass, and answer the fixture ``observe``."""

    @pytest.fixture
    def observe(self) -> Callable[[Event], None]:
        raise NotImplementedError("override the fixture `observe`")

    @pytest.mark.parametrize("event", _EVENTS, ids=lambda e: f"{e.kind}-{e.table}-{len(e.detail)}")
    def test_takes_any_event_and_decides_nothing(
        self, observe: Callable[[Event], None], event: Event
    ) -> None:
        before = copy.copy(dict(event.detail))
        answer: object = observe(event)  # type: ignore[func-returns-value]  # that is the test
        assert answer is None
        assert dict(event.detail) == before
