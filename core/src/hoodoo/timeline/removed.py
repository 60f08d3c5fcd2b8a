"""Removed: which files cleans took away, or are about to, by what they say of themselves.

Their form is Hudi's, the same in all table versions. Which instants delete files by a plan is said
by their action.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from hoodoo.errors import CorruptTableError
from hoodoo.model.filegroup import path_of
from hoodoo.model.instant import Instant, State
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline


@frozen
class Taken:
    """Since an older look: ``cleans`` may have deleted files (an earlier clean was planned for that
    look or an older one, and deletes no file that it needs), ``undone`` are writes that were
    completed then. ``timeline`` is the current one."""

    timeline: Timeline
    cleans: tuple[Instant, ...]
    undone: tuple[Instant, ...]

    def __bool__(self) -> bool:
        return bool(self.cleans or self.undone)


def taken_since(snapshot: Snapshot) -> Taken:
    """What happened since ``timeline`` was looked at. One listing."""
    now, known = snapshot.reload().timeline, {i.requested for i in snapshot.timeline.others()}
    cleans = tuple(i for i in now.others() if i.traits.deletes and i.requested not in known)
    return Taken(now, cleans, now.undone_since(snapshot.timeline))


Removed = tuple[str, str]  # partition path, name of a file; or "" for all files of the partition
# Hoodoo's key in the extra metadata: the first instant that time travel can still read.
READABLE = "hoodoo.clean.readable.from"
_FIX = "Delete this clean's requested and inflight file: a clean can always be planned again."


def removed_by(said: Mapping[str, Any]) -> set[Removed]:
    """From HoodieCleanMetadata or HoodieCleanerPlan, whose paths are names, relative or
    absolute."""
    found: set[Removed] = set()
    for partition, part in (said.get("partitionMetadata") or {}).items():
        if part.get("isPartitionDeleted"):
            found.add((partition, ""))
        for key in ("deletePathPatterns", "successDeleteFiles", "failedDeleteFiles"):
            found |= {(partition, _name(path)) for path in part.get(key) or ()}
    found |= {(partition, _name(path)) for partition, path in _planned(said, bootstrap=True)}
    found |= {(partition, "") for partition in said.get("partitionsToBeDeleted") or ()}
    return found


def was_removed(removed: Mapping[Removed, str], path: str) -> bool:
    """Whether a clean removed the file ``path``: one that deleted its partition took older files
    alone."""
    (partition, _, name), file = path.rpartition("/"), parse_path(path)
    whole = removed.get((partition, ""), "")
    return (partition, name) in removed or bool(file and order_key(file.instant) < order_key(whole))


def planned_files(snapshot: Snapshot, instant: Instant) -> tuple[str, ...]:
    """The files that ``instant`` deletes, by its plan, as paths below the table root, whatever the
    table's address was when it was made. Old plans, which hold names, are understood.

    Raises CorruptTableError naming the plan where it names what is no file of a table, and
    FileNotFoundError where it is not there.
    """
    requested = instant.at(State.REQUESTED)
    where = f"{snapshot.root}/{snapshot.path(requested)}"
    return files_of_plan(snapshot.contents(requested), where)


def files_of_plan(said: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """The same of a plan that was read from ``where``."""
    found = []
    for partition, path in _planned(said):
        below = path_of(partition.strip("/"), _name(path))
        if parse_path(below) is None:
            raise CorruptTableError(
                where, f"the plan of a clean names {path}, which is not a file of a table.", _FIX
            )
        found.append(below)
    return tuple(dict.fromkeys(found))


def last_clean(snapshot: Snapshot) -> tuple[Instant, Mapping[str, Any]] | None:
    """The newest completed clean of the active timeline, and what it says; one with an empty file
    counts as none."""
    done = newest(snapshot.timeline)
    if done is None:
        return None
    try:
        found = snapshot.contents(done)
    except FileNotFoundError:  # archived meanwhile
        return None
    return (done, found) if found else None


def newest(timeline: Timeline) -> Instant | None:
    """Return the newest completed action that deletes files, a clean; None without one."""
    done = [i for i in timeline.others() if i.is_completed and i.traits.deletes]
    return done[-1] if done else None


def _planned(said: Mapping[str, Any], bootstrap: bool = False) -> Iterator[Removed]:
    """Partition path and path or name of each file of a plan. A ``bootstrap`` base file lies
    outside of the table, and Hoodoo must not delete it."""
    for partition, paths in (said.get("filesToBeDeletedPerPartition") or {}).items():
        yield from ((partition, str(path)) for path in paths or ())
    for partition, files in (said.get("filePathsToBeDeletedPerPartition") or {}).items():
        for file in files or ():
            if bootstrap or not file.get("isBootstrapBaseFile"):
                yield partition, str(file.get("filePath"))


def _name(path: object) -> str:
    return str(path).rpartition("/")[2]
