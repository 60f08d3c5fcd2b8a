"""Tables that have lived a while, and the services of such a life: for the trials beside this module.

A *point* is a completed write and the rows behind it. Whatever ends where, a point that is on the
timeline shows its rows or says that they are gone; never others.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import merge_on_read
from attrs import frozen
from crash_leaks import leaks
from crash_trials import (
    Operation,
    State,
    age_temporaries,
    build,
    copied,
    opened,
    ours,
    plus_next,
    rows,
    state,
    write_next,
)
from hoodoo.errors import HoodooError
from merge_on_read import waits, with_options

KINDS = ("on-write", "on-read")
# One at a time, so that the n-th operation is the same in each trial.
CLEANING = {"hoodie.clean.commits.retained": "1", "hoodie.clean.parallelism": "1"}
ARCHIVING = {**CLEANING, "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}

Point = tuple[str, State]


@frozen
class Life:
    """A table to copy. ``points`` by the order of its writes."""

    path: Path
    kind: str
    points: tuple[Point, ...]

    def rows(self, regions: dict[int, str], v: str, ts: int) -> Any:
        return (rows if self.kind == "on-write" else merge_on_read.rows)(regions, v, ts)


def live(path: Path, version: int, kind: str) -> Life:
    """Five writes, and a compaction among them: a partition comes and goes, all others change."""
    if kind == "on-write":
        build(path, version, 0)
    else:
        merge_on_read.build(path, version, "bucket", 0)
    life = Life(path, kind, ())
    writes: list[Operation] = [
        lambda t: t.upsert(life.rows({1: "a", 2: "a", 3: "b", 4: "b"}, "old", 1)),
        lambda t: t.upsert(life.rows({2: "a", 3: "b"}, "mid", 2)),
        lambda t: t.upsert(life.rows({7: "d"}, "gone", 3)),
        lambda t: t.delete_partitions("d"),
        lambda t: t.upsert(life.rows({1: "a", 6: "b"}, "late", 4)),
    ]
    if kind == "on-read":
        writes.insert(3, lambda t: t.compact())
    points = []
    for write in writes:
        done: Any = write(opened(path))
        points.append((done.instant, state(path)))
    return Life(path, kind, tuple(points))


def cleaned(life: Life, path: Path) -> Life:
    """The same, two writes later, and clean: what is old may be archived."""
    copied(life.path, path)
    points = list(life.points)
    for text, ts in (("one", 5), ("two", 6)):
        commit = opened(path).upsert(life.rows({1: "a", 3: "b"}, text, ts))
        points.append((commit.instant, state(path)))
    with_options(opened(path), CLEANING).clean()
    return Life(path, life.kind, tuple(points))


def due(life: Life, path: Path) -> Life:
    """The same, and one write later: the next one makes something to clean, and to archive."""
    found = cleaned(life, path)
    commit = opened(path).upsert(life.rows({1: "a", 3: "b"}, "due", 7))
    points = [*found.points, (commit.instant, state(path))]
    if life.kind == "on-read":
        points.append((opened(path).compact().instant, state(path)))
    return Life(path, life.kind, tuple(points))


def saved(life: Life, path: Path) -> Life:
    """The same with a savepoint of the second write, without which it would have been cleaned."""
    copied(life.path, path)
    opened(path).savepoint(life.points[1][0])
    with_options(opened(path), CLEANING).clean()
    return Life(path, life.kind, life.points)


MAKERS: dict[str, Callable[[Life, Path], Life]] = {"cleaned": cleaned, "due": due, "saved": saved}
# Service -> the table it works on. The inline ones come after a write.
TABLES = {
    "clean": "lived",
    "archive": "cleaned",
    "rollback": "lived",
    "savepoint": "lived",
    "delete_savepoint": "saved",
    "restore": "lived",
    "restore_saved": "saved",
    "inline": "due",
}
CHANGING = {"rollback", "restore", "restore_saved", "inline"}


def operation(life: Life, name: str) -> Operation:
    """What the service ``name`` does to ``life``."""
    second, newest = life.points[1][0], life.points[-1][0]
    inline = {**ARCHIVING, **(merge_on_read.INLINE if life.kind == "on-read" else {})}
    data = life.rows({1: "a", 8: "b"}, "new", 8)
    found: dict[str, Operation] = {
        "clean": lambda t: with_options(t, CLEANING).clean(),
        "archive": lambda t: with_options(t, ARCHIVING).archive(),
        "rollback": lambda t: t.rollback(newest),
        "savepoint": lambda t: t.savepoint(newest, "kept"),
        "delete_savepoint": lambda t: t.delete_savepoint(second),
        "restore": lambda t: t.restore(second),
        "restore_saved": lambda t: t.restore(second),
        "inline": lambda t: with_options(t, inline).upsert(data),
    }
    return found[name]


def done(life: Life, path: Path, name: str) -> bool:
    """Whether the service has been done, all of it, so that another look finds nothing to do."""
    table, timeline = opened(path), opened(path).timeline()
    before = opened(life.path).timeline()
    new = set(timeline.completed()) - set(before.completed())
    kept = {s.instant for s in table.savepoints()}
    if name == "archive":
        return len(timeline.writes()) < len(before.writes())
    if name in ("savepoint", "delete_savepoint"):
        wanted = life.points[-1 if name == "savepoint" else 1][0]
        return (wanted in kept) == (name == "savepoint")
    if name == "inline":
        return any(i.action in ("commit", "deltacommit") for i in new)
    return any(i.action == name.removesuffix("_saved") for i in new)


def readable(life: Life, path: Path) -> frozenset[str]:
    """The points that are on the timeline and can be read; all others have to say so."""
    found = set()
    timeline = opened(path).timeline()
    for instant, expected in life.points:
        if timeline.find(instant) is None:
            continue
        try:
            shown = as_of(path, instant)
        except HoodooError:
            continue
        assert shown == expected, f"as of {instant}: {shown}"
        found.add(instant)
    return frozenset(found)


def as_of(path: Path, instant: str) -> State:
    names = ("id", "v", "region")
    found = opened(path).read(columns=list(names), as_of=instant).to_arrow()
    return tuple(sorted(zip(*(found.column(n).to_pylist() for n in names))))


def between(life: Life, old: State, new: State) -> set[State]:
    """What a reader may meet: the old table, the new one, and of a restore the points between."""
    rows = [found for _, found in life.points]
    first = rows.index(new) if new in rows else len(rows)
    return {old, new, *rows[first:]}


def seen(path: Path) -> State:
    """As both readers see it; ``hudi`` 0.5 doesn't look at the log files that version 6 names by a
    pending compaction."""
    old = waits(path) and opened(path).config.version == 6
    return ours(path) if old else state(path)


def check_goes_on(path: Path, allowed: set[State], where: str) -> State:
    """The next write needs no manual step, adds its key to one of ``allowed``, and leaves nothing half
    done but what the services after it finish. Answers which it was."""
    age_temporaries(path)
    write_next(opened(path))
    found = {plus_next(rows): rows for rows in allowed}
    now = seen(path)
    assert now in found, f"{where}: {now}"
    assert leaks(path, services=True) == [], where
    return found[now]


def check_cleans(path: Path, expected: State, where: str) -> None:
    """What was planned is finished, then a clean and an archiving: no row changes, nothing is left that
    nobody tells of, nor what another clean, which looks at the whole table, would take."""
    if waits(path):
        opened(path).compact()
    table = with_options(opened(path), ARCHIVING)
    table.clean()
    table.archive()
    assert state(path) == expected, where
    assert leaks(path) == [], where
    whole = opened(path)
    assert whole.schedule_clean(commits_retained=1, incremental_enabled="false") is None, where


def check_archives(path: Path, expected: State, where: str) -> None:
    """When the timeline has come to begin after all that was undone, nothing of it is there: readers
    take what is older than the timeline for committed."""
    settings = {**ARCHIVING, "hoodie.keep.min.commits": "1", "hoodie.keep.max.commits": "2"}
    undone = opened(path).timeline().completed()
    assert with_options(opened(path), settings).archive().instants, where
    start = opened(path).timeline().start or ""
    assert start > min(i.requested for i in undone if i.action in ("rollback", "restore")), where
    assert state(path) == expected, where
    assert leaks(path) == [], where
