"""Run of an action on a table, as observers are told of it, whatever kind of action it is."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

from hoodoo.kernel.events import ActionEvents, action_events
from hoodoo.model.outcome import Archived, Cleaned, Figures, Restored, RolledBack
from hoodoo.write.commit import Commit

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
    can: an action's outcome says what it did, and one whose ``instant`` is empty did nothing."""
    if plans:
        instant: Any = answer or ""
    else:
        instant = (
            answer.restore if isinstance(answer, Restored) else getattr(answer, "instant", None)
        )
    events.report(_figures(answer), instant=instant if isinstance(instant, str) else None)
    if instant == "" or (isinstance(answer, Archived) and not answer.instants):
        events.skip()
    return answer


def _figures(answer: Any) -> Figures:
    if isinstance(answer, Commit):
        return Figures(
            files_added=len(answer.files), rows_inserted=answer.inserted,
            rows_updated=answer.updated, rows_deleted=answer.deleted,
        )  # fmt: skip
    if isinstance(answer, Cleaned | Restored | RolledBack):
        return Figures(files_removed=len(answer.files))
    return Figures()
