"""The action ``clean``: files that nobody needs are deleted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import frozen
from hoodoo.hookspecs.action import AfterWrite
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import resolve
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

from hoodoo_services.clean import run as clean_run
from hoodoo_services.clean import schedule as clean
from hoodoo_services.clean.plan import CLEAN, pending_cleans
from hoodoo_services.clean.policies.by_writes import ByCommits
from hoodoo_services.clean.schedule import Cleaning, Scheduled
from hoodoo_services.clean.settings import CleanSettings, named
from hoodoo_services.clean.with_write import WithWrite
from hoodoo_services.outcome import Cleaned

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle


@frozen
class CleanAction:
    """Implements :class:`~hoodoo.hookspecs.action.Action`: planned, and run after writes."""

    @classmethod
    def from_settings(cls, settings: Settings) -> CleanAction:
        return cls()

    def run(self, table: TableHandle, policy: Any = None, **settings: Any) -> Cleaned:
        table.refresh()
        return _clean(table, cleaning(table, policy, settings), table.timeline())

    def schedule(self, table: TableHandle, policy: Any = None, **settings: Any) -> str | None:
        table.refresh()
        found = clean.schedule(
            Snapshot(table.storage, table.timeline()), cleaning(table, policy, settings)
        )
        return None if found is None else found.instant.requested

    def run_planned(self, table: TableHandle, instant: str) -> Cleaned:
        table.refresh()
        table.check_writable()
        threads = CleanSettings.of(table.options).threads
        return clean_run.run(
            Snapshot(table.storage, table.timeline()),
            instant,
            threads,
            table.participants.drop_stale,
            join=table.participants.join,
            schema=table.schema_at(table.load_timeline()),
            announce=_announce(table),
        )

    def cleanable(self, table: TableHandle) -> tuple[str, ...]:
        """The files that a clean would delete now."""
        how, now = cleaning(table), datetime.now(timezone.utc)
        plan = clean.make_plan(Snapshot(table.storage, table.timeline()), how, now)
        return () if plan is None else plan.files

    def after_write(self, table: TableHandle) -> AfterWrite | None:
        settings = CleanSettings.of(table.options)
        default = settings.policy == CleanSettings().policy
        if not settings.every or (default and kernel().find("cleaning", settings.policy) is None):
            return None  # core alone has no policy, and nobody named one
        how = cleaning(table)
        with_write = WithWrite(table.storage, how, table.saw)

        def due(timeline: Timeline, engine: Callable[[], Engine]) -> bool:
            if with_write.tell(timeline):
                return True
            if timeline.last_instant_time() == with_write.idle:
                return False
            if (planned := with_write.requested(timeline)) is not None:
                return bool(_run(table, how, timeline, planned.instant.requested, planned).instant)
            if pending_cleans(timeline) or clean.due(
                Snapshot(table.storage, timeline), settings.every
            ):
                return bool(_clean(table, how, timeline).instant)
            return False

        writes = how.policy.retained + 1 if isinstance(how.policy, ByCommits) else 0
        return AfterWrite(
            "cleaning",
            due,
            order=30,
            by_hand="table.clean()",
            writes=writes,
            pending=CLEAN,
            follow=None if _is_announced(table) else with_write.follow,
        )


def _announce(table: TableHandle) -> Callable[[Sequence[str]], None]:
    participants = table.participants
    return lambda paths: participants.each.before_clean(participants.request(), paths)


def _is_announced(table: TableHandle) -> bool:
    """Whether a participant is called before a clean deletes: no write decides on it then."""
    return any(hasattr(one, "before_clean") for one in table.participants.each.each)


def cleaning(
    table: TableHandle, policy: Any = None, settings: Mapping[str, Any] | None = None
) -> Cleaning:
    """How ``table`` is cleaned, by its options and what is given."""
    table.check_writable()
    given = table.check_options(named(settings or {}))
    options = {**table.options, **given}
    chosen = CleanSettings.of(options)
    found, ref = resolve("cleaning", policy or chosen.policy, Settings(table.config, options))
    return Cleaning(found, clean.signature(ref.name, found), chosen)


def _run(
    table: TableHandle, how: Cleaning, timeline: Timeline, requested: str, planned: Scheduled | None
) -> Cleaned:
    join = table.participants.join
    if planned is not None and planned.is_fresh:  # the write before it has read the properties
        join = partial(join, now=table.config)
    return clean_run.run(
        Snapshot(table.storage, timeline),
        requested,
        how.settings.threads,
        table.participants.drop_stale,
        done_is_fine=True,
        join=join,
        schema=table.schema_at(timeline),
        planned=planned,
        saw=table.saw,
        announce=_announce(table),
    )


def _clean(table: TableHandle, how: Cleaning, timeline: Timeline) -> Cleaned:
    cleaned = Cleaned()
    for pending in pending_cleans(timeline):
        cleaned = cleaned.then(_run(table, how, timeline, pending.requested, None))
        timeline = table.timeline()
    planned = clean.schedule(Snapshot(table.storage, timeline), how, begin=True)
    if planned is None:
        return cleaned
    return cleaned.then(_run(table, how, timeline, planned.instant.requested, planned))
