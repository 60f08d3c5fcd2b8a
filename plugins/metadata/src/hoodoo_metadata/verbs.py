"""Calls of their own for the metadata table: they become methods of :class:`hoodoo.Table`."""

from __future__ import annotations

from datetime import date

from hoodoo.calls import nearest
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.engine import Engine
from hoodoo.table.handle import TableHandle
from hoodoo.table.opened import PARTICIPANT_SERVICE, action_run
from hoodoo_rows.api import Query, Reads

from hoodoo_metadata.life.definitions import defined
from hoodoo_metadata.life.drop import drop, droppable, partition_named
from hoodoo_metadata.life.indexes import indexes
from hoodoo_metadata.partitions.secondary.rows import indexes_of_columns


def compact_metadata(table: TableHandle, *, engine: str | Engine | None = None) -> tuple[str, ...]:
    """Compact the metadata table now. Returns the instants of its compactions. Writes do this
    automatically after every ``hoodie.metadata.compact.max.delta.commits`` commits."""
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
    since: str | date,
    until: str | date | None = None,
    index: str | None = None,
) -> Query:
    """The changes in the record index after ``since`` and up to ``until`` (by default: now):
    ``record_key``, ``partition_path``, ``file_id``, and the ``instant`` of the change. Lazy. Only
    the newest change of a key is returned; path and file id are null if the key was deleted. An
    update of a row in its file group is no change. ``index`` names the index, if there are several.

    If the index does not have these changes any more, the record keys of both states are compared:
    then ``instant`` is null.

    The times are those of ``incremental``. Raises ConfigError for invalid times, if there is no
    record index, and for states whose files have been cleaned, or whose instants are archived.
    """
    found = Reads.query(table, "location_changes", since=since, until=until, index=index)
    assert isinstance(found, Query)
    return found


def drop_index(table: TableHandle, name: str) -> tuple[str, ...]:
    """Drop a partition of the metadata table (``bloom_filters``, ``column_stats``), or the
    partition of an index that is stored there (``partitioned_record_index``). Returns the dropped
    partitions. Writers can continue, and no longer update it.

    Raises ConfigError for a partition that the table does not have, or that it needs (``files``,
    and that of its own index); CommitConflictError if another process creates or drops one."""
    table.check_writable()
    table.refresh()
    with action_run(table, PARTICIPANT_SERVICE) as events:
        more = {*defined(table.storage), *indexes_of_columns(table.config)}
        try:
            named = partition_named(table.config, name, more)
        except ConfigError:
            raise _no_index(table, name) from None
        gone = tuple(droppable(table.config, [named], more))
        if not gone:
            raise _no_index(table, name)
        table.use_properties(drop(table.storage, table.config, gone))
        events.report(made=gone)
        return gone


def _no_index(table: TableHandle, name: str) -> ConfigError:
    there = [index.name for index in indexes(table)]
    near = nearest(name, there)
    return ConfigError(
        f"index {name} of table {table.config.name}",
        f"is not there; the table has {', '.join(there) or 'none'}.",
        f"Did you mean {near}?" if near else "table.indexes() lists those that can be dropped.",
    )
