"""The life cycle of an action on storage: requested -> inflight -> completed, each put-if-absent.

Nothing on the timeline is ever overwritten. The end of a publish is a value, :class:`Outcome`: after
UNKNOWN nothing of the instant may be deleted until the timeline has been read again.
"""

from __future__ import annotations

import enum
import random
from datetime import datetime, timezone

from attrs import frozen

from hoodoo.errors import CommitConflictError, StorageError, StorageUnknownError
from hoodoo.log import get_logger
from hoodoo.model.instant import Instant, State
from hoodoo.storage.api import Storage
from hoodoo.timeline import codec
from hoodoo.timeline.instants import next_instant, order_key
from hoodoo.timeline.names import completed_action, instant_file_name
from hoodoo.timeline.timeline import Timeline, reload

_REQUEST_ATTEMPTS = 20
log = get_logger(__name__)


class Result(str, enum.Enum):
    """What became of a publish."""

    COMMITTED = "COMMITTED"
    CONFLICTED = "CONFLICTED"
    UNKNOWN = "UNKNOWN"


@frozen
class Outcome:
    """``instant`` is completed where COMMITTED; ``reason`` is a clause for messages."""

    result: Result
    instant: Instant
    reason: str = ""

    @property
    def committed(self) -> bool:
        return self.result is Result.COMMITTED


def request(
    storage: Storage,
    timeline: Timeline,
    action: str,
    plan: bytes = b"",
    now: datetime | None = None,
) -> Instant:
    """Put a new instant on the timeline, later than all that is on it, and return it.

    ``plan`` is the content of the requested file. A lost race takes a new instant. Raises
    :class:`~hoodoo.errors.CommitConflictError` when every attempt was lost.
    """
    seen = timeline
    for attempt in range(_REQUEST_ATTEMPTS):
        after = seen.last_instant_time()
        # Writers that lost to each other in step must not meet again at the next millisecond.
        for _ in range(random.randrange(2 ** min(attempt, 8))):
            after = next_instant(_at(now), after, timeline.config.timezone)
        requested = next_instant(_at(now), after, timeline.config.timezone)
        instant = Instant(requested, action, State.REQUESTED)
        ours = _put_requested(storage, timeline, instant, plan)
        seen = reload(storage, timeline)
        # File names differ by action, so two actions can take the same millisecond: whoever sees
        # the other one gives way.
        rivals = [i for i in seen.instants if i.requested == requested and not _same(i, instant)]
        if ours and not rivals:
            return instant
        if ours:
            storage.delete(timeline.path(instant))
        log.debug("instant_race_lost", instant=requested, action=action, attempt=attempt + 1)
    raise CommitConflictError(
        f"{storage.root}: {action}",
        f"no free instant in {_REQUEST_ATTEMPTS} attempts.",
        "Try again; with many writers configure a lock provider.",
    )


def inflight(
    storage: Storage, timeline: Timeline, instant: Instant, content: bytes = b""
) -> Instant:
    """Move our requested ``instant`` to inflight. Repeating the call with equal bytes is harmless.

    Raises :class:`~hoodoo.errors.CommitConflictError` if another writer's file is there.
    """
    moved = instant.at(State.INFLIGHT)
    path = timeline.path(moved)
    try:
        created = storage.put_if_absent(path, content)
    except StorageUnknownError:
        created = storage.put_if_absent(path, content)
    if not created and _get(storage, path) != content:
        raise CommitConflictError(
            f"{storage.root}/{path}",
            "another writer has started this instant.",
            "Try the write again: it takes a new instant.",
        )
    return moved


def complete(
    storage: Storage,
    timeline: Timeline,
    instant: Instant,
    content: bytes,
    now: datetime | None = None,
) -> Outcome:
    """Publish ``instant``: from here on readers see it. Call under the table's lock, data durable.

    ``instant`` is as :func:`inflight` (or :func:`request`) returned it, ``content`` the bytes of the
    completed file. CONFLICTED: it is not published, and somebody else has removed or finished it.
    Raises :class:`~hoodoo.errors.StorageError` where the store says that nothing took place.
    """
    fresh, names = _look(storage, timeline)
    known = _completed(fresh, instant)
    if known is not None:
        return _compare(storage, fresh, known, instant, content)
    if reason := _fenced(storage, fresh, names, instant):
        return Outcome(Result.CONFLICTED, instant, reason)
    completed = None
    if fresh.layout > 1:
        completed = next_instant(_at(now), fresh.last_instant_time(), fresh.config.timezone)
    action = completed_action(instant.action)
    done = Instant(instant.requested, action, State.COMPLETED, completed)
    try:
        created = storage.put_if_absent(fresh.path(done), content)
    except StorageUnknownError:
        log.warning("publish_unknown", instant=instant.requested, path=fresh.path(done))
        return _settle(storage, fresh, done, instant, content)
    if created:
        return Outcome(Result.COMMITTED, done)
    return _compare(storage, fresh, done, instant, content)


def _settle(
    storage: Storage,
    timeline: Timeline,
    done: Instant,
    instant: Instant,
    content: bytes,
) -> Outcome:
    """After an unknown put: look, then ask once more for the *same* name.

    Only an answer of the store to the same put-if-absent settles the matter: a first request that is
    still under way can land after any look, but not beside a second one that was answered.
    """
    try:
        fresh, names = _look(storage, timeline)
        known = _completed(fresh, instant)
        if known is not None:
            return _compare(storage, fresh, known, instant, content)
        if reason := _fenced(storage, fresh, names, instant):
            return Outcome(Result.CONFLICTED, instant, reason)
        if storage.put_if_absent(timeline.path(done), content):
            return Outcome(Result.COMMITTED, done)
    except StorageError as error:
        log.warning("publish_still_unknown", instant=instant.requested, error=str(error))
    return _compare(storage, timeline, done, instant, content)


def _compare(
    storage: Storage,
    timeline: Timeline,
    done: Instant,
    instant: Instant,
    content: bytes,
) -> Outcome:
    """Whose file ``done`` is. Not there, or not readable, leaves the outcome open."""
    try:
        found = _get(storage, timeline.path(done))
    except StorageError as error:
        return Outcome(Result.UNKNOWN, instant, f"the store did not say ({error})")
    if found is None:
        return Outcome(Result.UNKNOWN, instant, "the store did not say, and the file is not there")
    if found == content:
        return Outcome(Result.COMMITTED, done)
    return Outcome(Result.CONFLICTED, instant, "another writer completed the instant")


def _look(storage: Storage, timeline: Timeline) -> tuple[Timeline, set[str]]:
    names = {e.name for e in storage.list(timeline.config.timeline_path) if not e.is_dir}
    return timeline.refreshed(names), names


def _completed(timeline: Timeline, instant: Instant) -> Instant | None:
    found = (i for i in timeline.completed() if _same(i, instant))
    return next(found, None)


def _fenced(storage: Storage, fresh: Timeline, names: set[str], instant: Instant) -> str:
    """Why ``instant`` may not be completed any more; empty if it may."""
    held = [instant.at(State.REQUESTED)] if instant.action != "savepoint" else []
    if instant.state is not State.REQUESTED:
        held.append(instant.at(State.INFLIGHT))
    for step in held:
        if instant_file_name(step, fresh.layout) not in names:
            return f"{fresh.path(step)} is gone: another writer rolled it back"
    for other in fresh.instants:
        if order_key(other.requested) <= order_key(instant.requested):
            continue
        if other.action == "restore":
            return f"restore {other.requested} was requested"
        if other.action == "rollback" and _target(storage, fresh, other) == instant.requested:
            return f"rollback {other.requested} of it was requested"
    return ""


def _target(storage: Storage, timeline: Timeline, rollback: Instant) -> str | None:
    """The instant that a rollback undoes, by its plan; None where the plan is gone."""
    path = timeline.path(rollback.at(State.REQUESTED))
    data = _get(storage, path)
    plan = codec.decode(data, f"{storage.root}/{path}") if data else {}
    found = (plan.get("instantToRollback") or {}).get("commitTime")
    return None if found is None else str(found)


def _put_requested(storage: Storage, timeline: Timeline, instant: Instant, plan: bytes) -> bool:
    try:
        return storage.put_if_absent(timeline.path(instant), plan)
    except StorageUnknownError:
        # An empty file can't be told from another writer's: leave it to be rolled back.
        return False


def _same(one: Instant, other: Instant) -> bool:
    return one.requested == other.requested and completed_action(one.action) == completed_action(
        other.action
    )


def _get(storage: Storage, path: str) -> bytes | None:
    try:
        return storage.get(path)
    except FileNotFoundError:
        return None


def _at(now: datetime | None) -> datetime:
    return now or datetime.now(timezone.utc)
