"""What the names in the directory of a timeline show. Pure, and rebuilt for what is new only.

A process remembers the newest listing of each timeline: when a table is opened again, only new
names are parsed. A listing means the same to every reader, so it is used without a check.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable
from threading import Lock

from attrs import frozen

from hoodoo.model.instant import Instant, State
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.layouts import TimelineLayout
from hoodoo.timeline.names import PENDING, completed_action

_RANK = {State.REQUESTED: 0, State.INFLIGHT: 1, State.COMPLETED: 2}
_REMEMBERED = 16
# A savepoint has the requested time of the commit it keeps: the action is part of the key.
_Key = tuple[str, str]


@frozen
class Selected:
    """Selections of ``instants``. ``writes``: the completed ones by requested time; ``others``: all
    but these; ``last``: the greatest requested or completion time."""

    instants: tuple[Instant, ...]
    writes: dict[str, Instant]
    pending: tuple[Instant, ...]
    others: tuple[Instant, ...]
    last: str | None


def select(
    instants: tuple[Instant, ...], before: Selected | None = None, same: int = 0
) -> Selected:
    """The selections of ``instants``, which are sorted by requested time. The first ``same`` of
    them are those of ``before``, whose other instants have gone no step back."""
    old = before or _NONE
    if same:
        writes, edge = dict(old.writes), len(old.instants)
        for instant in old.instants[same:]:
            if writes.get(instant.requested) is instant:
                del writes[instant.requested]
        gone = set(map(id, old.instants[same:edge]))
        pending = [i for i in old.pending if id(i) not in gone]
        others = list(old.others)
        while others and id(others[-1]) in gone:  # sorted, as the instants are
            others.pop()
        last = old.last
    else:
        writes, pending, others, last = {}, [], [], None
    greatest = order_key(last or "")
    makes_rows: dict[str, bool] = {}
    for instant in instants[same:]:
        if instant.state is State.COMPLETED:
            action = instant.action
            counts = makes_rows.get(action)
            if counts is None:
                counts = makes_rows[action] = instant.completes_as_write
            if counts:
                writes[instant.requested] = instant
            else:
                others.append(instant)
        else:
            pending.append(instant)
            others.append(instant)
        for time in (instant.requested, instant.completed):
            if time is not None and (key := order_key(time)) > greatest:
                last, greatest = time, key
    return Selected(instants, writes, tuple(pending), tuple(others), last)


_NONE = Selected((), {}, (), (), None)


@frozen
class Listed:
    """``names``: of all files there, foreign ones, too. ``start``: see
    :class:`~hoodoo.timeline.timeline.Timeline`."""

    layout: TimelineLayout | None
    names: frozenset[str]
    selected: Selected
    start: str | None


NOTHING = Listed(None, frozenset(), _NONE, None)


def listed(names: Iterable[str], layout: TimelineLayout, known: Listed = NOTHING) -> Listed:
    """What a directory with these ``names`` shows. ``known``: an older listing, of anything; if it
    is of the same directory, only what is new is parsed."""
    names = frozenset(names)
    if known.layout == layout:
        new = names - known.names
        if len(names) == len(known.names) + len(new):  # nothing has gone
            advanced = _advanced(known, names, new)
            if advanced is not None:
                return advanced
    return _made(layout, names, sorted(_furthest(names, layout).values(), key=_place))


def _made(
    layout: TimelineLayout,
    names: frozenset[str],
    instants: Iterable[Instant],
    before: Selected | None = None,
    same: int = 0,
) -> Listed:
    selected = select(tuple(instants), before, same)
    return Listed(layout, names, selected, _start(selected))


def _advanced(known: Listed, names: frozenset[str], new: frozenset[str]) -> Listed | None:
    """``known`` with ``new`` names in addition; None where an instant is completed twice."""
    if not new:
        return known
    assert known.layout is not None
    come = [i for name in sorted(new) if (i := known.layout.parse_instant(name)) is not None]
    if not come:
        return Listed(known.layout, names, known.selected, known.start)
    instants = known.selected.instants
    first = min(order_key(i.requested) for i in come)
    same = bisect_left(instants, first, key=lambda i: order_key(i.requested))
    furthest = {_key(i): i for i in instants[same:]}
    for instant in come:
        before = furthest.setdefault(_key(instant), instant)
        if before is not instant:
            if before.is_completed and instant.is_completed:
                return None
            if _further(instant, before):
                furthest[_key(instant)] = instant
    late = sorted(furthest.values(), key=_place)
    return _made(known.layout, names, (*instants[:same], *late), known.selected, same)


def _furthest(names: frozenset[str], layout: TimelineLayout) -> dict[_Key, Instant]:
    """The furthest state of each instant. The files of earlier states of what is completed, two of
    three, are not parsed."""
    furthest: dict[_Key, Instant] = {}
    pending = [name for name in names if name.endswith(PENDING)]
    for name in names.difference(pending):
        _note(furthest, layout.parse_instant(name))
    ends: dict[
        str, str
    ] = {}  # what follows the time in the name of a pending instant: what it completes as
    left = []
    for name in pending:
        time, _, rest = name.partition(".")
        end = ends.get(rest)
        if end is None:
            instant = layout.parse_instant(name)
            if instant is None:
                continue
            end = ends[rest] = completed_action(instant.action)
        if (time, end) not in furthest:
            left.append(name)
    for name in sorted(left):
        _note(furthest, layout.parse_instant(name))
    return furthest


def _note(furthest: dict[_Key, Instant], instant: Instant | None) -> None:
    if instant is not None:
        known = furthest.setdefault(_key(instant), instant)
        if known is not instant and _further(instant, known):
            furthest[_key(instant)] = instant


def _further(new: Instant, old: Instant) -> bool:
    if new.is_completed and old.is_completed:
        # Two completions of one instant (a writer that lost contact) are two files on layout 2:
        # the earlier one is when readers first saw it.
        return new.completion_order < old.completion_order
    return _RANK[new.state] > _RANK[old.state]


def _key(instant: Instant) -> _Key:
    return instant.requested, completed_action(instant.action)


def _place(instant: Instant) -> tuple[str, str]:
    return order_key(instant.requested), instant.action


def _start(selected: Selected) -> str | None:
    """The first write instant, pending ones too; cleans, rollbacks and savepoints don't count.

    A savepointed commit stays active while later ones are archived around it, so it can't be the
    start unless there is nothing else.
    """
    kept = {i.requested for i in selected.others if i.traits.keeps and i.is_completed}
    first: str | None = None
    for instant in selected.instants:
        if instant.completes_as_write:
            if instant.requested not in kept:
                return instant.requested
            first = first or instant.requested
    return first


# --- in this process ------------------------------------------------------------------------------
_seen: OrderedDict[tuple[str, str], Listed] = OrderedDict()
_lock = Lock()


def remembered(root: str, folder: str) -> Listed:
    """The newest listing that this process has seen of the timeline there, whatever has become of
    it since."""
    with _lock:
        return _seen.get((root, folder), NOTHING)


def remember(root: str, folder: str, found: Listed) -> None:
    """The next one who opens the table goes on from ``found``."""
    with _lock:
        _seen[root, folder] = found
        _seen.move_to_end((root, folder))
        while len(_seen) > _REMEMBERED:
            _seen.popitem(last=False)
