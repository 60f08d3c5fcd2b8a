"""Undo check: whether the table can be as it was before certain instants.

What these instants replaced has to be there still: cleaning may have taken it. And nobody may be
about to build on what goes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from attrs import evolve

from hoodoo.errors import CommitConflictError, ConfigError
from hoodoo.kernel.archived import load_archived
from hoodoo.model.commit import Operation
from hoodoo.model.filegroup import BaseFile, LogFile, path_of
from hoodoo.model.instant import Instant, State
from hoodoo.storage.api import Storage
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.names import parse_data_file, parse_path
from hoodoo.timeline.plans import is_compaction
from hoodoo.timeline.removed import Removed, removed_by
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline
from hoodoo.timeline.view import FileSystemView, Key, from_files, list_data

Files = tuple[BaseFile | LogFile, ...]


def data_files(storage: Storage) -> Files:
    """All data files: one listing of the table."""
    parsed = (parse_path(e.path, e.size) for e in list_data(storage))
    return tuple(f for f in parsed if f is not None)


def without(timeline: Timeline, undone: Iterable[Instant]) -> Timeline:
    """The timeline as it will be."""
    gone = {(i.requested, i.action) for i in undone}
    kept = tuple(i for i in timeline.instants if (i.requested, i.action) not in gone)
    return evolve(timeline, instants=kept)


def refuse_missing(snapshot: Snapshot, undone: Sequence[Instant], files: Files, what: str) -> None:
    """Raises ConfigError if files that the table needs without ``undone`` were deleted, and
    CommitConflictError if a pending clean will delete some. ``files``: all that exist; ``what``: a
    name for messages. Reads the metadata of ``undone`` and of the cleans."""
    now = from_files(snapshot.at(without(snapshot.timeline, undone)), files)
    lost = _replaced(snapshot, undone, files)
    listed = {f.path for f in files}
    for clean in snapshot.completed():
        if clean.traits.deletes:
            deleted = _files(removed_by(snapshot.contents(clean)))
            gone = tuple(f for f in deleted if f.path not in listed)  # a delete may have failed
            lost |= _needed(snapshot.timeline, now, undone, gone)
    lost = _needed_still(snapshot, lost)
    if lost:
        raise ConfigError(
            f"{snapshot.root}: {what}",
            f"a clean has deleted files that it needs: {_some(sorted(lost))}.",
            "Choose a later instant. A savepoint protects its files from cleans.",
        )
    there = {f.path for s in now.slices for f in (s.base_file, *s.log_files) if f is not None}
    for clean in snapshot.pending():
        if not clean.traits.deletes:
            continue
        try:
            planned = _files(removed_by(snapshot.contents(clean.at(State.REQUESTED))))
        except FileNotFoundError:
            continue  # it has gone
        taken = {f.path for f in planned if f.path in there}
        taken |= _needed_still(snapshot, _needed(snapshot.timeline, now, undone, planned))
        if taken:
            raise CommitConflictError(
                f"{snapshot.root}: {what}",
                f"clean {clean.requested} is pending and will delete files that it needs: "
                f"{_some(sorted(taken))}.",
                "Run table.clean(), then choose a later instant.",
            )


def refuse_unless_newest(snapshot: Snapshot, instant: Instant) -> None:
    """Raises ConfigError if the completed ``instant`` is not the newest write, or a savepoint
    keeps it; CommitConflictError if it is not completed, or what is pending may build on it."""
    obj = f"{snapshot.root}: instant {instant.requested}"
    if snapshot.find(instant.requested) is None:
        raise CommitConflictError(obj, "is not completed any more.", "Look at table.timeline().")
    if instant.requested in snapshot.timeline.savepointed():
        raise ConfigError(
            obj, "is kept by a savepoint.",
            f'Call table.delete_savepoint("{instant.requested}") first.',
        )  # fmt: skip
    later = [i for i in snapshot.writes() if _later(snapshot, i, instant)]
    if later:
        raise ConfigError(
            obj,
            f"is not the newest completed write: {later[-1]} came after it.",
            "Roll back the later writes first, beginning with the newest, or undo all of them at "
            "once: table.restore(instant), where instant is the last write that you want to keep.",
        )
    for other in snapshot.pending():
        if other.traits.rewinds:  # it has planned what it undoes, or copied the timeline
            raise CommitConflictError(
                obj,
                f"{other} undoes writes, or changes the version.",
                "Open the table again when it has ended. If its process died, the next write or "
                "table.rollback() ends it.",
            )
        later_one = order_key(other.requested) > order_key(instant.requested)
        if other.completes_as_write and later_one:
            raise CommitConflictError(
                obj, f"{other} may build on it.",
                f'Wait for it, or call table.rollback("{other.requested}") first.',
            )  # fmt: skip


def refuse_begun_slices(snapshot: Snapshot, instant: Instant) -> None:
    """Raises ConfigError if log files are named after the pending compaction ``instant`` (version
    6): without its base files other readers would take them for the whole slice."""
    if not snapshot.layout.log_names_slice or not instant.traits.begins_slices:
        return
    files = data_files(snapshot.storage)
    if any(isinstance(f, LogFile) and f.instant == instant.requested for f in files):
        raise ConfigError(
            f"{snapshot.root}: {instant}", "already has newer log files.",
            f'Run it: table.run_compaction("{instant.requested}").',
        )  # fmt: skip


def taken_back(snapshot: Snapshot, recent: bool = False) -> set[str]:
    """Instants that rollbacks and restores undid (since the newest write was requested, if
    ``recent``), and that are not on the timeline (again), active or archived.

    Only the recent ones may have tasks that still run; what was undone before a write was
    requested, that write has looked at. What comes later yet stays invisible as long as its instant
    is younger than the timeline's start, and archiving looks once more before that changes.
    """
    newest = next((i.requested for i in snapshot.writes()[-1:]), "")
    found: set[str] = set()
    for instant in snapshot.timeline.others():
        if not instant.is_completed:
            continue
        if recent and newest and order_key(instant.completion_order) <= order_key(newest):
            continue
        if instant.traits.undoes:
            # One that is archived meanwhile: who archives has looked first.
            with suppress(FileNotFoundError):
                contents = snapshot.contents(instant)
                found.update(contents.get(instant.traits.undid) or ())
    found -= {i.requested for i in snapshot.instants if not i.traits.undoes}
    if found:  # Spark Hudi runs a compaction that it has undone again: it may be archived by now
        since = min(found, key=order_key)
        found -= {i.requested for i in load_archived(snapshot.storage, snapshot.config, since)}
    return found


def _later(snapshot: Snapshot, one: Instant, other: Instant) -> bool:
    """Whether ``one`` may build on ``other``. Compactions and clusterings change no row, and
    contain nothing that completed after their plan was made."""
    if order_key(one.requested) > order_key(other.requested):
        return True
    if one.completion_order <= other.completion_order:
        return False
    if one.traits.replaces:
        return snapshot.metadata(one).operation is not Operation.CLUSTER
    return not is_compaction(one, snapshot.config)


def _replaced(snapshot: Snapshot, undone: Sequence[Instant], files: Files) -> set[str]:
    """Base files that ``undone`` replaced and that are not there: the oldest of them that wrote a
    base file of a group names the one before."""
    names = {f.path for f in files}
    slices = {(f.partition_path, f.file_id, f.instant) for f in files}
    gone = {i.requested for i in undone}
    known: set[Key] = set()
    found: set[str] = set()
    completed = [i for i in undone if i.is_completed]
    for instant in sorted(completed, key=lambda i: (i.completion_order, i.requested)):
        for stat in snapshot.metadata(instant).stats:
            key = (stat.partition_path, stat.file_id)
            if stat.log_version is not None or key in known:
                continue
            known.add(key)
            if stat.prev_commit in gone or stat.prev_commit in ("", "null", None):
                continue
            name = stat.prev_base_file or ""
            path = path_of(stat.partition_path, name)
            if path not in names and (*key, stat.prev_commit) not in slices:
                found.add(path if name else f"{path_of(*key)} of {stat.prev_commit}")
    return found


def _needed(
    timeline: Timeline, now: FileSystemView, undone: Sequence[Instant], taken: Files
) -> set[str]:
    """The files of ``taken``, which a clean deletes, that belong to the newest slice of a group in
    the view ``now``, without ``undone``; or to a newer slice of which no file exists."""
    gone = {i.requested for i in undone}
    found = set()
    for file in taken:
        if file.instant in gone or not timeline.contains_or_before_start(file.instant):
            continue
        if now.replaced_by(file.partition_path, file.file_id) is not None:
            continue
        group = now.group(file.partition_path, file.file_id)
        start = "" if group is None else order_key(group.slices[0].instant)
        if isinstance(file, BaseFile):
            needed = order_key(file.instant) > start
        else:
            needed = order_key(timeline.completion_time(file.instant)) >= start
        if needed:
            found.add(file.path)
    return found


def _needed_still(snapshot: Snapshot, paths: set[str]) -> set[str]:
    """``paths`` without those that nobody needs: of instants that were undone before, and of file
    groups that an archived instant replaced. Reads the undoing and the archived instants, if there
    are any paths."""
    files = {path: parse_path(path) for path in paths}
    oldest = min((f.instant for f in files.values() if f is not None), key=order_key, default=None)
    if oldest is None:
        return paths
    undone = taken_back(snapshot)
    replaced = {
        (partition, file_id)
        for instant in load_archived(snapshot.storage, snapshot.config, since=oldest)
        if instant.instant.traits.replaces
        for partition, file_ids in instant.metadata().replaced.items()
        for file_id in file_ids
    }
    needed = {p: f for p, f in files.items() if f is None or f.instant not in undone}
    return {
        p for p, f in needed.items() if f is None or (f.partition_path, f.file_id) not in replaced
    }


def _files(removed: Iterable[Removed]) -> Files:
    parsed = (parse_data_file(partition, name) for partition, name in removed)
    return tuple(f for f in parsed if f is not None)


def _some(paths: Sequence[str], most: int = 3) -> str:
    more = len(paths) - most
    return ", ".join(paths[:most]) + (f" and {more} more" if more > 0 else "")
