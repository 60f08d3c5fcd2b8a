"""Actions of a table: any kind by its name, and calls of their own for the usual ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

from hoodoo.actions.rollback.recovery import recover
from hoodoo.actions.rollback.run import rollback as undo
from hoodoo.actions.rollback.run import undoable
from hoodoo.hookspecs.engine import Engine
from hoodoo.model.meta import COMMIT_TIME
from hoodoo.model.outcome import (
    Archived,
    Cleaned,
    PendingClustering,
    Restored,
    RewrittenKeys,
    RolledBack,
)
from hoodoo.table.call_action import call_action, installed_action
from hoodoo.table.handle import TableHandle
from hoodoo.timeline.savepoints import Savepoint
from hoodoo.timeline.savepoints import savepoints as completed_savepoints
from hoodoo.write.commit import Commit


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


# --- compaction -----------------------------------------------------------------------------------
def compact(
    table: TableHandle, strategy: Any = None, *, engine: str | Engine | None = None
) -> Commit:
    """Make base files of the log files of a table that is merged on read; no row changes.

    Pending compactions are finished, then a new one is planned and run. ``strategy`` is a name,
    a Java class or an object; by default ``hoodie.compaction.strategy`` says it. The commit has an
    empty instant where nothing was there to do. Writers may go on meanwhile.
    """
    found: Commit = run(table, "compaction", strategy=strategy, engine=engine)
    return found


def schedule_compaction(table: TableHandle, strategy: Any = None) -> str | None:
    """Plan a compaction; its instant, or None where there is nothing to compact. What somebody began to
    undo, and died, is undone first.

    Raises CommitConflictError in version 6 while a write is under way.
    """
    return schedule(table, "compaction", strategy=strategy)


def run_compaction(
    table: TableHandle, instant: str, *, engine: str | Engine | None = None
) -> Commit:
    """Run a planned compaction, from the start or where an earlier run stopped."""
    found: Commit = run_planned(table, "compaction", instant, engine=engine)
    return found


# --- clustering -----------------------------------------------------------------------------------
def cluster(
    table: TableHandle,
    plan: Any = None,
    order: Any = None,
    *,
    columns: str | Sequence[str] | None = None,
    target_file_size: int | None = None,
    partitions: str | Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
    engine: str | Engine | None = None,
) -> Commit:
    """Rewrite file groups into well-sized, well-sorted ones; no row changes. Writers may go on meanwhile.

    ``plan`` groups files: ``size``, ``key_range``, ``commit_time``, ``overlap``, ``random``, a plugin's name,
    a Java class or an object; ``order`` lays out their rows: ``linear``, ``zorder``, ``hilbert``, ``combine``
    (as they come), or likewise. ``columns``: what is sorted by; ``target_file_size`` in bytes; ``partitions``:
    the partition paths, else those that the options name. ``options``: others, by their keys. What isn't
    given is taken from the table's ``hoodie.clustering.*`` options.

    File slices that a clustering by the same order, columns and target size has made, and nobody has
    written to since, are left alone, and so are base files of the small file limit or more: by default
    no more than the target; given above it, they take part. ``notes`` of the commit say what was left
    out, and why.

    Clusterings that were planned before are run first, but for those that another tool has begun. The
    commit has an empty instant where nothing was there to do. Raises CommitConflictError where a write
    came in that the clustering gives way to.
    """
    found: Commit = run(
        table, "clustering", plan=plan, order=order, columns=columns, options=options,
        target_file_size=target_file_size, partitions=partitions, engine=engine,
    )  # fmt: skip
    return found


def schedule_clustering(
    table: TableHandle,
    plan: Any = None,
    order: Any = None,
    *,
    columns: str | Sequence[str] | None = None,
    target_file_size: int | None = None,
    partitions: str | Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> str | None:
    """Plan a clustering; its instant, or None where nothing is worth it. Runs nothing.

    All that a run goes by is in the plan: it may be run by another process, with other options. Arguments
    as :meth:`cluster` has them, but for an ``order`` that is an object: it could not be found again by what a
    plan can say. Raises ConfigError for bad ones, CommitConflictError while a restore or a rollback is under
    way.
    """
    return schedule(
        table, "clustering", plan=plan, order=order, columns=columns, options=options,
        target_file_size=target_file_size, partitions=partitions,
    )  # fmt: skip


def run_clustering(
    table: TableHandle, instant: str, *, order: Any = None, engine: str | Engine | None = None
) -> Commit:
    """Run a planned clustering, Hoodoo's or another tool's, from the start or where an earlier run stopped.

    ``order``: an object, where the plan was made with one. Raises ConfigError if it is not pending or its
    strategy is not installed; CommitConflictError if another process runs it, or it gives way to a write:
    it is undone then.
    """
    found: Commit = run_planned(table, "clustering", instant, order=order, engine=engine)
    return found


def cancel_clustering(table: TableHandle, instant: str) -> RolledBack:
    """Give a planned clustering up, be it running: nothing of it is left. Raises ConfigError if it is not
    pending."""
    found: RolledBack = installed_action(table, "clustering").cancel(table, instant)
    return found


def clusterings(table: TableHandle) -> tuple[PendingClustering, ...]:
    """The clusterings that are planned and not completed, the oldest first."""
    found: tuple[PendingClustering, ...] = installed_action(table, "clustering").pending(table)
    return found


# --- clean and archive ----------------------------------------------------------------------------
def clean(table: TableHandle, /, policy: Any = None, **settings: Any) -> Cleaned:
    """Delete the files that neither readers of the recent past nor a savepoint need.

    Pending cleans are finished, then a new one is planned and run. ``policy`` is a name or an
    object; by default ``hoodie.clean.policy`` says it. ``settings`` are options of cleaning by the
    end of their name: ``commits_retained=5``, ``reader_window=2``. The answer has an empty instant
    where nothing was there to do. Raises StorageError where a file can't be deleted: clean again.
    """
    found: Cleaned = run(table, "clean", policy=policy, **settings)
    return found


def schedule_clean(table: TableHandle, /, policy: Any = None, **settings: Any) -> str | None:
    """Plan a clean; its instant, or None where there is nothing to delete."""
    return schedule(table, "clean", policy=policy, **settings)


def run_clean(table: TableHandle, instant: str) -> Cleaned:
    """Run a planned clean, from the start or where an earlier run stopped. What has come to be
    needed since it was planned is left."""
    found: Cleaned = run_planned(table, "clean", instant)
    return found


def archive(table: TableHandle) -> Archived:
    """Move the beginning of the active timeline into the archived one, if it has more completed
    writes than ``hoodie.keep.max.commits``. What is needed for reading and cleaning stays."""
    found: Archived = run(table, "archive")
    return found


# --- going back -----------------------------------------------------------------------------------
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
        done = tuple(one.instant for one in recover(table.storage, table.config))
        participants.repair()
        return done
    held = participants.before_rollback(instant)
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
    undoable(table.storage, table.timeline(), instant)


def restore(table: TableHandle, instant: str) -> Restored:
    """Undo everything after the completed write ``instant``, for good: the table is again what
    ``read(as_of=instant)`` shows. Stop other writers first: what they have begun is undone, too.

    Raises ConfigError, with nothing changed, if there is no such write, files that it needs have
    been cleaned (what a savepoint keeps never is), or a later savepoint stands in the way.
    """
    found: Restored = run(table, "restore", instant=instant)
    return found


def schedule_restore(table: TableHandle, instant: str) -> str | None:
    """Plan a restore; its instant, or None where nothing came after ``instant``. From here on no
    write that has begun can complete, and the next writer would finish the restore."""
    return schedule(table, "restore", instant=instant)


def run_restore(table: TableHandle, instant: str) -> Restored:
    """Run the planned restore ``instant``, from the start or where an earlier run stopped."""
    found: Restored = run_planned(table, "restore", instant)
    return found


def check_restore(table: TableHandle, instant: str) -> tuple[str, ...]:
    """The instants that :meth:`restore` would undo now, in that order; changes nothing. Raises what it
    raises before it changes anything."""
    found: tuple[str, ...] = installed_action(table, "restore").check(table, instant)
    return found


# --- savepoints -----------------------------------------------------------------------------------
def savepoint(
    table: TableHandle, instant: str | None = None, comment: str = "", user: str = ""
) -> str:
    """Keep the completed write ``instant``, by default the newest, and its files; its instant.

    Cleaning and archiving leave it alone until it is deleted. Raises ConfigError if there is no
    such write, or some of its files have been cleaned already.
    """
    found: str = run(table, "savepoint", instant=instant, comment=comment, user=user)
    return found


def delete_savepoint(table: TableHandle, instant: str) -> None:
    """Keep ``instant`` no longer; the next clean may take its files."""
    installed_action(table, "savepoint").delete(table, instant)


def savepoints(table: TableHandle) -> tuple[Savepoint, ...]:
    """The savepoints that there are, the oldest first."""
    return completed_savepoints(table.storage, table.timeline())


# --- virtual keys ---------------------------------------------------------------------------------
def enable_virtual_keys(table: TableHandle, kept: Sequence[str] = (COMMIT_TIME,)) -> None:
    """From now on rows don't store their record keys, which are made of their columns (RFC-21).

    Changes the table's properties alone: files that store keys stay, and these are not looked at any
    more. ``kept``: the meta columns that rows store all the same; with all five of them, the keys can
    be made stored ones again. Does nothing where they are virtual already. A record index, which is of
    stored keys, is given up: see docs/virtual-keys.md.

    Raises ConfigError where readers could not make the keys again, or where a stored one differs
    from what its columns say.
    """
    installed_action(table, "rewrite_keys").enable(table, kept)


def rewrite_keys(
    table: TableHandle, virtual: bool = True, *, engine: str | Engine | None = None
) -> RewrittenKeys:
    """Rewrite the files that store record keys although these are virtual; where they are not yet,
    they become so first, as by :meth:`enable_virtual_keys`.

    File group by file group, in commits of a few each: the table can be read and written meanwhile,
    a run that was cut short is begun again, and the old files are there for time travel until they
    are cleaned. Slices with log files are compacted. ``virtual=False`` makes the keys stored ones
    again, if all rows store them: that is the way back for a table that kept all meta columns.

    Raises ConfigError, CommitConflictError where other writers come in between again and again.
    """
    found: RewrittenKeys = run(table, "rewrite_keys", virtual=virtual, engine=engine)
    return found
