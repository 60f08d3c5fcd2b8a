"""Calls of their own for the actions of this distribution: they become methods of :class:`hoodoo.Table`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
from hoodoo.hookspecs.engine import Engine
from hoodoo.model.findings import Progress, silent
from hoodoo.model.meta import COMMIT_TIME
from hoodoo.table.call_action import installed_action
from hoodoo.table.handle import TableHandle
from hoodoo.table.running import run, run_planned, schedule
from hoodoo.write.commit import Commit

from hoodoo_services.outcome import Archived, Cleaned, Comparison, Restored, RewrittenKeys
from hoodoo_services.savepoints import Savepoint
from hoodoo_services.savepoints import savepoints as completed_savepoints


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


schedule_compact = schedule_compaction  # as the action is named by its method


def run_compaction(
    table: TableHandle, instant: str, *, engine: str | Engine | None = None
) -> Commit:
    """Run a planned compaction, from the start or where an earlier run stopped."""
    found: Commit = run_planned(table, "compaction", instant, engine=engine)
    return found


run_compact = run_compaction


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
    be made stored ones again. Does nothing where they are virtual already. A record index goes on: it is made
    anew first, which reads all keys; see docs/virtual-keys.md.

    Raises ConfigError where readers could not make the keys again, or where a stored one differs
    from what its columns say.
    """
    installed_action(table, "rewrite_keys").enable(table, kept)


def rewrite_keys(
    table: TableHandle,
    virtual: bool = True,
    *,
    engine: str | Engine | None = None,
    progress: Progress = silent,
) -> RewrittenKeys:
    """Rewrite the files that store record keys although these are virtual; where they are not yet,
    they become so first, as by :meth:`enable_virtual_keys`.

    File group by file group, in commits of a few each: the table can be read and written meanwhile,
    a run that was cut short is begun again, and the old files are there for time travel until they
    are cleaned. Slices with log files are compacted. ``virtual=False`` makes the keys stored ones
    again, if all rows store them: that is the way back for a table that kept all meta columns. ``progress`` gets
    step, done and total, in file groups, after each commit.

    Raises ConfigError, CommitConflictError where other writers come in between again and again.
    """
    found: RewrittenKeys = run(
        table, "rewrite_keys", virtual=virtual, engine=engine, progress=progress
    )
    return found


# --- indexes --------------------------------------------------------------------------------------
def compare_indexes(
    table: TableHandle,
    a: Any,
    b: Any,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    *,
    engine: str | Engine | None = None,
) -> Comparison:
    """Ask two indexes where keys lie, and report where they differ: names, Java classes or objects.

    All keys of the table, or with ``since`` those of rows that commits after it, up to ``until`` or now,
    wrote: so a job of its own can follow the writers. Of all keys, stale entries are reported, too: those
    of indexes that store them, of keys that the table does not have. Changes nothing. Raises ConfigError
    for points and names that are none, CorruptTableError where an index can't be read.
    """
    found: Comparison = run(
        table, "compare_indexes", a=a, b=b, since=since, until=until, engine=engine
    )
    return found


def locate(
    table: TableHandle,
    keys: Any,
    as_of: str | datetime | None = None,
    *,
    index: Any = None,
    engine: str | Engine | None = None,
) -> pa.Table:
    """Where the rows of ``keys`` lie: ``record_key``, ``partition_path``, ``file_id`` and ``instant``, by which the
    file slice is named. A key that the table does not have is not in the answer; one that lies in several file
    groups is there once for each.

    ``keys`` are those of :meth:`delete`: data with the key columns, or a list where the key is one column; without
    the partition columns a key is found wherever it lies. The table's index is asked, or the one named by
    ``index``; an index that computes file groups, and log files, are compared with the rows. ``as_of``: the files
    of that moment are read instead, as indexes know the present. Changes nothing. Raises ConfigError for points
    that are none, whose files have been cleaned, or together with ``index``.

    >>> table.locate([3]).to_pylist()
    [{'record_key': '3', 'partition_path': 'oslo', 'file_id': '...-0', 'instant': '20260101120000000'}]
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
    """Make the metadata table anew from the table's files, while writers go on; its partitions.

    ``name``: one partition (``record_index``), or an index that is stored there
    (``partitioned_record_index``, ``growing_record_index``), that is to be there, or to be made anew; ``files``
    is made with it where it is missing. Without it all that there are, at least ``files``. Nobody reads them
    until they are complete. ``source``: an index (``bloom``, ``simple``, an object) that is asked where
    keys lie, for a record index that goes by what the one before said.

    ``buckets``: file groups of a record index (of each partition path, where it is partitioned), or first buckets of
    a growing one. ``hash``, ``scaling`` and ``cap`` are of a growing record index, as the options
    ``hoodoo.index.hash``, ``.scaling`` and ``.bucket.cap`` are: they stay the table's. What is not said stays as it is.

    A global index that is made becomes the table's, if no index binds it yet and each key is in one place:
    see :meth:`~hoodoo.Table.switch_index`. Raises ConfigError for a partition that Hoodoo does not keep, or that can't
    be made so, UnsupportedTableError for one that tables of this version do not have, CommitConflictError while
    another process is at it.
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
    """Give the table another index, a name or an object, for all writers; how it agrees with the files.

    First proves that it knows where every row lies; an index that is stored is made where it is missing. Writers
    go on meanwhile: who began with the old index and comes to commit afterwards repeats the write. The cost:
    reading all record keys, and looking them up.

    Nothing is changed, and the error says which keys, where rows are not as the index needs them:
    DuplicateKeyError for keys in several partition paths and an index that is global, DataError for rows that
    an index of partition paths would not look for where they lie, ConfigError for an index that computes
    where rows have to lie and for one that the table can't have, CorruptTableError for a stored index that
    says otherwise than the files.

    >>> table.switch_index("record_index").same
    True
    """
    found: Comparison = run(table, "switch_index", index=index, engine=engine)
    return found
