"""Actions and reports of a table, of any kind that is installed, and undoing writes, which needs no plugin."""

from __future__ import annotations

from typing import Any, overload

from hoodoo.actions.rollback.recovery import recover
from hoodoo.actions.rollback.run import check, undoable
from hoodoo.actions.rollback.run import rollback as undo
from hoodoo.kernel.resolve import resolve
from hoodoo.model.outcome import RolledBack
from hoodoo.table.call_action import call_action
from hoodoo.table.handle import TableHandle


def run(table: TableHandle, action: Any, /, **options: Any) -> Any:
    """Do ``action``, of any kind that is installed, or an object of one: what is pending of it is finished, then a
    new one is planned and run. ``options`` and the answer are the action's own; ``hoodoo plugins action`` lists
    what there is.

    Raises PluginError for a name that nobody offers, CallError for options that the action does not have.

    >>> table.run("compaction").files
    ('oslo/...parquet',)
    """
    return table.run(action, **options)


def schedule(table: TableHandle, action: Any, /, **options: Any) -> str | None:
    """Put a plan of ``action`` on the timeline and run nothing; its instant, or None where there is nothing to do.
    ConfigError for an action that is not planned."""
    found: str | None = call_action(table, action, "schedule", options)
    return found


def run_planned(table: TableHandle, action: Any, /, instant: str, **options: Any) -> Any:
    """Run the plan ``instant`` of ``action``, from the start or where an earlier run stopped. ConfigError if it is
    not pending."""
    return call_action(table, action, "run_planned", options, instant)


def report(table: TableHandle, name: str, /, **arguments: Any) -> Any:
    """What the report ``name`` says of the table now; changes nothing. hoodoo-cli brings ``timeline``,
    ``files``, ``stats``, ``layout`` and ``verify``; ``arguments`` are those of the report.

    Raises PluginError where no plugin offers it.
    """
    reporter = resolve("report", name, table.settings).instance
    return reporter.report(table.source(), **arguments)


@overload
def rollback(table: TableHandle) -> tuple[str, ...]: ...


@overload
def rollback(table: TableHandle, instant: str) -> RolledBack: ...


@overload
def rollback(table: TableHandle, instant: str | None) -> tuple[str, ...] | RolledBack: ...


def rollback(table: TableHandle, instant: str | None = None) -> tuple[str, ...] | RolledBack:
    """Undo failed writes now instead of at the next write; the instants that were undone.

    With an ``instant``, undo that one: a pending one, or the newest completed write. Raises
    ConfigError where it is neither, a savepoint keeps it, or what it replaced has been cleaned;
    CommitConflictError while something is pending that may build on it.
    """
    participants = table.participants
    if instant is None:
        recovered = recover(table.storage, table.config)
        done = tuple(one.instant for one in recovered.done)
        participants.repair()
        return done
    held = participants.before_rollback(instant, lambda: check_rollback(table, instant))
    table.check_writable()
    timeline = table.timeline()
    found = undoable(table.storage, timeline, instant)
    participants.drop_stale()
    undone = undo(table.storage, timeline, found)
    participants.after_rollback(held)
    return undone


def check_rollback(table: TableHandle, instant: str) -> None:
    """Raises what :meth:`rollback` of ``instant`` raises before it changes anything."""
    table.check_writable()
    check(table.storage, table.timeline(), instant)
