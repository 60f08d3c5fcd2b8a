"""Calls of actions: by hand, and after a write, which none of them fails once it has landed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from attrs import evolve

from hoodoo.calls import refuse_options
from hoodoo.errors import ConfigError, HoodooError, warn
from hoodoo.hookspecs.action import AfterWrite, FollowsWrites, Schedules
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.answers import plain
from hoodoo.kernel.registry import Kernel, kernel
from hoodoo.kernel.resolve import resolve
from hoodoo.participants.listing import KnownFiles
from hoodoo.table.opened import PARTICIPANT_SERVICE, OpenTable, action_run, answered
from hoodoo.table.participants import TableParticipants
from hoodoo.table.settings import check_engine
from hoodoo.timeline.publish import Following
from hoodoo.timeline.timeline import Timeline


class FollowedTable(OpenTable):
    """An open table, with the participants in its actions, and what follows its writes."""

    participants: TableParticipants
    after_writes: AfterWrites


class AfterWrites:
    """What has to be done after the writes of ``table``."""

    def __init__(self, table: FollowedTable) -> None:
        self.table = table
        self.seen: Timeline | None = None
        self.asked: object = None  # the instants that participants were last asked after
        self._made: tuple[Kernel, Settings, list[AfterWrite]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": None}  # functions of plugins, which don't travel

    def run(self, due: Sequence[AfterWrite], engine: Callable[[], Engine]) -> None:
        """Do those of ``due`` that it is time for."""
        table = self.table
        timeline, self.seen = self.seen, None  # loaded once for all that have nothing to do
        for service in due:
            try:
                timeline = timeline or table.load_timeline()
                if _has_work(service, timeline) and service.run(timeline, engine):
                    timeline, self.seen = self.seen, None
            except Exception as error:  # the rows have landed: this is no failure of the write
                timeline = None
                warn(
                    f"table {table.config.name}: the write is done, but the inline {service.what} "
                    f"after it failed ({error}); {service.by_hand} finishes it."
                )
        if timeline is not None:
            timeline.note_replaced(table.storage)

    def instants(self) -> object:
        """What :meth:`by_hand` compares: the instants there are. None if nobody follows actions."""
        with suppress(HoodooError):
            return self.table.load_timeline().instants if _after_action(self.table) else None
        return None

    def by_hand(self, before: object = None) -> None:
        """After an action: participants do their work, unless the timeline is as ``before`` it,
        or as when they were last asked: by a write that the action made."""
        table = self.table
        if (now := self.instants()) is not None and now not in (before, self.asked):
            self.run(_after_action(table), lambda: table.engine(None, table.default_engine))

    def follow(
        self, due: Sequence[AfterWrite], seen: Timeline, files: KnownFiles
    ) -> Following | None:
        """What the first of ``due`` decides with the write that is completed on ``seen``."""
        with suppress(HoodooError, FileNotFoundError):  # it is tried again after the write
            if due and due[0].follow is not None and _has_work(due[0], seen):
                return due[0].follow(seen, files)
        return None

    def due(self) -> list[AfterWrite]:
        """What may be due, and its options are checked: called before anything is written. Made
        once for the table's properties and options as they are now."""
        now, made, self.seen = self.table.settings, self._made, None
        if (
            made is None
            or made[0] is not kernel()
            or not (made[1].table is now.table and made[1].options == now.options)
        ):
            # A copy of the options: who changes those of the handle gets others.
            made = (kernel(), Settings(now.table, dict(now.options)), _made(self.table))
            self._made = made
        return made[2]


def _has_work(service: AfterWrite, timeline: Timeline) -> bool:
    is_pending = any(instant.action == service.pending for instant in timeline.pending())
    return is_pending or len(timeline.writes()) >= service.writes


def _made(table: FollowedTable) -> list[AfterWrite]:
    found: dict[str, AfterWrite] = {}
    for offer in kernel().offers("action"):
        action = resolve("action", offer.name, table.settings).instance
        service = action.after_write(table) if isinstance(action, FollowsWrites) else None
        if service is not None:
            by_hand = service.by_hand or f"table.run({offer.name!r})"
            told = _told(table, offer.name, service.run)
            found[offer.name] = evolve(service, run=told, by_hand=by_hand)
    instead = {name for service in found.values() for name in service.instead}
    left = [service for name, service in found.items() if name not in instead]
    return sorted([*left, _upkeep(table), *_after_action(table)], key=lambda service: service.order)


def _upkeep(table: FollowedTable) -> AfterWrite:
    """What participants do for themselves."""

    def run(timeline: Timeline, engine: Callable[[], Engine]) -> bool:
        return bool(table.participants.each.service(table.storage, timeline, engine, due=True))

    told = _told(table, PARTICIPANT_SERVICE, run)
    return AfterWrite("metadata compaction", told, order=50, by_hand="table.compact_metadata()")


def _after_action(table: FollowedTable) -> list[AfterWrite]:
    """What participants do after every action; nothing if none of them has anything to do then."""

    def run(timeline: Timeline, engine: Callable[[], Engine]) -> bool:
        table.after_writes.asked = timeline.instants
        request = table.participants.request()
        return bool(table.participants.each.after_action(request, timeline))

    told = _told(table, PARTICIPANT_SERVICE, run)
    work = AfterWrite("work of participants", told, order=900, by_hand="the next action")
    return [work for one in table.participants.each.each if hasattr(one, "after_action")][:1]


Run = Callable[[Timeline, Callable[[], Engine]], bool]


def _told(table: FollowedTable, action: str, run: Run) -> Run:
    """``run``, reported to observers if something is done, or fails."""

    def reported(timeline: Timeline, engine: Callable[[], Engine]) -> bool:
        with action_run(table, action, quiet=True) as events:
            if not (done := run(timeline, engine)):
                events.skip()
            return done

    return reported


# A plan that is not made, as there is nothing to do, is nothing to tell of.
_TOLD: dict[str, Any] = {"schedule": {"end": "scheduled", "quiet": True}}


def call_action(
    table: FollowedTable, action: Any, member: str, arguments: Mapping[str, Any], *planned: str
) -> Any:
    """What ``member`` of ``action`` answers: ``run``, ``schedule``, or ``run_planned`` with the
    instant of the plan.

    Raises PluginError for an action that nobody offers, ConfigError for one that is never planned,
    CallError for options that it does not have or that are missing.
    """
    resolved = resolve("action", action, table.settings)
    found = resolved.instance
    name = action if isinstance(action, str) else type(plain(action)).__name__
    if member != "run" and not isinstance(found, Schedules):
        raise ConfigError(
            f"action {name}", "runs at once and can't be planned.", f"Run it: table.run({name!r})."
        )
    does = getattr(found, member)
    shown = repr(action) if isinstance(action, str) else name
    call = ", ".join([f"table.{member}({shown}", *map(repr, planned)])
    refuse_options(call, getattr(plain(found), member), 1 + len(planned), arguments)
    check_engine(arguments.get("engine"))
    kind = resolved.ref.name if isinstance(action, str) else name
    before = None if member == "schedule" else table.after_writes.instants()
    with action_run(table, kind, *planned, **_TOLD.get(member, {})) as events:
        done = answered(events, does(table, *planned, **arguments), plans=member == "schedule")
    if member != "schedule":
        table.after_writes.by_hand(before)
    return done
