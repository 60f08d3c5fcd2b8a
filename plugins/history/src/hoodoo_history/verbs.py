"""Calls of their own for the query types of this distribution: they become methods of :class:`hoodoo.Table`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from hoodoo.read.query import Query
from hoodoo.read.scan import Scan
from hoodoo.table.handle import TableHandle
from hoodoo.table.reads import query


def incremental(
    table: TableHandle,
    since: str | datetime,
    until: str | datetime | None = None,
    columns: Sequence[str] | None = None,
    where: Any = None,
    meta: bool = False,
) -> Scan:
    """A lazy scan of the rows that commits after ``since``, up to ``until`` or now, wrote, as they
    stand at the end. Deletes are no rows: see :meth:`changes`.

    Points are those of ``as_of``, or ``"earliest"``; commits are ordered by completion, in version
    6 by request. ``scan.plan.until`` is the ``since`` of the next read. Raises ConfigError for bad
    points and where a clean took files away that ``until`` needs. ``columns`` and ``meta``: as of :meth:`read`.
    """
    found = query(
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
    since: str | datetime,
    until: str | datetime | None = None,
    columns: Sequence[str] | None = None,
    where: Any = None,
) -> Query:
    """What each commit after ``since``, up to ``until`` or now, did: one row for each inserted, updated
    or deleted row, with its images before and after.

    ``columns`` are those of the images; ``where`` is asked of both, and one has to match. A row
    that moves to another partition path is deleted there and inserted here. Raises as
    :meth:`incremental` does.
    """
    found = query(table, "changes", since=since, until=until, columns=columns, where=where)
    assert isinstance(found, Query)
    return found
