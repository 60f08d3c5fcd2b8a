"""Ledger: every decision about a table takes the next number, so that all of them have one order.

A decision puts one file on the timeline: an action completes, or a service announces a plan. A
writer reads the table after the last decision, then puts the next number if it is absent; if
another writer was first, it reads again. So a check at commit misses no earlier commit, completion
times grow with each decision, and a writer that was undone can't publish: undoing is a decision.

The number holds the whole decision. If its writer dies, the next writer carries it out before it
does anything else. This needs put-if-absent of the store, and no clock. It orders only writers that
take numbers: other engines that write at the same time need a lock (docs/many-writers.md).
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from time import monotonic
from typing import Any

from attrs import evolve, frozen

from hoodoo.errors import CommitConflictError, PluginError, StorageError, StorageUnknownError, warn
from hoodoo.log import get_logger
from hoodoo.model.config import TableConfig
from hoodoo.storage.api import Storage, get_if_there, names_in
from hoodoo.storage.lock import GuardedStorage, Held
from hoodoo.storage.together import at_once, discard, together
from hoodoo.timeline.decision import FOLDER as FOLDER
from hoodoo.timeline.decision import Decision, Whole, decode_decision, encode_decision, number_path
from hoodoo.timeline.layouts import layout_of
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline, load, reload

# Numbers that are kept. They reveal a writer whose look at the table is that many decisions old.
KEPT = 8
# The lock, where one is configured, under which decisions are made.
LOCK = "table"
_NUMBER = re.compile(r"(\d{12})(\.done)?")
_INSTANT = re.compile(r".*/\d+(?=[^/]*$)")  # a file of a timeline, up to its requested time
_LONGEST = 600.0  # seconds in which a decision is tried
# Seconds from a number to its files, in which others may have gone so far that its mark is deleted.
_ASLEEP = 2.0
log = get_logger(__name__)


def decide(snapshot: Snapshot, make: Callable[[Timeline], Decision]) -> tuple[Decision, bool]:
    """Ask ``make`` for a decision upon the timeline as it is, and carry it out.

    ``make`` is asked again whenever somebody else was first; what it raises ends the matter with
    nothing decided. The answer is the decision and whether its file is known to be there: if not,
    it stands all the same, and the next to decide puts the file.

    Raises StorageError where nothing was decided, StorageUnknownError where that is not known.
    """
    decision, mark = decided(snapshot, make)
    if mark is not None:
        mark()
    return decision, mark is not None


# Says on the ledger that a decision is carried out; answers of calls that go on beside that.
Mark = Callable[..., list[Any]]
Ahead = Sequence[Callable[[], object]]


def decided(
    snapshot: Snapshot,
    make: Callable[[Timeline], Decision],
    ahead: Ahead = (),
    known: bool = False,
) -> tuple[Decision, Mark | None]:
    """:func:`decide`, with what says on the ledger that the decision is carried out, for the caller
    to call, with what may go on beside it; None where its file is not known to be there. ``ahead``:
    calls that go with the look at the timeline that ``make`` is asked about, where looks go side by
    side; they do not raise. ``known``: ``timeline`` was made after the decision that it tells of.
    Across a network it is decided upon first, without another look: that is as if this process had
    slept since, and the next number is taken if anything was decided meanwhile."""
    storage = snapshot.storage
    if not isinstance(storage, GuardedStorage):
        return _decide(snapshot, make, ahead, known)

    def guarded(fresh: Timeline) -> Decision:
        # Looked at after the numbers: who takes the lock over takes a number, too.
        if not held.is_held():
            raise CommitConflictError(
                f"{storage.root}: the table's lock", "is now held by another writer.",
                "Try again.",
            )  # fmt: skip
        return make(fresh)

    unguarded = Snapshot(storage.inner, snapshot.timeline)
    with _locked(storage, unguarded) as held:  # others who take it may take no number
        return _decide(unguarded, guarded, ahead, known=False)


def locked(snapshot: Snapshot) -> AbstractContextManager[Held | None]:
    """The table's lock, if it has one, for what only one may do at a time; no decision is made
    inside. Raises CommitConflictError where it can't be had in time."""
    storage = snapshot.storage
    if not isinstance(storage, GuardedStorage):
        return nullcontext()
    return _locked(storage, Snapshot(storage.inner, snapshot.timeline))


@contextmanager
def _locked(storage: GuardedStorage, unguarded: Snapshot) -> Iterator[Held]:
    held = storage.lock.acquire(storage.inner, LOCK, storage.wait)
    if held is None:
        raise CommitConflictError(
            f"{storage.root}: the table's lock",
            f"could not be acquired within {storage.wait:g} seconds.",
            "Try again; if the process that holds it has ended, see docs/many-writers.md.",
        )
    try:
        if held.from_dead:
            # Its holder may only have slept: what it is about to decide has to look again, and
            # lose.
            barrier(unguarded)
        yield held
    finally:
        release(held)


def release(held: Held) -> None:
    """Give a lock back. What has been decided under it stands, whatever becomes of that."""
    try:
        held.release()
    except StorageError:
        pass  # it expires, or its process is seen to be gone
    except PluginError as error:
        warn(f"{error} What was done under the lock is done.")


def _decide(
    snapshot: Snapshot,
    make: Callable[[Timeline], Decision],
    ahead: Ahead,
    known: bool,
) -> tuple[Decision, Mark | None]:
    storage, timeline, end = snapshot.storage, snapshot.timeline, monotonic() + _LONGEST
    while monotonic() < end:
        if at_once(storage) > 1 and timeline.decided is not None:
            upon = (timeline.decided, timeline) if known else None
            last, fresh = upon or _side_by_side(snapshot, ahead)
        else:
            last, fresh = settle(storage, timeline.config), reload(storage, timeline)
        decision = make(evolve(fresh, decided=last))
        known, token, begun = False, uuid.uuid4().hex, time.time()
        taken = _claim(storage, last, decision, token)
        if taken is not None:
            return decision, _carried_out(storage, last + 1, decision, token, taken, begun)
        log.debug("ledger_number_lost", root=storage.root, number=last + 1)
    raise CommitConflictError(
        f"{storage.root}: ledger", f"others were faster for {_LONGEST:g} s", "Try again."
    )


def _side_by_side(snapshot: Snapshot, ahead: Ahead) -> tuple[int, Timeline]:
    """The newest number, and the timeline with all that it and those before it decided; both listed
    at the same time, and with what is looked up ``ahead``."""
    storage, timeline = snapshot.storage, snapshot.timeline
    look = partial(reload, storage, timeline)
    taken, fresh, *_ = together(storage, partial(_numbers, storage), look, *ahead)
    # Carried out before this look began, and nothing was decided since: the listing can't lack
    # anything.
    if (not taken.numbers and not timeline.decided) or timeline.decided in taken.numbers[-1:]:
        return timeline.decided or 0, fresh
    # All looks again: what was looked up ahead may be older than what is carried out here, too.
    last = settle(storage, timeline.config, taken)
    return _side_by_side(snapshot.at(evolve(timeline, decided=last)), ahead)


def settle(
    storage: Storage, config: TableConfig, listed: _Taken | None = None, reads: bool = False
) -> int:
    """Carry out the newest decision, should its writer not have; its number (0: there is none).

    One listing (or ``listed``), if it has. Who ``reads`` calls it, too: what is decided is what
    they are to see; what follows, deletions among it, they leave to writers.
    """
    taken = listed or _numbers(storage)
    last = taken.numbers[-1] if taken.numbers else 0
    if not last or last in taken.done:
        return last
    try:
        token, decision = decode_decision(storage, last)
    except FileNotFoundError:  # taken back by a writer that had slept
        return settle(storage, config, reads=reads)
    folder = decision.path.rpartition("/")[0] or config.timeline_path
    there = {e.path for e in storage.list(folder)}
    stands = there.issuperset(decision.needs)
    if decision.path and stands and not _is_there(decision.path, there):
        log.info("ledger_helps", root=storage.root, number=last, path=decision.path)
        files = (*decision.before, (decision.path, decision.content))
        if _discard_late(storage, decision, [p for p, c in files if storage.put_if_absent(p, c)]):
            return last
    if decision.then is not None and stands and not _is_there(decision.then.files[-1][0], there):
        _follow(storage, config, decision.then, there, reads)
        if reads:
            return last
    storage.put(_done(last), token.encode())
    return last


def _follow(
    storage: Storage, config: TableConfig, then: Whole, there: set[str], reads: bool
) -> None:
    """What can't be deleted, or what another engine's savepoint of since then may keep, is left
    pending."""
    if reads or not _kept(config, there) <= {*then.kept}:
        storage.put_if_absent(*then.files[0])
        return
    try:
        _put_whole(storage, then, [])
    except StorageError as error:
        log.warning("ledger_left_pending", path=then.files[0][0], error=str(error))


def _kept(config: TableConfig, paths: Iterable[str]) -> set[str]:
    """The files of savepoints among those of a timeline."""
    parse = layout_of(config).parse_instant
    named = ((path, parse(path.rpartition("/")[2])) for path in paths)
    return {path for path, found in named if found is not None and found.traits.keeps}


def _is_there(path: str, there: set[str]) -> bool:
    """Whether the file that a decision puts is among the paths ``there``; or, of an instant that
    another engine has completed since, one of another completion time."""
    if path in there:
        return True
    folder, _, name = path.rpartition("/")
    requested, found, rest = name.partition("_")
    start, end = f"{folder}/{requested}_", "." + rest.rpartition(".")[2]
    return bool(found) and any(o.startswith(start) and o.endswith(end) for o in there)


def settled(storage: Storage, config: TableConfig, reads: bool = False) -> Timeline:
    """The timeline, with all on it that has been decided when this was called. ``reads`` as for
    :func:`settle`."""
    timeline: Timeline
    taken, timeline = together(storage, partial(_numbers, storage), partial(load, storage, config))
    last = settle(storage, config, taken, reads)
    # What was listed at the same time may lack a decision that was carried out meanwhile, none from
    # before.
    if taken.numbers and last not in taken.done:
        timeline = load(storage, config)
    return evolve(timeline, decided=last)


def barrier(snapshot: Snapshot) -> None:
    """Take a number and decide nothing: whoever decides upon an older look has to look again."""
    decide(snapshot, lambda fresh: Decision())


@frozen
class _Taken:
    """A listing: the numbers that were taken, ascending, and those that have been carried out."""

    numbers: tuple[int, ...]
    done: frozenset[int]


def _claim(storage: Storage, last: int, decision: Decision, token: str) -> _Taken | None:
    """The listing after this writer took the next number; None if another writer took it."""
    if not _put(storage, last + 1, encode_decision(token, decision), token):
        return None
    try:
        return _stands(storage, last + 1, token)
    except StorageError as error:  # the number stands, and with it what it decides
        raise StorageUnknownError(error.obj, error.rule, error.fix) from error


def _stands(storage: Storage, own: int, token: str) -> _Taken | None:
    """The numbers, if ``own`` is the next one indeed. A writer that slept may have put a number
    that others took long before, and that was deleted as an old one. It is deleted again then; a
    mark of the old one may still exist, but with another token."""
    taken = _numbers(storage)
    # Half of those that are kept: a listing may miss one that goes while it lasts.
    if taken.numbers and own > taken.numbers[-1] - KEPT // 2:
        return taken
    with suppress(FileNotFoundError):
        if storage.get(_done(own)) == token.encode():
            return taken
    # A mark is deleted after its number: a number that exists without it was not carried out.
    if storage.head(number_path(own)) is None:
        raise StorageUnknownError(
            f"{storage.root}/{number_path(own)}",
            "was deleted with the old numbers before it was read.",
            "Look at the timeline.",
        )
    storage.delete(number_path(own))
    return None


def _put(storage: Storage, number: int, data: bytes, token: str) -> bool:
    """Whether this writer has the number. After an unknown answer the same request is sent again: a
    first request that is still in progress can't succeed too once the second has an answer."""
    unknown: StorageError | None = None
    for _ in range(2):
        try:
            if storage.put_if_absent(number_path(number), data):
                return True
            return unknown is not None and decode_decision(storage, number)[0] == token
        except StorageUnknownError as error:
            if isinstance(error, PluginError):
                raise  # it would answer no better if asked again
            unknown = error
        except StorageError as error:
            if unknown is None:
                raise
            unknown = error
    with suppress(StorageError, FileNotFoundError):
        return decode_decision(storage, number)[0] == token
    assert unknown is not None
    raise StorageUnknownError(unknown.obj, unknown.rule, unknown.fix) from unknown


def _carried_out(
    storage: Storage, number: int, decision: Decision, token: str, taken: _Taken, begun: float
) -> Mark | None:
    made: list[str] = []
    try:
        if decision.path and not _put_decided(storage, decision, made):
            log.warning("ledger_not_ours", path=decision.path)
            return None
    except StorageError as error:
        log.warning("ledger_left_to_next", path=decision.path, error=str(error))
        return None
    slept = time.time() - begun > _ASLEEP
    return partial(_mark, storage, number, decision, token, taken, made, slept)


def _mark(
    storage: Storage, number: int, decision: Decision, token: str, taken: _Taken,
    made: Sequence[str], slept: bool, *beside: Callable[[], Any],
) -> list[Any]:  # fmt: skip
    """Say that ``number`` is carried out, and take away what was old when it was taken. The
    answers of the calls ``beside``, whose errors are raised."""
    past = [old for old in taken.numbers if old <= number - KEPT]
    marks = sorted(taken.done.difference(taken.numbers))
    gone = [*map(number_path, past), *map(_done, marks)]
    if at_once(storage) < 2:  # a mark goes after its number: else with the next decision
        gone += map(_done, past)

    def mark() -> None:
        # Where the mark is there already, another process has carried out the decision, and may
        # have gone on since.
        with suppress(StorageError):  # the next one finds the file and says so then
            if not storage.put_if_absent(_done(number), token.encode()) or slept:
                _discard_late(storage, decision, made)

    def clear() -> None:
        with suppress(StorageError):  # the next decision takes them away
            discard(storage, gone)

    return together(storage, mark, clear, *beside)[2:]


def _discard_late(storage: Storage, decision: Decision, made: Sequence[str]) -> bool:
    """Remove the files that this process ``made`` too late: another one had carried out the
    decision, and its instant has been undone or archived since, so that its requested and inflight
    files do not exist any more. Whether it was so."""
    folders = {path.rpartition("/")[0] for path in made}
    there = {e.path for folder in folders for e in storage.list(folder)}
    if decision.path not in there or there.issuperset(decision.needs):
        return False
    log.warning("ledger_late", path=decision.path)
    instants = {_INSTANT.match(path) for path in there.difference(made)}
    others = {found[0] for found in instants if found}
    discard(storage, [p for p in made if (found := _INSTANT.match(p)) and found[0] not in others])
    return True


def _put_decided(storage: Storage, decision: Decision, made: list[str]) -> bool:
    """False: a file with other bytes exists. (If the bytes are equal, an earlier answer was lost,
    or another writer helped.) Adds the paths of new files to ``made``."""
    files = (*decision.before, (decision.path, decision.content))
    if not all(put_file(storage, *file, made) for file in files):
        return False
    return decision.then is None or _put_whole(storage, decision.then, made)


def put_file(storage: Storage, path: str, content: bytes, made: list[str]) -> bool:
    """Whether the file is there with these bytes; ``made`` comes to have its path where it was not
    before."""
    try:
        created = storage.put_if_absent(path, content)
    except StorageUnknownError:
        created = storage.put_if_absent(path, content)
    if created:
        made.append(path)
    return created or get_if_there(storage, path) == content


def _put_whole(storage: Storage, action: Whole, made: list[str]) -> bool:
    """Put its files in order; delete after the request, which is all that other writers rely on."""
    requested, *others = (partial(put_file, storage, *file, made) for file in action.files)
    if not requested() or not others:
        return not others
    inflight, completed = others
    return together(storage, inflight, partial(discard, storage, action.gone))[0] and completed()


def _numbers(storage: Storage) -> _Taken:
    matches = [m for name in names_in(storage, FOLDER) if (m := _NUMBER.fullmatch(name))]
    numbers = sorted(int(m[1]) for m in matches if not m[2])
    return _Taken(tuple(numbers), frozenset(int(m[1]) for m in matches if m[2]))


def _done(number: int) -> str:
    return f"{number_path(number)}.done"
