"""Calls of their own for the metadata table: they become methods of :class:`hoodoo.Table`."""

from __future__ import annotations

from datetime import datetime

from hoodoo.errors import ConfigError
from hoodoo.hookspecs.engine import Engine
from hoodoo.read.query import Query
from hoodoo.table.action_run import PARTICIPANT_SERVICE, action_run
from hoodoo.table.handle import TableHandle
from hoodoo.table.reads import query

from hoodoo_metadata.drop import drop, droppable, partition_named


def compact_metadata(table: TableHandle, *, engine: str | Engine | None = None) -> tuple[str, ...]:
    """Compact the metadata table now; the instants of its compactions. Writes do so by themselves
    after each ``hoodie.metadata.compact.max.delta.commits``."""
    table.check_writable()
    table.refresh()

    def runner() -> Engine:
        return table.engine(None, engine or table.default_engine)

    with action_run(table, PARTICIPANT_SERVICE) as events:
        timeline = table.timeline()
        done = table.participants.each.service(table.storage, timeline, runner, due=False)
        if not done:
            events.skip()
        events.report(instants=done)
        return done


def location_changes(
    table: TableHandle,
    since: str | datetime,
    until: str | datetime | None = None,
    index: str | None = None,
) -> Query:
    """What changed in the record index after ``since``, up to ``until`` or now: ``record_key``, ``partition_path``,
    ``file_id``, and ``instant``, which said so; lazily, no data file is opened. Of a key that changed more than once
    the newest counts; path and file id are null where it is gone. Rows that were updated where they lie changed
    nothing. ``index``: which one, where the table has several.

    Points are those of :meth:`incremental`, ``"earliest"`` too. Raises ConfigError for bad points, where the table has no
    record index, and where the index tells what changed since then together with what was before: it says from
    which point on it can tell.

    >>> table.location_changes(commit.instant).to_arrow().num_rows
    0
    """
    found = query(table, "location_changes", since=since, until=until, index=index)
    assert isinstance(found, Query)
    return found


def drop_index(table: TableHandle, name: str) -> tuple[str, ...]:
    """Drop a partition of the metadata table (``bloom_filters``, ``column_stats``), or the one of an index that is
    stored there (``partitioned_record_index``); what went. Writers may go on, and nobody keeps it any more.

    Raises ConfigError for one that the table does not have, or can't do without: ``files``, and that of its own index;
    CommitConflictError while another process makes or drops one.
    """
    table.check_writable()
    table.refresh()
    with action_run(table, PARTICIPANT_SERVICE) as events:
        gone = tuple(droppable(table.config, [partition_named(table.config, name)]))
        if not gone:
            raise ConfigError(
                f"table {table.storage.root}",
                f"has no partition {name!r} in its metadata table.",
                "Nothing is to be done.",
            )
        table.use_properties(drop(table.storage, table.config, gone))
        events.report(made=gone)
        return gone
