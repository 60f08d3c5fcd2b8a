"""Actions and reports of a table, of any kind that is installed, and undoing writes, which needs no
plugin."""

from __future__ import annotations

from typing import Any, overload

from hoodoo.actions.rollback.recovery import recover
from hoodoo.actions.rollback.run import check, undoable
from hoodoo.actions.rollback.run import rollback as undo
from hoodoo.kernel.resolve import resolve
from hoodoo.model.outcome import RolledBack
from hoodoo.participants.travel import write_of
from hoodoo.table.after_write import call_action
from hoodoo.table.handle import TableHandle
from hoodoo.timeline.snapshot import Snapshot


def run(table: TableHandle, action: Any, /, **options: Any) -> Any:
    """Run ``action``, the name of an installed action or an object: pending work of the action is
    finished, then a new run is planned and run. ``options`` and the result depend on the action;
    ``hoodoo plugins action`` lists all actions.

    Raises PluginError for an unknown name, and CallError for options that the action does not have.

    >>> table.run("compaction").files
    ('oslo/...parquet',)
    """
    return table.run(action, **options)


def schedule(table: TableHandle, action: Any, /, **options: Any) -> str | None:
    """Put a plan of ``action`` on the timeline, and run nothing. Returns the instant of the plan,
    or None if there is nothing to do. Raises ConfigError for an action that cannot be planned."""
    found: str | None = call_action(table, action, "schedule", options)
    return found


def run_planned(table: TableHandle, action: Any, /, instant: str, **options: Any) -> Any:
    """Run the plan ``instant`` of ``action``, from the start or from where an earlier run stopped.
    Raises ConfigError if the plan is not pending."""
    return call_action(table, action, "run_planned", options, instant)


def report(table: TableHandle, name: str, /, **arguments: Any) -> Any:
    """The result of the report ``name`` for the table at this time. Changes nothing. hoodoo-cli
    provides ``timeline``, ``files``, ``stats``, ``layout`` and ``verify``; ``arguments`` are those
    of the report.

    Raises PluginError if no plugin provides the report.
    """
    return resolve("report", name, table.settings).instance.report(table.source(), **arguments)


@overload
def rollback(table: TableHandle) -> tuple[str, ...]: ...


@overload
def rollback(table: TableHandle, instant: str | int) -> RolledBack: ...


def rollback(table: TableHandle, instant: str | int | None = None) -> tuple[str, ...] | RolledBack:
    """Undo failed writes now, not at the next write. Returns the instants that were undone.

    With ``instant``, undo that write: a pending one, or the newest completed one, whose number is
    -1. Raises ConfigError if it is neither, if a savepoint protects it, or if the files that it
    replaced have been cleaned; CommitConflictError if a pending action may depend on it.
    """
    participants = table.participants
    if instant is None:
        before = table.after_writes.instants()
        done = tuple(one.instant for one in recover(table.storage, table.config).done)
        participants.repair()
        table.after_writes.by_hand(before)
        return done
    instant = write_of(table.source(), instant)
    held = participants.before_rollback(instant, lambda: check_rollback(table, instant))
    table.check_writable()
    timeline = table.timeline()
    found = undoable(Snapshot(table.storage, timeline), instant)
    participants.drop_stale()
    undone = undo(Snapshot(table.storage, timeline), found)
    participants.after_rollback(held)
    table.after_writes.by_hand()
    return undone


def check_rollback(table: TableHandle, instant: str | int) -> None:
    """Raises the errors that ``rollback`` of ``instant`` would raise before it changes anything."""
    table.check_writable()
    check(Snapshot(table.storage, table.timeline()), write_of(table.source(), instant))
