"""Plan validation: whether the plan of a service is of a table that is not there any more when it is announced."""

from __future__ import annotations

from collections.abc import Collection

from hoodoo.actions.life import StalePlanError
from hoodoo.errors import CommitConflictError
from hoodoo.model.instant import Instant
from hoodoo.storage.api import Storage
from hoodoo.timeline.plans import pending_clusterings, pending_compactions
from hoodoo.timeline.timeline import Timeline


def refuse_stale_plan(
    storage: Storage, before: Timeline, now: Timeline, groups: Collection[tuple[str, str]]
) -> None:
    """StalePlanError if a write of ``groups`` (partition path, file id) has completed between the two, something
    was undone, or a service has been planned, perhaps of the same."""
    known = {i.requested for i in (*before.writes(), *_planned(storage, before))}
    if any(i.requested not in known for i in _planned(storage, now)):
        raise StalePlanError
    for other in now.writes():
        if other.requested not in known:
            told = now.metadata(storage, other)
            written = {(s.partition_path, s.file_id) for s in told.stats}
            touched = told.replaced_groups | written
            if not touched.isdisjoint(groups):
                raise StalePlanError
    if {i.requested for i in before.writes()} - {i.requested for i in now.writes()}:
        raise StalePlanError  # something was undone, or archived


def refuse_undoing(storage: Storage, timeline: Timeline, what: str) -> None:
    """CommitConflictError while a restore or a rollback is in progress."""
    for other in timeline.pending():
        if other.traits.undoes:
            raise CommitConflictError(
                f"{storage.root}: {what}",
                f"{other} is in progress, and may delete what a {what} planned now would read.",
                "Schedule it when that has ended; if its process died, table.rollback() finishes it.",
            )


def _planned(storage: Storage, timeline: Timeline) -> list[Instant]:
    clusterings = (plan.instant for plan in pending_clusterings(storage, timeline))
    return [*pending_compactions(timeline), *clusterings]
