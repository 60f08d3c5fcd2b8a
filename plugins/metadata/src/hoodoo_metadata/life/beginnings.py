"""Beginnings: the instants under which partitions of the metadata table are made.

In versions 8 and 9 they are numbers before all time. In version 6 they are the newest instant of
the table with three digits more, from 010 on; 001 is a compaction's, 002 a clean's, 006 a
rollback's. So an instant there is after the one whose digits it begins with, and before the next
one."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from hoodoo.errors import CommitConflictError
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.timeline import Timeline
from hoodoo.timeline.view import DataFile

# How the instants begin with which Hudi makes a partition of a table without commits; of version 9,
# of any table.
BEGINNING = "0000000000000"
# So many of them, numbered from 0, are such to Hudi.
BEGINNINGS = 1000
_DIGITS = 17
_FIRST_SUFFIX, _SUFFIXES = 10, 1000
# The newest instant of a table without any, in version 6.
_NO_INSTANT = "0" * 14


def is_beginning(instant: str) -> bool:
    """Whether a partition began with ``instant``."""
    if len(instant) == _DIGITS:
        return instant.startswith(BEGINNING)
    return len(instant) == _DIGITS + 3 and int(instant[_DIGITS:]) >= _FIRST_SUFFIX


def is_own_instant(instant: str) -> bool:
    """Whether ``instant`` is one of the metadata table alone, of version 6: a beginning, a
    compaction."""
    return len(instant) > _DIGITS or instant.startswith(BEGINNING)


def numbered(number: int) -> str:
    """The instant of the ``number``-th beginning of a partition, from 0 on, in versions 8 and 9."""
    return f"{number:017d}"


def free_beginnings(
    count: int, data: Timeline, there: Collection[str], before: Collection[str]
) -> list[str]:
    """Instants for ``count`` beginnings of a metadata table of the timeline ``data``. They come
    after those that are ``there``, and those that were there ``before`` a wipe: tasks of an earlier
    build, which looked at older rows, may live on, and what they put must have other names, and
    find its instant gone."""
    if data.layout.log_names_slice:
        return _after_newest(count, data, {*there, *before})
    free = 1 + _greatest({*there, *before})
    if free + count > BEGINNINGS:
        free = 1 + _greatest(there)
    return [numbered(free + n) for n in range(count)]


def _greatest(instants: Iterable[str]) -> int:
    return max(map(int, instants), default=-1)


def _after_newest(count: int, data: Timeline, taken: Collection[str]) -> list[str]:
    done = [i.requested for i in data.completed()]
    newest = order_key(max(done, key=order_key)) if done else _NO_INSTANT
    used = [
        int(i[len(newest) :]) for i in taken if i.startswith(newest) and len(i) == len(newest) + 3
    ]
    first = max([_FIRST_SUFFIX, *(1 + n for n in used)])
    if first + count > _SUFFIXES:
        raise CommitConflictError(
            f"metadata table of {data.config.name}",
            f"has been made {_SUFFIXES - _FIRST_SUFFIX} times since {newest}.",
            "Write to the table, then build again.",
        )
    return [f"{newest}{first + n:03d}" for n in range(count)]


def late_beginnings(files: Iterable[DataFile], timeline: Timeline) -> frozenset[str]:
    """Beginnings of which there are ``files``, of one partition, and which came to nothing: they
    are not on the ``timeline`` of the metadata table, where a later one of the partition is, for
    which all before was wiped. A task of a build that died has put them since."""
    found = {file.instant for file in files if is_beginning(file.instant)}
    if len(found) < 2:
        return frozenset()
    known = found & {i.requested for i in timeline.instants}
    return frozenset(found - known) if known else frozenset()
