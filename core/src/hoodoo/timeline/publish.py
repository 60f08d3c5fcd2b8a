"""The life cycle of an action on storage: requested -> inflight -> completed, each put-if-absent.

Nothing on the timeline is ever overwritten. The end of a publish is a value, :class:`Outcome`:
after UNKNOWN nothing of the instant may be deleted until the timeline has been read again.
"""

from __future__ import annotations

import enum
import random
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timezone
from functools import partial

from attrs import evolve, field, frozen

from hoodoo.errors import (
    CommitConflictError,
    CommitUnknownError,
    HoodooError,
    InstantGoneError,
    StorageError,
    StorageUnknownError,
)  # fmt: skip
from hoodoo.log import get_logger
from hoodoo.model.action import named as named_action
from hoodoo.model.instant import Instant, State
from hoodoo.storage.api import get_if_there
from hoodoo.timeline.decision import Decision, Whole
from hoodoo.timeline.fence import completed_as, fenced, refuse_unkept, same, standing_files
from hoodoo.timeline.instants import next_instant, order_key
from hoodoo.timeline.ledger import Mark, decided, locked, put_file
from hoodoo.timeline.names import completed_action
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline, reload

_REQUEST_ATTEMPTS = 20
# Sees the timeline right before a decision; refuses by raising.
Check = Callable[[Timeline], None]


@frozen
class CoupledCommit:
    """What is decided together with the completion of an action, and visible before it: how the
    metadata table says the same. ``newest`` is the newest instant on its timeline, now; ``files``
    are paths and contents, given the completed instant. ``seen``: the newest instant when it was
    begun, if somebody looked."""

    newest: Callable[[], str | None]
    files: Callable[[Instant], tuple[tuple[str, bytes], ...]]
    seen: tuple[str | None, ...] = ()


@frozen
class Following:
    """An action that is decided whole with another one, and done right after it: what its requested
    file says (``plan``), which files of the table it deletes (``gone``), and what its completed
    file says, given its requested time. Not ``whole``: only its request is decided, as participants
    write under that before the end."""

    action: str
    plan: bytes
    gone: tuple[str, ...]
    done: Callable[[str], bytes]
    whole: bool = True


log = get_logger(__name__)


class Result(str, enum.Enum):
    """What became of a publish."""

    COMMITTED = "COMMITTED"
    CONFLICTED = "CONFLICTED"
    UNKNOWN = "UNKNOWN"


def _unmarked(*beside: Callable[[], object]) -> tuple[Instant, ...]:
    for call in beside:
        call()
    return ()


@frozen
class Outcome:
    """``instant`` is completed where COMMITTED; ``reason`` is a clause for messages. ``mark`` says
    on the ledger that it is carried out; what nobody marks, the next writer does. ``seen``: the
    timeline right before the decision; ``followed``: the steps of what was decided with it.
    ``mark`` answers those of them that stand; the calls that it is given go on beside it."""

    result: Result
    instant: Instant
    reason: str = ""
    mark: Callable[..., tuple[Instant, ...]] = field(default=_unmarked, eq=False, repr=False)
    seen: Timeline | None = field(default=None, eq=False, repr=False)
    followed: tuple[Instant, ...] = ()

    @property
    def committed(self) -> bool:
        """Whether the commit is on the timeline. False for conflicts and for an unknown outcome."""
        return self.result is Result.COMMITTED


def request(
    snapshot: Snapshot, action: str, plan: bytes = b"",
    now: datetime | None = None, check: Check | None = None,
    named: Callable[[str], bool] | None = None, known: bool = False, begin: bool = False,
    saw: Callable[[Timeline], None] = lambda timeline: None
) -> Instant:  # fmt: skip
    """Put a new instant on the timeline, later than all that is on it, and return it.

    ``plan`` is the content of the requested file. If another writer takes the instant, a new one is
    tried. An action that is heeded (:class:`~hoodoo.model.action.Action`) is a decision of the
    ledger. ``check`` gets the timeline right before that, for another action right after the
    request, and may raise to refuse. ``named`` gets each instant before it is put; False: try
    another. ``known``: see :func:`~hoodoo.timeline.ledger.decided`. ``begin``: request and begin in
    one. ``saw`` gets the timeline with the instant. CommitConflictError after all attempts.
    """
    seen = snapshot.timeline
    for attempt in range(_REQUEST_ATTEMPTS):
        after = seen.last_instant_time()
        # Writers that lost to each other in step must not meet again at the next millisecond.
        for _ in range(random.randrange(2 ** min(attempt, 8))):
            after = next_instant(_at(now), after, snapshot.config.timezone)
        if named_action(action).is_heeded:
            at_first = known and not attempt
            instant, seen = _decide_request(
                snapshot, action, plan, after, now, check, named, at_first, begin
            )
            is_own = True
        else:
            requested = _alone(
                snapshot, partial(_new_instant, snapshot.timeline, after, now, named)
            )
            instant = Instant(requested, action, State.REQUESTED)
            is_own = _put_requested(snapshot, instant, plan, last=attempt > 0)
            seen = snapshot.reload().timeline
        if is_own and not _rivals(seen, instant):
            if check is not None and not named_action(action).is_heeded:
                try:
                    check(seen)
                except CommitConflictError:
                    snapshot.storage.delete(snapshot.path(instant))
                    raise
            saw(seen)
            return instant
        if is_own:
            withdraw(snapshot, instant)
        log.debug(
            "instant_race_lost", instant=instant.requested, action=action, attempt=attempt + 1
        )
    raise CommitConflictError(
        f"{snapshot.root}: {action}",
        f"no free instant in {_REQUEST_ATTEMPTS} attempts.",
        "Try again; with many writers configure a lock provider.",
    )


def request_later(
    snapshot: Snapshot, action: str, plan: bytes, now: datetime | None, named: Callable[[str], bool]
) -> tuple[Instant, Callable[[], None]] | None:
    """:func:`request` of an action that nobody has to heed, and what looks for rivals: before files
    bear the instant, beside what else is done. It raises CommitConflictError; the request is the
    caller's to take back then. None where the instant was another one's."""
    new = partial(
        _new_instant, snapshot.timeline, snapshot.timeline.last_instant_time(), now, named
    )
    instant = Instant(_alone(snapshot, new), action, State.REQUESTED)
    if not _put_requested(snapshot, instant, plan):
        return None

    def confirm() -> None:
        if rivals := _rivals(snapshot.reload().timeline, instant):
            raise CommitConflictError(
                f"instant {instant.requested}",
                f"{rivals[0]} started at the same time.",
                "Repeat it.",
            )

    return instant, confirm


def _rivals(seen: Timeline, instant: Instant) -> list[Instant]:
    # File names differ by action, so two actions can take the same millisecond: whoever sees
    # the other one gives way.
    found = [i for i in seen.instants if i.requested == instant.requested and not same(i, instant)]
    if not named_action(instant.action).is_heeded:
        # Made of an old look, it may be older than what archiving has come past, where clocks
        # differ: what lies between it and the timeline's start would look as if never committed.
        after = order_key(instant.requested)
        found += [w for w in seen.writes() if order_key(w.requested) > after]
    return found


def _alone(snapshot: Snapshot, new: Callable[[], str]) -> str:
    """``new()``; under the table's lock if it has one. Hudi takes its instants so (RFC-66): two
    writers that took the same millisecond would put the same file, and Hudi's fails then."""
    with locked(snapshot) as held:
        found = new()
        if held is not None:
            time.sleep(0.001)  # who has the lock next reads a later clock
        return found


def _new_instant(
    timeline: Timeline, after: str | None, now: datetime | None, named: Callable[[str], bool] | None
) -> str:
    requested = next_instant(_at(now), after, timeline.config.timezone)
    while named is not None and not named(requested):
        requested = next_instant(_at(now), requested, timeline.config.timezone)
    return requested


def _decide_request(
    snapshot: Snapshot, action: str, plan: bytes, after: str | None,
    now: datetime | None, check: Check | None, named: Callable[[str], bool] | None, known: bool,
    begin: bool
) -> tuple[Instant, Timeline]:  # fmt: skip
    """The instant, and the timeline that has it."""
    made, last = list[Instant](), list[int]()

    def make(fresh: Timeline) -> Decision:
        last[:] = [fresh.decided or 0]
        if check is not None:
            check(fresh)
        newest = max(filter(None, (fresh.last_instant_time(), after)), key=order_key, default=None)
        requested = _new_instant(fresh, newest, now, named)
        made.append(Instant(requested, action, State.REQUESTED))
        return Decision(fresh.path(made[-1]), plan)

    _decision, mark = decided(snapshot, make, known=known)
    if mark is None:
        raise CommitUnknownError(
            f"{snapshot.root}: {action} {made[-1].requested}",
            "it is not known whether it was started: the store failed.",
            "Open the table again: the next write finishes or undoes pending instants.",
        )
    go_on = (partial(inflight, snapshot, made[-1]),) if begin else ()
    seen, *begun = mark(partial(reload, snapshot.storage, snapshot.timeline), *go_on)
    return (*begun, made[-1])[0], evolve(seen, decided=last[0] + 1)


def inflight(snapshot: Snapshot, instant: Instant, content: bytes = b"") -> Instant:
    """Move our requested ``instant`` to inflight. Repeating the call with equal bytes is harmless.

    Raises :class:`~hoodoo.errors.CommitConflictError` if another writer's file is there;
    InstantGoneError if the plan of a rollback or restore is not: who has finished it took it off
    the timeline.
    """
    moved = instant.at(State.INFLIGHT)
    path = snapshot.path(moved)
    if not put_file(snapshot.storage, path, content, []):
        raise CommitConflictError(
            f"{snapshot.root}/{path}",
            "another writer has started this instant.",
            "Try the write again: it takes a new instant.",
        )
    if moved.traits.undoes and snapshot.storage.head(snapshot.path(instant)) is None:
        snapshot.storage.delete(path)  # without its plan nobody could finish it
        raise InstantGoneError(
            f"{snapshot.root}: {instant}", "another process has ended it.", "Repeat the call."
        )
    return moved


def complete(
    snapshot: Snapshot, instant: Instant,
    content: bytes | Callable[[Timeline], bytes], now: datetime | None = None,
    check: Check | None = None, beside: CoupledCommit | None = None,
    ahead: Callable[[], object] = lambda: None, marks: bool = True, known: bool = False,
    then: Callable[[Timeline, Instant], Following | None] | None = None
) -> Outcome:  # fmt: skip
    """Publish ``instant``: from here on readers see it. Its data is durable.

    ``instant`` is as :func:`inflight` (or :func:`request`) returned it, ``content`` the bytes of
    the completed file, or what makes them of the timeline as it is then. ``check`` sees that
    timeline, too, and may refuse by raising: nothing is published then, and nothing comes between.
    ``beside`` is decided with it. ``ahead`` and ``known`` as for
    :func:`~hoodoo.timeline.ledger.decided`; ``marks``: what is carried out is marked so at once;
    else the outcome's ``mark`` is the caller's to call. ``then`` says of the timeline with
    ``instant`` completed what follows it. CONFLICTED: it is not published, and somebody else has
    removed or finished it. Raises :class:`~hoodoo.errors.StorageError` where the store says that
    nothing took place.
    """
    made: list[tuple[Instant, bytes]] = []
    looked: list[Timeline] = []
    newest: list[str | None] = [*beside.seen] if known and beside is not None else []
    followed: list[Instant] = []

    def look_ahead() -> None:
        newest.clear()
        with suppress(StorageError):  # it is asked then
            newest.extend(() if beside is None else [beside.newest()])

    def make(fresh: Timeline) -> Decision:
        known = completed_as(fresh, instant)
        if known is not None:
            # From an earlier attempt of this writer, if the bytes are equal.
            own_bytes = content if isinstance(content, bytes) else made[-1][1] if made else b""
            raise _Settled(_compare(snapshot.at(fresh), known, instant, own_bytes))
        if reason := fenced(snapshot.storage, fresh, instant):
            raise _Settled(Outcome(Result.CONFLICTED, instant, reason))
        if check is not None:
            check(fresh)
        if instant.traits.changes_files:
            refuse_unkept(snapshot.timeline, fresh, instant)
        completed = None
        if fresh.layout.names_completion:
            reported = newest.pop() if newest else None if beside is None else beside.newest()
            after = [fresh.last_instant_time(), reported]
            last = max(filter(None, after), key=order_key, default=None)
            completed = next_instant(_at(now), last, fresh.config.timezone)
        action = completed_action(instant.action)
        done = Instant(instant.requested, action, State.COMPLETED, completed)
        made.append((done, content if isinstance(content, bytes) else content(fresh)))
        looked[:] = [fresh]
        held = tuple(fresh.path(step) for step in standing_files(instant))
        followed[:], whole = (), None
        if then is not None and (next_one := then(seen := fresh.followed_by(done), done)):
            followed[:], whole = _whole(seen, next_one, now)
        before = () if beside is None else beside.files(done)
        return Decision(fresh.path(done), made[-1][1], held, before, whole)

    seen = snapshot.timeline.followed_by(*standing_files(instant)) if known else snapshot.timeline
    try:
        decision, mark = decided(snapshot.at(seen), make, (ahead, look_ahead), known)
    except _Settled as end:
        return end.outcome
    except StorageUnknownError as error:
        log.warning("publish_unknown", instant=instant.requested, error=str(error))
        if made:
            return _look_again(snapshot, instant, made[-1][1])
        return Outcome(Result.UNKNOWN, instant, f"the store gave no clear answer ({error})")
    if mark is not None:
        seen = evolve(looked[-1], decided=(looked[-1].decided or 0) + 1)
        marked = partial(_marked, snapshot.at(seen), mark, tuple(followed))
        if marks:
            marked()
            return Outcome(Result.COMMITTED, made[-1][0])
        return Outcome(Result.COMMITTED, made[-1][0], "", marked, seen, tuple(followed))
    found = _compare(snapshot, made[-1][0], instant, decision.content)
    if found.result is not Result.UNKNOWN:
        return found
    return Outcome(
        Result.UNKNOWN,
        instant,
        "it was decided, but then the store failed; the next write publishes it",
    )


def _marked(
    seen: Snapshot, mark: Mark, followed: tuple[Instant, ...], *beside: Callable[[], object]
) -> tuple[Instant, ...]:
    """Say on the ledger that it is carried out; what ``followed`` and stands: a request that did
    gives way to another action that took its millisecond."""
    if len(followed) != 1:
        mark(*beside)
        return followed

    def look() -> Snapshot | None:
        with suppress(HoodooError):  # it is published, whatever becomes of this look
            return seen.reload()
        return None

    now = mark(look, *beside)[0]
    if now is None or not _rivals(now.timeline, followed[0]):
        return followed
    with suppress(StorageError):
        withdraw(now, followed[0])
    return ()


def _whole(
    seen: Timeline, found: Following, now: datetime | None
) -> tuple[tuple[Instant, ...], Whole]:
    """The steps of what follows all on the timeline ``seen``, and how they are decided."""
    zone = seen.config.timezone
    requested = next_instant(_at(now), seen.last_instant_time(), zone)
    completed = next_instant(_at(now), requested, zone) if seen.layout.names_completion else None
    begun = Instant(requested, found.action, State.REQUESTED)
    steps = (begun, begun.at(State.INFLIGHT), begun.at(State.COMPLETED, completed))
    contents = (found.plan, b"", found.done(requested))
    files = tuple(zip(map(seen.path, steps), contents, strict=True))
    if not found.whole:
        return steps[:1], Whole(files[:1], ())
    kept = tuple(sorted(seen.path(i) for i in seen.others() if i.traits.keeps))
    return steps, Whole(files, found.gone, kept)


def withdraw(snapshot: Snapshot, mine: Instant) -> None:
    """Take the pending action ``mine`` off the timeline, which has changed nothing that counts
    before its end."""
    for state in (State.INFLIGHT, State.REQUESTED):
        snapshot.storage.delete(snapshot.path(mine.at(state)))


def refuse_unknown(outcome: Outcome, what: str, fix: str) -> None:
    """CommitUnknownError about ``what`` if its end is not known."""
    if outcome.result is Result.UNKNOWN:
        raise CommitUnknownError(what, f"its outcome is unknown: {outcome.reason}.", fix)


class _Settled(Exception):
    """Ends the asking for a decision: there is nothing left to decide."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        super().__init__(outcome)


def _look_again(snapshot: Snapshot, instant: Instant, content: bytes) -> Outcome:
    """After an unknown answer: committed where the completed file shows it, else unknown."""
    with suppress(StorageError):
        known = completed_as(snapshot.reload().timeline, instant)
        if known is not None:
            return _compare(snapshot, known, instant, content)
    return Outcome(Result.UNKNOWN, instant, "the store gave no clear answer, and there is no file")


def _compare(snapshot: Snapshot, done: Instant, instant: Instant, content: bytes) -> Outcome:
    """Whose file ``done`` is. Not there, or not readable, leaves the outcome open."""
    unclear = partial(Outcome, Result.UNKNOWN, instant)
    try:
        found = get_if_there(snapshot.storage, snapshot.path(done))
    except StorageError as error:
        return unclear(f"the store gave no clear answer ({error})")
    if found is None:
        return unclear("the store gave no clear answer, and there is no file")
    if found == content:
        return Outcome(Result.COMMITTED, done)
    return Outcome(Result.CONFLICTED, instant, "another writer completed the instant")


def _put_requested(snapshot: Snapshot, instant: Instant, plan: bytes, last: bool = False) -> bool:
    try:
        return snapshot.storage.put_if_absent(snapshot.path(instant), plan)
    except StorageUnknownError:
        if last:  # a store that loses answers is not asked again without end
            raise
        # An empty file may be another writer's: leave it to be rolled back.
        return False


def _at(now: datetime | None) -> datetime:
    return now or datetime.now(timezone.utc)
