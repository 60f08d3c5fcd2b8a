"""Indexes of a table: compared with each other, and kept in order."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hoodoo.hookspecs.engine import Engine
from hoodoo.indexes.compare import Comparison, compared, compared_whole
from hoodoo.indexes.lookup import KEYED, all_keys
from hoodoo.kernel.resolve import resolve
from hoodoo.model.meta import PARTITION_PATH, RECORD_KEY
from hoodoo.table.action_run import PARTICIPANT_SERVICE, action_run
from hoodoo.table.handle import TableHandle
from hoodoo.table.reads import incremental


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
    target = table.write_target(None, engine or table.default_engine)
    one, other = (resolve("index", index, table.settings).instance for index in (a, b))
    if since is None:
        return compared_whole(target, one, other, all_keys(target))
    changed = incremental(table, since, until, [RECORD_KEY, PARTITION_PATH]).to_arrow()
    return compared(target, one, other, target.engine.source(changed.cast(KEYED)))


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
