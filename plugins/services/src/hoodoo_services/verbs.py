"""Calls of their own for the actions of this distribution: they become methods of
:class:`hoodoo.Table`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import pyarrow as pa
from hoodoo.hookspecs.engine import Engine
from hoodoo.model.findings import Progress, silent
from hoodoo.model.meta import COMMIT_TIME
from hoodoo.participants.travel import write_of
from hoodoo.table.handle import TableHandle
from hoodoo.table.opened import installed_action
from hoodoo.table.running import run, run_planned, schedule
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_rows.api import Commit

from hoodoo_services.outcome import (
    Archived,
    Cleaned,
    Comparison,
    Restored,
    Rewritten,
    RewrittenKeys,
)
from hoodoo_services.rewrite import RewriteOrder
from hoodoo_services.savepoints import Savepoint
from hoodoo_services.savepoints import savepoints as completed_savepoints


# --- compaction -----------------------------------------------------------------------------------
def compact(
    table: TableHandle, strategy: Any = None, *, engine: str | Engine | None = None
) -> Commit:
    """Write new base files from the log files of a merge-on-read table. No row changes, and writers
    can continue.

    Pending compactions are finished, then a new one is planned and run. ``strategy`` is a name, a
    Java class name or an object; the default is ``hoodie.compaction.strategy``. If there is nothing
    to do, the commit has an empty instant."""
    found: Commit = run(table, "compaction", strategy=strategy, engine=engine)
    return found


def schedule_compaction(table: TableHandle, strategy: Any = None) -> str | None:
    """Plan a compaction. Returns its instant, or None if there is nothing to compact. If a process
    died during a rollback, that rollback is finished first.

    Raises CommitConflictError in version 6 if a write is in progress.
    """
    return schedule(table, "compaction", strategy=strategy)


schedule_compact = schedule_compaction  # as the action is named by its method


def run_compaction(
    table: TableHandle, instant: str, *, engine: str | Engine | None = None
) -> Commit:
    """Run a planned compaction, from the start or from where an earlier run stopped."""
    found: Commit = run_planned(table, "compaction", instant, engine=engine)
    return found


run_compact = run_compaction


# --- clean and archive ----------------------------------------------------------------------------
def clean(table: TableHandle, /, policy: Any = None, **settings: Any) -> Cleaned:
    """Delete the files that neither recent readers nor a savepoint need.

    Pending cleans are finished, then a new one is planned and run. ``policy`` is a name or an
    object; the default is ``hoodie.clean.policy``. ``settings`` are options of cleaning without the
    first part of their names: ``commits_retained=5``, ``reader_window=2``. If there is nothing to
    do, the instant of the result is empty. Raises StorageError if a file cannot be deleted: then
    clean again."""
    found: Cleaned = run(table, "clean", policy=policy, **settings)
    return found


def vacuum(table: TableHandle, retention_hours: int | None = None) -> Cleaned:
    """Delete files that neither recent readers nor a savepoint need: ``clean`` by the name that
    Delta Lake has for it. It deletes at once; there is no dry run.

    With ``retention_hours``, the states of the last hours stay readable, and no older one but those
    of savepoints; the newest state stays always. Without it, the table's ``hoodie.clean.policy``
    says what stays.
    """
    if retention_hours is None:
        return clean(table)
    return clean(table, "by_hours", hours_retained=retention_hours)


def schedule_clean(table: TableHandle, /, policy: Any = None, **settings: Any) -> str | None:
    """Plan a clean. Returns its instant, or None if there is nothing to delete."""
    return schedule(table, "clean", policy=policy, **settings)


def run_clean(table: TableHandle, instant: str) -> Cleaned:
    """Run a planned clean, from the start or from where an earlier run stopped. Files that have
    become necessary since it was planned are not deleted."""
    found: Cleaned = run_planned(table, "clean", instant)
    return found


def archive(table: TableHandle) -> Archived:
    """Move the oldest instants of the active timeline into the archived timeline, if there are more
    completed writes than ``hoodie.keep.max.commits``. Instants that reading and cleaning need
    stay."""
    found: Archived = run(table, "archive")
    return found


# --- going back -----------------------------------------------------------------------------------
def restore(table: TableHandle, instant: str | int) -> Restored:
    """Undo all actions after the completed write ``instant``, forever: afterwards the table has the
    rows that ``read(as_of=instant)`` returns. Numbers of commits and tags are taken, too. Stop
    other writers first: unfinished writes are undone, too.

    Raises ConfigError, and changes nothing, if there is no such write, if files that it needs have
    been cleaned (a savepoint prevents this), or if there is a later savepoint."""
    found: Restored = run(table, "restore", instant=write_of(table.source(), instant))
    return found


def schedule_restore(table: TableHandle, instant: str) -> str | None:
    """Plan a restore. Returns its instant, or None if there is no action after ``instant``. From
    then on no write that has begun can complete, and the next writer would finish the restore."""
    return schedule(table, "restore", instant=instant)


def run_restore(table: TableHandle, instant: str) -> Restored:
    """Run the planned restore ``instant``, from the start or from where an earlier run stopped."""
    found: Restored = run_planned(table, "restore", instant)
    return found


def check_restore(table: TableHandle, instant: str | int) -> tuple[str, ...]:
    """The instants that ``restore`` would undo now, in their order. Changes nothing. Raises the
    errors that ``restore`` would raise before it changes anything."""
    found: tuple[str, ...] = installed_action(table, "restore").check(
        table, write_of(table.source(), instant)
    )
    return found


# --- savepoints -----------------------------------------------------------------------------------
def savepoint(
    table: TableHandle, instant: str | None = None, comment: str = "", user: str = ""
) -> str:
    """Protect the completed write ``instant`` (by default the newest) and its files. Returns the
    instant.

    Cleaning and archiving do not touch them until the savepoint is deleted. Raises ConfigError if
    there is no such write, or if some of its files have already been cleaned."""
    found: str = run(table, "savepoint", instant=instant, comment=comment, user=user)
    return found


def delete_savepoint(table: TableHandle, instant: str) -> None:
    """Delete the savepoint of ``instant``, and the tags that name it; a later clean may delete its
    files."""
    installed_action(table, "savepoint").delete(table, instant)


def savepoints(table: TableHandle) -> tuple[Savepoint, ...]:
    """All savepoints, the oldest first."""
    return completed_savepoints(Snapshot(table.storage, table.timeline()))


# --- virtual keys ---------------------------------------------------------------------------------
def enable_virtual_keys(table: TableHandle, kept: Sequence[str] = (COMMIT_TIME,)) -> None:
    """Do not store record keys from now on: they are made from the columns of a row (RFC-21).

    Changes only the table's properties: stored keys are no longer used. ``kept`` names the meta
    columns that rows still store; with all five of them, you can return to stored keys. A record
    index is first built again, which reads all keys; see docs/virtual-keys.md.

    Raises ConfigError if readers could not make the keys, or if a stored key differs from the key
    that its columns give.
    """
    installed_action(table, "rewrite_keys").enable(table, kept)


def rewrite_keys(
    table: TableHandle,
    virtual: bool = True,
    *,
    engine: str | Engine | None = None,
    progress: Progress = silent,
) -> RewrittenKeys:
    """Rewrite the files that still store record keys although keys are virtual, as
    ``enable_virtual_keys`` makes them first if necessary.

    File groups are rewritten one after another, beside readers and writers; call it again after an
    interruption. Slices with log files are compacted. ``virtual=False`` returns to stored keys; it
    needs a table in which all rows store all meta columns. ``progress`` gets step, done and total,
    in file groups, after each commit.

    Raises ConfigError, and CommitConflictError if other writers cause a conflict again and again.
    """
    found: RewrittenKeys = run(
        table, "rewrite_keys", virtual=virtual, engine=engine, progress=progress
    )
    return found


def rewrite(
    table: TableHandle,
    options: Mapping[str, Any] | None = None,
    where: Any = None,
    partitions: str | Sequence[str] | None = None,
    *,
    evolved: bool = False,
    virtual_keys: bool = False,
    target_file_size: int | None = None,
    again: bool = False,
    dry_run: bool = False,
    engine: str | Engine | None = None,
    progress: Progress = silent,
) -> Rewritten:
    """Write the base files of the table again, with other ``options``: the codec, the size of
    row groups and pages, or bloom filters. No row changes, and readers and writers can continue.

    ``where`` chooses the files that may contain rows for which the condition is true, and
    ``partitions`` those of some partition paths. ``evolved=True`` chooses only files whose
    columns are not those of the table now. ``virtual_keys=True`` makes the record keys virtual
    first, and chooses the files that still store them. ``target_file_size``, in bytes, clusters the
    chosen partition paths into larger files first, with new file groups.

    Otherwise file groups keep their ids, rows and commit times. Slices with log files are
    compacted. Repeat an interrupted call: file groups that were written since it began are left
    out, also in a second call with the same options; ``again=True`` begins again. ``dry_run``
    counts what would be rewritten. ``progress`` gets step, done and total, in file groups.

    Raises UnknownOptionError and ConfigError for invalid options, SchemaError for a column that
    does not exist, and CommitConflictError if other writers cause a conflict again and again.
    """
    order = RewriteOrder(
        options or {}, where, partitions, evolved, virtual_keys, target_file_size, again, dry_run
    )
    found: Rewritten = run(table, "rewrite", order=order, engine=engine, progress=progress)
    return found


# --- indexes --------------------------------------------------------------------------------------
def compare_indexes(
    table: TableHandle,
    a: Any,
    b: Any,
    since: str | date | None = None,
    until: str | date | None = None,
    *,
    engine: str | Engine | None = None,
) -> Comparison:
    """Look keys up in two indexes, and report the differences. ``a`` and ``b`` are names, Java
    class names or objects. Changes nothing.

    With ``since``, the keys of rows that commits after it and up to ``until`` (by default: now)
    wrote. Without it, all keys of the table, and stale entries are reported, too: entries of a
    stored index for keys that the table does not have. Raises ConfigError for invalid times and
    names, and CorruptTableError if an index cannot be read.
    """
    found: Comparison = run(
        table, "compare_indexes", a=a, b=b, since=since, until=until, engine=engine
    )
    return found


def locate(
    table: TableHandle,
    keys: Any,
    as_of: str | date | int | None = None,
    *,
    index: Any = None,
    engine: str | Engine | None = None,
) -> pa.Table:
    """Find the rows of ``keys``. Returns ``record_key``, ``partition_path``, ``file_id`` and
    ``instant``, the instant in the name of the file slice, once for each file group with the key.

    ``keys`` are those of ``delete``: data with the key columns, or a list if the key is one column.
    Without the partition columns, a key is found in every partition path. The keys are looked up in
    the table's index, or in the one that ``index`` names. With ``as_of``, the files of that time
    are read. Raises ConfigError for an invalid time, for a time whose files have been cleaned, and
    for ``as_of`` together with ``index``.
    """
    found: pa.Table = run(table, "locate_keys", keys=keys, as_of=as_of, index=index, engine=engine)
    return found


def rebuild_index(
    table: TableHandle,
    name: str | None = None,
    *,
    source: Any = None,
    buckets: int | None = None,
    hash: str | None = None,
    scaling: str | None = None,
    cap: int | None = None,
    engine: str | Engine | None = None,
) -> tuple[str, ...]:
    """Rebuild the metadata table from the table's files, beside writers. Returns its partitions.

    ``name`` is one partition (``record_index``), or an index that is stored there (such as
    ``growing_record_index``, or one of ``create_index``), which is created or built again; by
    default all, and at least ``files``. Readers do not use them until they are complete. ``source``
    is an index (``bloom``, ``simple``, an object) from whose answers a record index is built.

    ``buckets`` is the number of file groups of a record index (in each partition path, if it is
    partitioned), or the first number of buckets of a growing one. ``hash``, ``scaling`` and ``cap``
    are for a growing record index, as the options ``hoodoo.index.hash``, ``.scaling`` and
    ``.bucket.cap``; the table stores them.

    A new global index becomes the table's index, if the table has no bound index yet and each key
    is in one place. Raises ConfigError for a partition that cannot be built in this way,
    UnsupportedTableError for one that tables of this version cannot have, and CommitConflictError
    if another process is rebuilding.
    """
    said = {"buckets": buckets, "hash": hash, "scaling": scaling, "cap": cap}
    shape = {word: value for word, value in said.items() if value is not None}
    found: tuple[str, ...] = run(
        table, "rebuild_index", name=name, source=source, engine=engine, shape=shape
    )
    return found


def switch_index(
    table: TableHandle, index: Any, *, engine: str | Engine | None = None
) -> Comparison:
    """Give the table another index, a name or an object, for all writers. Returns how the index
    agrees with the files.

    A stored index that does not exist is built, and the index has to find every row. Writers can
    continue.

    If the rows do not fit the index, nothing is changed, and the error names keys:
    DuplicateKeyError for keys in several partition paths with a global index; DataError for rows
    that an index of partition paths would not find; ConfigError for an index that computes other
    places for rows, and for one that the table cannot have; CorruptTableError for a stored index
    that differs from the files.
    """
    found: Comparison = run(table, "switch_index", index=index, engine=engine)
    return found
