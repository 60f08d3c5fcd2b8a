"""Run of an action on a table, as observers are told of it, whatever kind of action it is."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

from hoodoo.kernel.events import ActionEvents, action_events

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle

A = TypeVar("A")
# What no plugin of the family `action` does, as events name it.
PARTICIPANT_SERVICE = "participant_service"


def action_run(
    table: TableHandle, action: str, instant: str = "", *, end: str = "done", quiet: bool = False
) -> AbstractContextManager[ActionEvents]:
    """What is done inside is a run of ``action`` on ``table``. An action that tells of its runs by itself is not
    told of twice."""
    name, root = table.config.name, table.storage.root
    return action_events(action, name, root, instant, end=end, quiet=quiet)


def answered(events: ActionEvents, answer: A, plans: bool = False) -> A:
    """``answer`` (the instant of a plan or None, if it ``plans``), from which the last event of the run gets what it
    can: its ``figures`` say what was done, and one whose ``instant`` is empty did nothing."""
    instant: Any = (answer or "") if plans else getattr(answer, "instant", None)
    figures: Any = getattr(answer, "figures", None)
    done: Any = figures if isinstance(figures, dict) else None
    events.report(done, instant=instant if isinstance(instant, str) else None)
    if instant == "":
        events.skip()
    return answer
