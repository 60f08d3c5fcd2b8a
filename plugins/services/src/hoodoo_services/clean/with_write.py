"""A clean that is decided with the write before it: one number of the ledger holds the commit and,
whole, the clean.

It is planned of the files that the write has seen and those that it has made. As the decision is
taken upon that very look, nothing can come to need a file between plan and request, nor between
request and end: whoever decides next first carries out all of this. A crash leaves as much to the
next one as it does of the commit. Where others take part in the clean, its request alone is decided
so."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone

from attrs import Factory, define
from hoodoo.kernel.events import action_events, action_step
from hoodoo.model.outcome import removed_figures
from hoodoo.participants.listing import KnownFiles
from hoodoo.storage.api import Storage
from hoodoo.timeline.publish import Following
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

from hoodoo_services.clean.plan import CLEAN, CleanPlan, note, pending_cleans
from hoodoo_services.clean.schedule import Cleaning, Scheduled, due, make_plan


@define
class WithWrite:
    """Cleans with the writes of one open table. ``begun``: those that nobody was told of yet, by
    requested time; ``idle``: the newest instant time of a timeline by which nothing may go."""

    storage: Storage
    how: Cleaning
    saw: Callable[[Timeline], None]
    begun: dict[str, tuple[CleanPlan, bytes]] = Factory(dict)
    idle: str | None = None

    def follow(self, seen: Timeline, files: KnownFiles) -> Following | None:
        """None where no clean is due or nothing may go. Also where another clean is pending, and
        where a partition would be taken away, which may hold more than ``files``: then it is
        planned after the write."""
        self.begun.clear()  # of numbers that were lost
        if pending_cleans(seen) or not due(Snapshot(self.storage, seen), self.how.settings.every):
            return None
        plan = make_plan(Snapshot(self.storage, seen), self.how, datetime.now(timezone.utc), files)
        if plan is None:
            self.idle = seen.last_instant_time()
        if plan is None or plan.partitions:
            return None

        def done(requested: str) -> bytes:
            content = plan.completed(requested, 0, frozenset(), ())
            self.begun[requested] = plan, content
            return content

        return Following(CLEAN, plan.encode(self.storage.root), plan.files, done)

    def requested(self, timeline: Timeline) -> Scheduled | None:
        """The clean whose request alone was decided with the newest write on ``timeline``. None
        where anything came after it: then it is taken up as any other one."""
        for instant in pending_cleans(timeline):
            mine = self.begun.pop(instant.requested, None)
            if mine is not None and timeline.last_instant_time() == instant.requested:
                self._planned(timeline, instant.requested, mine[0])
                return Scheduled(instant, timeline, mine[0], is_fresh=True)
        return None

    def tell(self, timeline: Timeline) -> bool:
        """Whether the newest write on ``timeline`` has cleaned; observers are told."""
        for instant in timeline.others():
            if instant.action != CLEAN or not instant.is_completed:
                continue
            if (mine := self.begun.pop(instant.requested, None)) is not None:
                plan, content = mine
                table, requested = timeline.config.name, instant.requested
                self._planned(timeline, requested, plan)
                with action_events(CLEAN, table, self.storage.root, requested) as events:
                    events.report(removed_figures(plan.files))
                note(timeline, instant, content)
                self.saw(timeline)
                return True
        return False

    def _planned(self, timeline: Timeline, requested: str, plan: CleanPlan) -> None:
        table, detail = timeline.config.name, {"files": len(plan.files), "policy": plan.policy}
        action_step(CLEAN, "scheduled", table, self.storage.root, requested, **detail)
