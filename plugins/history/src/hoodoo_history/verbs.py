"""Calls of their own for the query types of this distribution: they become methods of
:class:`hoodoo.Table`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from hoodoo.table.handle import TableHandle
from hoodoo_rows.api import Query, Reads, Scan


def incremental(
    table: TableHandle,
    since: str | date | int,
    until: str | date | int | None = None,
    columns: Sequence[str] | None = None,
    where: Any = None,
    meta: bool = False,
) -> Scan:
    """A lazy scan of the rows that were written by commits after ``since`` and up to ``until`` (by
    default: now), with their values at the end of that range. Deleted rows are not returned: see
    ``changes``.

    ``since`` and ``until`` have the same form as ``as_of``, or are ``"earliest"``. Commits are
    ordered by completion, in version 6 by request. ``scan.plan.until`` is the ``since`` of the next
    read. ``columns`` and ``meta`` are those of ``read``. Raises ConfigError for an invalid time,
    and if a clean has deleted files that ``until`` needs."""
    found = Reads.query(
        table,
        "incremental",
        since=since,
        until=until,
        columns=columns,
        where=where,
        meta=bool(meta),
    )
    assert isinstance(found, Scan)
    return found


def changes(
    table: TableHandle,
    since: str | date | int,
    until: str | date | int | None = None,
    columns: Sequence[str] | None = None,
    where: Any = None,
) -> Query:
    """The changes of each commit after ``since`` and up to ``until`` (by default: now): one row for
    each inserted, updated or deleted row, with its images before and after.

    ``columns`` are the columns of the images. ``where`` is applied to both images, and one of them
    has to match. A row that moves to another partition path is deleted in the old path and inserted
    in the new one. Raises the same errors as ``incremental``."""
    found = Reads.query(table, "changes", since=since, until=until, columns=columns, where=where)
    assert isinstance(found, Query)
    return found
