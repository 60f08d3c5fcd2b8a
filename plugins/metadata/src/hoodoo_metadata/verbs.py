"""A call of its own for the metadata table: it becomes a method of :class:`hoodoo.Table`."""

from __future__ import annotations

from hoodoo.hookspecs.engine import Engine
from hoodoo.table.action_run import PARTICIPANT_SERVICE, action_run
from hoodoo.table.handle import TableHandle


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
