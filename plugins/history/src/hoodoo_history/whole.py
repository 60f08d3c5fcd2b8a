"""The whole timeline: what is active and what was archived, as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import Factory, evolve, field, frozen
from hoodoo.kernel.archived import load_archived
from hoodoo.model.commit import CommitMetadata
from hoodoo.model.instant import Instant
from hoodoo.storage.api import Storage
from hoodoo.timeline.archived import ArchivedInstant
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

_Key = tuple[str, str]  # requested, action


@frozen
class WholeTimeline(Timeline):
    """A timeline that knows archived instants too; ``start`` is the first of them all. ``active``
    is the rest of it."""

    active: Timeline = field(eq=False, repr=False, kw_only=True)
    archived: Mapping[_Key, ArchivedInstant] = field(
        default=Factory(dict), eq=False, repr=False, kw_only=True
    )

    def metadata(self, storage: Storage, instant: Instant) -> CommitMetadata:
        found = self.archived.get((instant.requested, instant.action))
        return self.active.metadata(storage, instant) if found is None else found.metadata()

    def contents(self, storage: Storage, instant: Instant) -> dict[str, Any]:
        found = self.archived.get((instant.requested, instant.action))
        return self.active.contents(storage, instant) if found is None else found.contents()


def whole(snapshot: Snapshot, since: str) -> Timeline:
    """``timeline`` with the archived instants that count after the point ``since``.

    Where requests order, archived ones count only where ``since`` is before the start. Other
    layouts order by completion, and an instant that took long may be archived while its completion
    is recent: the requests of the files in the archive don't tell, so all of its names are read."""
    by_request = not snapshot.layout.names_completion
    if by_request:
        if snapshot.timeline.start is None or since >= order_key(snapshot.timeline.start):
            return snapshot.timeline
        archived = load_archived(snapshot.storage, snapshot.config, since)
    else:
        archived = load_archived(snapshot.storage, snapshot.config)
    active = {(i.requested, i.action) for i in snapshot.instants if i.is_completed}
    found = {(a.requested, a.action): a for a in archived if (a.requested, a.action) not in active}
    instants = [*snapshot.instants, *(a.instant for a in found.values())]
    instants.sort(key=lambda i: (order_key(i.requested), i.action))
    # Also a write that a savepoint keeps, which the active timeline does not begin with: all that
    # is older than the start is seen at any point. By request that is what has not been loaded.
    first = (
        i.requested
        for i in instants
        if i.is_write and (not by_request or order_key(i.requested) > since)
    )
    if not found:
        return evolve(snapshot.timeline, start=next(first, snapshot.timeline.start))
    return WholeTimeline(
        tuple(instants),
        snapshot.layout,
        snapshot.config,
        next(first, snapshot.timeline.start),
        noted=snapshot.timeline.noted,
        active=snapshot.timeline,
        archived=found,
    )
