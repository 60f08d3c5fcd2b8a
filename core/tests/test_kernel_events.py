"""Observers are told; they decide nothing, not even by failing."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import hoodoo
import pytest
from hoodoo.errors import ConfigError, HoodooWarning
from hoodoo.hookspecs.observer import Event
from hoodoo.kernel import action_events, action_step, events, notify
from hoodoo.kernel.discover import Plugin
from hoodoo.kernel.registry import Kernel
from hoodoo.model.outcome import Figures

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


# --- the life of an action ------------------------------------------------------------------------
@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """The events that observers are told of."""
    found: list[Event] = []
    monkeypatch.setattr(events, "notify", found.append)
    return found


def kinds(told: list[Event]) -> list[str]:
    return [event.kind for event in told]


def test_an_action_has_one_start_and_one_end_with_its_figures(told: list[Event]) -> None:
    with action_events("sort", "t", "file:///t", end="committed", columns=2) as run:
        run.step("planned", files=3)
        run.report(Figures(files_added=1, bytes_written=7), instant="001", notes="n")
    assert kinds(told) == ["sort.started", "sort.planned", "sort.committed"]
    assert len({event.run_id for event in told}) == 1 and told[0].run_id
    end = told[-1]
    assert (end.action, end.step, end.outcome) == ("sort", "committed", "done")
    assert (end.table, end.location, end.instant) == ("t", "file:///t", "001")
    assert (end.files_added, end.bytes_written, end.files_removed) == (1, 7, None)
    assert end.detail == {"columns": 2, "notes": "n"}
    assert end.duration is not None and end.duration >= 0
    assert told[0].duration is None and told[0].outcome == ""


@pytest.mark.parametrize(
    ("error", "rule"),
    [(ConfigError("option x", "is wrong.", "Leave it out."), "is wrong."),
     (ValueError("too many"), "too many"), (KeyboardInterrupt(), "")],
)  # fmt: skip
def test_a_failure_is_told_of_and_goes_on(
    told: list[Event], error: BaseException, rule: str
) -> None:
    with pytest.raises(type(error)) as caught:
        with action_events("sort", "t", "file:///t") as run:
            run.report(instant="001")
            raise error
    assert caught.value is error
    assert kinds(told) == ["sort.started", "sort.failed"]
    end = told[-1]
    assert (end.outcome, end.error, end.rule) == ("failed", type(error).__name__, rule)
    assert end.instant == "001" and end.duration is not None


def test_nothing_to_do_is_an_outcome(told: list[Event]) -> None:
    with action_events("sort", "t", "file:///t") as run:
        run.skip()
    assert [e.outcome for e in told] == ["", "skipped"]


def test_a_quiet_run_is_told_of_only_if_something_happens(told: list[Event]) -> None:
    with action_events("sort", "t", "file:///t", quiet=True) as run:
        run.skip()
    assert told == []
    with action_events("sort", "t", "file:///t", quiet=True):
        pass
    assert kinds(told) == ["sort.done"]
    with pytest.raises(ZeroDivisionError), action_events("sort", "t", "file:///t", quiet=True):
        raise ZeroDivisionError
    assert kinds(told)[1:] == ["sort.failed"]


def test_an_action_that_tells_by_itself_takes_the_place_of_its_caller(told: list[Event]) -> None:
    with action_events("sort", "t", "file:///t"):
        action_step("sort", "scheduled", "t", "file:///t", "001")
        with action_events("sort", "t", "file:///t", "001", end="committed"):
            pass
        with action_events("sort", "t", "file:///t", "002", end="committed"):
            pass
    assert kinds(told) == [
        "sort.started", "sort.scheduled", "sort.committed", "sort.started", "sort.committed",
    ]  # fmt: skip
    assert len({e.run_id for e in told[:3]}) == 1 and told[3].run_id != told[0].run_id


def test_an_error_is_told_of_once(told: list[Event]) -> None:
    with pytest.raises(ZeroDivisionError), action_events("sort", "t", "file:///t"):
        with action_events("sort", "t", "file:///t"):
            raise ZeroDivisionError
    assert kinds(told) == ["sort.started", "sort.failed"]
    told.clear()
    with pytest.raises(ZeroDivisionError), action_events("sort", "t", "file:///t"):
        with action_events("sort", "t", "file:///t"):
            pass
        raise ZeroDivisionError  # what comes after
    assert kinds(told) == ["sort.started", "sort.done", "sort.failed"]


def test_other_actions_and_other_tables_are_runs_of_their_own(told: list[Event]) -> None:
    with action_events("sort", "t", "file:///t"):
        with action_events("sort", "u", "file:///u"), action_events("undo", "t", "file:///t"):
            pass
    assert kinds(told) == [
        "sort.started", "sort.started", "undo.started", "undo.done", "sort.done", "sort.done",
    ]  # fmt: skip


def test_a_scheduled_plan_is_told_of_once(told: list[Event]) -> None:
    with action_events("sort", "t", "file:///t", end="scheduled", quiet=True):
        action_step("sort", "scheduled", "t", "file:///t", "001", files=3)
    with action_events("sort", "t", "file:///t", end="scheduled", quiet=True) as run:
        run.report(instant="002")  # by an action that does not tell of it
    assert [(e.kind, e.instant) for e in told] == [
        ("sort.scheduled", "001"), ("sort.scheduled", "002"),
    ]  # fmt: skip


def test_a_failing_observer_does_not_fail_an_action(monkeypatch: pytest.MonkeyPatch) -> None:
    using = Kernel([failing("a", [])])
    monkeypatch.setattr(events, "kernel", lambda: using)
    with pytest.warns(HoodooWarning) as caught:
        with action_events("sort", "t", "file:///t"):
            pass
    assert len(caught) == 1
