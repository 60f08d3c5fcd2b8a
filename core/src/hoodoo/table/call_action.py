"""A call of an action, by its name or of an object, with the options that somebody gave."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

from hoodoo.calls import refuse_options
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.action import Schedules
from hoodoo.kernel.answers import plain
from hoodoo.kernel.events import ActionEvents, action_events
from hoodoo.kernel.resolve import resolve
from hoodoo.table.settings import check_engine

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle

A = TypeVar("A")
# What no plugin of the family `action` does, as events name it.
PARTICIPANT_SERVICE = "participant_service"


def action_run(
    table: TableHandle, action: str, instant: str = "", *, end: str = "done", quiet: bool = False
) -> AbstractContextManager[ActionEvents]:
    """Report what is done inside as a run of ``action`` on ``table``. A run that the action reports
    itself is not reported twice."""
    name, root = table.config.name, table.storage.root
    return action_events(action, name, root, instant, end=end, quiet=quiet)


def answered(events: ActionEvents, answer: A, plans: bool = False) -> A:
    """``answer`` (the instant of a plan or None, if it ``plans``), from which the last event of the
    run gets what it can: its ``figures`` say what was done, and one whose ``instant`` is empty did
    nothing."""
    instant: Any = (answer or "") if plans else getattr(answer, "instant", None)
    figures: Any = getattr(answer, "figures", None)
    done: Any = figures if isinstance(figures, dict) else None
    events.report(done, instant=instant if isinstance(instant, str) else None)
    if instant == "":
        events.skip()
    return answer


# A plan that is not made, as there is nothing to do, is nothing to tell of.
_TOLD: dict[str, Any] = {"schedule": {"end": "scheduled", "quiet": True}}


def installed_action(table: TableHandle, name: str) -> Any:
    """The object of an action, for members that only it has. PluginError where nobody offers it."""
    return resolve("action", name, table.settings).instance


def call_action(
    table: TableHandle, action: Any, member: str, arguments: Mapping[str, Any], *planned: str
) -> Any:
    """What ``member`` of ``action`` answers: ``run``, ``schedule``, or ``run_planned`` with the
    instant of the plan.

    Raises PluginError for an action that nobody offers, ConfigError for one that is never planned,
    CallError for options that it does not have or that are missing.
    """
    resolved = resolve("action", action, table.settings)
    found = resolved.instance
    name = action if isinstance(action, str) else type(plain(action)).__name__
    if member != "run" and not isinstance(found, Schedules):
        raise ConfigError(
            f"action {name}", "runs at once and can't be planned.", f"Run it: table.run({name!r})."
        )
    does = getattr(found, member)
    shown = repr(action) if isinstance(action, str) else name
    call = ", ".join([f"table.{member}({shown}", *map(repr, planned)])
    refuse_options(call, getattr(plain(found), member), 1 + len(planned), arguments)
    check_engine(arguments.get("engine"))
    kind = resolved.ref.name if isinstance(action, str) else name
    before = None if member == "schedule" else table.after_writes.instants()
    with action_run(table, kind, *planned, **_TOLD.get(member, {})) as events:
        done = answered(events, does(table, *planned, **arguments), plans=member == "schedule")
    if member != "schedule":
        table.after_writes.by_hand(before)
    return done
