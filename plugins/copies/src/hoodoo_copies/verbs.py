"""Calls that become methods of :class:`hoodoo.Table`."""

from __future__ import annotations

import os
from datetime import date

from hoodoo import Table
from hoodoo.participants.travel import instant_of
from hoodoo.table.handle import TableHandle
from hoodoo.table.running import run

from hoodoo_copies import tags as named
from hoodoo_copies.outcome import BackedUp


def backup(table: TableHandle, target: str | os.PathLike[str], *, verify: bool = False) -> BackedUp:
    """Copy the table to ``target``, a directory or URI, also on another store; a repeated call
    copies what has changed. Writers can continue. Each file that is copied is read back and
    compared.

    The copy is a table that can be read, a state that this table had; do not write to it:
    ``hoodoo.restore_backup`` makes a new table of it. It has no metadata table. If the call was
    interrupted, repeat it. ``verify``: read all files of the copy, also those of earlier calls, and
    compare their checksums.

    Raises ConfigError if ``target`` is not empty and no backup of this table, or was written to;
    CommitConflictError if cleans come too often; CorruptTableError for a file of the copy that has
    changed.

    >>> table.backup("s3://backups/trips").copied
    12
    """
    found: BackedUp = run(table, "backup", target=target, verify=verify)
    return found


def clone(
    table: TableHandle,
    path: str | os.PathLike[str],
    as_of: str | date | int | None = None,
    *,
    shallow: bool = False,
) -> Table:
    """Make a new table at ``path`` with the properties of this table, and its rows, now or
    ``as_of`` a time, an instant or a tag. The rows are read and written in tasks of the engine. The
    new table has one commit, and no history.

    Raises TableExistsError if there is a table at ``path``, ConfigError for an invalid time, and
    UnsupportedTableError for ``shallow``, because two tables cannot share files.

    >>> table.clone("trips-test", as_of="eom-11").count()
    41
    """
    found: Table = run(table, "clone", path=path, as_of=as_of, shallow=shallow)
    return found


def tag(table: TableHandle, name: str, instant: str | int | None = None) -> str:
    """Give the completed write ``instant`` a name that ``as_of`` takes; by default the newest, and
    the number of a commit is taken, too. Its files stay until the tag is deleted: a tag is a
    savepoint with a name. Returns the instant.

    Raises ConfigError for an invalid name, for one that is used already, and if there is no such
    write.

    >>> table.tag("eom-11")
    '20261129104500123'
    """
    if isinstance(instant, int):
        instant = instant_of(table.source(), instant)
    found: str = run(table, "tag", name=name, instant=instant)
    return found


def tags(table: TableHandle) -> dict[str, str]:
    """The tags of the table, and the instants that they name, the oldest first. Raises no error."""
    return named.tags(table)


def untag(table: TableHandle, name: str) -> None:
    """Delete the tag ``name``; a later clean may delete its files. A savepoint that was there
    before the tag stays. Raises ConfigError for an unknown tag."""
    named.untag(table, name)
