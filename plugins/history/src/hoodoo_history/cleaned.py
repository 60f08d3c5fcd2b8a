"""Cleaned: the files that cleans took away, seen as if they were still there.

An older state of a table can be read as long as its files are there. Which files it had can't be
told from a listing that lacks them, so what cleans say they deleted is put beside the listing:
where the state needs one of these, it is gone, and the reader says so instead of reading less."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import frozen
from hoodoo.actions.rollback.validation import taken_back
from hoodoo.errors import ConfigError, HoodooError
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import BaseFile, FileSlice, LogFile
from hoodoo.participants.listing import list_data
from hoodoo.participants.lost import lost_file, removed_files
from hoodoo.participants.travel import deleted_by, undone_meanwhile
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.removed import taken_since, was_removed
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline
from hoodoo.timeline.view import DataFile

Key = tuple[str, str]  # partition path, file id


@frozen
class CleanedFiles:
    """``files``: all that are there or were. ``gone``: path -> the clean that took it away."""

    files: tuple[DataFile, ...]
    gone: Mapping[str, str]
    source: ReadSource

    @classmethod
    def of(cls, source: ReadSource, cleans: bool = True) -> CleanedFiles:
        """One listing; with ``cleans`` also what the cleans on the timeline say they deleted.
        (Those that came between the look at the timeline and the listing are heeded without.)

        Raises CommitConflictError if a write was undone between the two."""
        entries = list_data(source.snapshot)
        found = [f for e in entries if (f := parse_path(e.path, e.size)) is not None]
        taken = taken_since(source.snapshot)
        if taken.undone:
            raise undone_meanwhile(source.storage, taken)
        if not cleans and not taken.cleans:
            return cls(tuple(found), {}, source)
        there = {file.path for file in found}
        deleted = _deleted(Snapshot(source.storage, taken.timeline))
        gone = {path: clean for path, clean in deleted.items() if path not in there}
        # Those of writes that were undone since are of no state.
        undone = taken_back(Snapshot(source.storage, taken.timeline)) if gone else ()
        files = (parse_path(path, 0) for path in gone)
        lost = [file for file in files if file is not None and file.instant not in undone]
        return cls((*found, *lost), gone, source)

    def by_group(self) -> dict[Key, list[DataFile]]:
        groups: dict[Key, list[DataFile]] = {}
        for file in self.files:
            groups.setdefault((file.partition_path, file.file_id), []).append(file)
        return groups

    def check(self, slices: Iterable[FileSlice], asked: str) -> None:
        """ConfigError if one of ``slices`` needs a file that is gone; ``asked`` names what was
        asked."""
        for slice_ in slices:
            for file in (slice_.base_file, *slice_.log_files):
                if file is not None and file.path in self.gone:
                    raise cleaned(asked, file.path, f"the clean {self.gone[file.path]}")

    def missing(self, path: str, asked: str) -> HoodooError:
        """The error about the file ``path``, which is not there: a clean took it, perhaps one that
        is archived, or it is lost."""
        storage = self.source.storage
        if was_removed(removed_files(Snapshot(storage, self.source.timeline)), path):
            return cleaned(asked, path)
        return lost_file(storage, path, "a commit")


def cleaned(asked: str, path: str, by: str = "a clean") -> ConfigError:
    return ConfigError(
        asked,
        f"needs the file {path}, which {by} has taken away",
        "ask for a later point (until=None reads the newest state), and let cleans keep what "
        "readers "
        "need: hoodie.clean.commits.retained, hoodie.clean.hours.retained or a savepoint.",
    )


def check_stats(
    history: CleanedFiles,
    timeline: Timeline,
    slice_: FileSlice | None,
    stats: Iterable[WriteStat],
    asked: str,
) -> None:
    """ConfigError if a file that ``stats`` of its group name should be in ``slice_`` and is not:
    the clean that took it may be archived; CorruptTableError if none took it. ``timeline`` is the
    one that the slice is seen in."""
    start = "" if slice_ is None else order_key(slice_.instant)
    there = _paths(slice_)
    for stat in stats:
        file = parse_path(stat.path, stat.file_size) if stat.path else None
        if file is None or file.path in there or is_to_come(stat, timeline, history):
            continue
        if isinstance(file, LogFile):
            reached = order_key(timeline.log_time(file)) >= start
        else:
            reached = order_key(file.instant) > start
        if reached and not file_suffix(file):
            raise history.missing(file.path, asked)


def is_to_come(stat: WriteStat, then: Timeline, history: CleanedFiles) -> bool:
    """Whether ``stat`` is of a log file in a group that a clustering makes, which is not there in
    ``then``: it was planned only, or has been cancelled since. The write put its rows into the
    group that is there, too."""
    file = parse_path(stat.path, stat.file_size) if stat.path else None
    if not isinstance(file, LogFile):
        return False
    timeline = history.source.timeline
    begun = next((i for i in timeline.instants if i.requested == file.instant), None)
    if begun is None:
        return not timeline.contains_or_before_start(file.instant)
    return begun.traits.replaces and then.find(file.instant) is None


def file_suffix(file: BaseFile | LogFile) -> str:
    """Not empty for logs of change data, which are no part of a slice's state."""
    return file.suffix if isinstance(file, LogFile) else ""


def _paths(slice_: FileSlice | None) -> set[str]:
    if slice_ is None:
        return set()
    base = {slice_.base_file.path} if slice_.base_file else set()
    return base | {log.path for log in slice_.log_files}


def _deleted(snapshot: Snapshot) -> dict[str, str]:
    """Path -> instant of the clean that deleted it, or that is about to."""
    return {
        path: clean.requested
        for clean in snapshot.instants
        if clean.traits.deletes
        for path in deleted_by(snapshot, clean)
    }
