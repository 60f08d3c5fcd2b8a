"""Indexes of a table, and what participants store of it: calls of their own for the usual actions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hoodoo.hookspecs.engine import Engine
from hoodoo.model.outcome import Comparison
from hoodoo.table.action_run import PARTICIPANT_SERVICE, action_run
from hoodoo.table.handle import TableHandle
from hoodoo.table.running import run


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


def rebuild_index(
    table: TableHandle,
    name: str | None = None,
    *,
    source: Any = None,
    engine: str | Engine | None = None,
) -> tuple[str, ...]:
    """Make the metadata table anew from the table's files, while writers go on; its partitions.

    ``name``: one partition (``record_index``), or an index that is stored there
    (``partitioned_record_index``, ``growing_record_index``), that is to be there, or to be made anew; ``files``
    is made with it where it is missing. Without it all that there are, at least ``files``. Nobody reads them
    until they are complete. ``source``: an index (``bloom``, ``simple``, an object) that is asked where
    keys lie, for a record index that goes by what the one before said.

    A global index that is made becomes the table's, if no index binds it yet and each key is in one place:
    see :meth:`~hoodoo.Table.switch_index`. Raises ConfigError for a partition that Hoodoo does not keep,
    UnsupportedTableError for table version 6, CommitConflictError while another process is at it.
    """
    found: tuple[str, ...] = run(table, "rebuild_index", name=name, source=source, engine=engine)
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
