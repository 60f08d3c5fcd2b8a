"""Observers are told; they decide nothing, not even by failing."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import hoodoo
import pytest
from hoodoo.errors import HoodooWarning
from hoodoo.hookspecs.observer import Event
from hoodoo.kernel import notify
from hoodoo.kernel.discover import Plugin
from hoodoo.kernel.registry import Kernel

EVENT = Event("write.committed", "file:///t", "20240101000000000")


def observer(name: str, function: Callable[..., Any]) -> Plugin:
    function.__name__ = "hoodoo_event"
    marked = SimpleNamespace(hoodoo_event=hoodoo.hookimpl(function))
    return Plugin(name, f"{name}_module", f"{name}-dist", "1.0", marked)


def noting(seen: list[tuple[str, Event]], name: str) -> Plugin:
    def hoodoo_event(event: Event) -> None:
        seen.append((name, event))

    return observer(name, hoodoo_event)


def failing(name: str, calls: list[Event]) -> Plugin:
    def hoodoo_event(event: Event) -> None:
        calls.append(event)
        raise ZeroDivisionError("broken on purpose")

    return observer(name, hoodoo_event)


def test_all_are_told_in_order() -> None:
    seen: list[tuple[str, Event]] = []
    notify(EVENT, using=Kernel([noting(seen, "a"), noting(seen, "b")]))
    assert seen == [("a", EVENT), ("b", EVENT)]


def test_an_observer_may_leave_the_event_out() -> None:
    calls: list[int] = []

    def hoodoo_event() -> None:
        calls.append(1)

    notify(EVENT, using=Kernel([observer("a", hoodoo_event)]))
    assert calls == [1]


def test_a_failing_observer_is_reported_once_and_the_others_are_told() -> None:
    seen: list[tuple[str, Event]] = []
    calls: list[Event] = []
    using = Kernel([failing("a", calls), noting(seen, "b")])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            notify(EVENT, using=using)
    assert len(caught) == 1 and caught[0].category is HoodooWarning
    text = str(caught[0].message)
    for part in ("plugin 'a'", "a-dist 1.0", "write.committed", "ZeroDivisionError", "on purpose"):
        assert part in text
    assert len(seen) == 3 and len(calls) == 3


def test_each_failing_observer_has_its_warning() -> None:
    with pytest.warns(HoodooWarning) as caught:
        notify(EVENT, using=Kernel([failing("a", []), failing("b", [])]))
    assert len(caught) == 2


def test_no_error_even_where_warnings_are_errors() -> None:
    seen: list[tuple[str, Event]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        notify(EVENT, using=Kernel([failing("a", []), noting(seen, "b")]))
    assert len(seen) == 1


def test_an_interrupt_is_not_swallowed() -> None:
    def hoodoo_event(event: Event) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        notify(EVENT, using=Kernel([observer("a", hoodoo_event)]))
