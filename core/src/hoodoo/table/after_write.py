"""After a write: the actions that may be due then. None of them fails a write that has landed."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from hoodoo.errors import HoodooError, warn
from hoodoo.hookspecs.action import AfterWrite, FollowsWrites
from hoodoo.hookspecs.engine import Engine
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import resolve
from hoodoo.table.action_run import PARTICIPANT_SERVICE, action_run
from hoodoo.table.handle import TableHandle
from hoodoo.timeline.timeline import Timeline


def services_after(table: TableHandle) -> Callable[[Callable[[], Engine]], None]:
    """What has to be done after a write: its options are checked now, before anything is written."""
    due = _due(table)

    def after(engine: Callable[[], Engine]) -> None:
        timeline: Timeline | None = None  # loaded once for all that have nothing to do
        for service in due:
            try:
                timeline = timeline or table.timeline()
                if service.run(timeline, engine):
                    timeline = None
            except (HoodooError, FileNotFoundError) as error:  # others take files away
                timeline = None  # the rows have landed: this is no failure of the write
                warn(
                    f"table {table.config.name}: the write is done, the inline {service.what} after it is "
                    f"not ({error}); {service.by_hand} finishes it."
                )

    return after


def _due(table: TableHandle) -> list[AfterWrite]:
    found = []
    for offer in kernel().offers("action"):
        action = resolve("action", offer.name, table.settings).instance
        service = action.after_write(table) if isinstance(action, FollowsWrites) else None
        if service is not None:
            by_hand = service.by_hand or f"table.run({offer.name!r})"
            told = _told(table, offer.name, service.run)
            found.append(evolve(service, run=told, by_hand=by_hand))
    return sorted([*found, _upkeep(table)], key=lambda service: service.order)


def _upkeep(table: TableHandle) -> AfterWrite:
    """What participants do for themselves."""

    def run(timeline: Timeline, engine: Callable[[], Engine]) -> bool:
        return bool(table.participants.each.service(table.storage, timeline, engine, due=True))

    told = _told(table, PARTICIPANT_SERVICE, run)
    return AfterWrite("metadata compaction", told, order=50, by_hand="table.compact_metadata()")


Run = Callable[[Timeline, Callable[[], Engine]], bool]


def _told(table: TableHandle, action: str, run: Run) -> Run:
    """``run``; observers are told if something is done, or fails."""

    def told(timeline: Timeline, engine: Callable[[], Engine]) -> bool:
        with action_run(table, action, quiet=True) as events:
            done = run(timeline, engine)
            if not done:
                events.skip()
            return done

    return told
