"""File groups and their slices: what a listing shows, in the light of the timeline.

A reader sees the newest slice of each group; files of uncommitted instants and groups that a
replacecommit took out are left out. Costs one listing and a few operations per file.

Readers of logs do the rest. If log files are named after their slice, one log has blocks of several
instants, committed or not, so readers check each block. A slice also has its ``.cdc`` logs
(``LogFile.suffix``), which cleaning needs and merging skips.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping

from attrs import define, frozen

from hoodoo.errors import CorruptTableError, UnsupportedTableError
from hoodoo.model.filegroup import BaseFile, FileGroup, FileSlice, LogFile
from hoodoo.storage.api import Entry, Storage
from hoodoo.storage.together import listings
from hoodoo.timeline.archived import ends_since
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

DataFile = BaseFile | LogFile
Key = tuple[str, str]  # partition path, file id


@frozen
class FileSystemView:
    """The files of a table at one moment.

    ``slices``: the latest slice of every group that is in the table, sorted by partition and file
    id.
    """

    slices: tuple[FileSlice, ...]
    _groups: Mapping[Key, FileGroup]
    _replaced: Mapping[Key, str]
    _files: tuple[DataFile, ...]

    def groups(self, replaced: bool = False) -> tuple[FileGroup, ...]:
        """All groups with all committed slices, newest first; also replaced groups if asked for."""
        return tuple(g for k, g in self._groups.items() if replaced or k not in self._replaced)

    def group(self, partition: str, file_id: str) -> FileGroup | None:
        """One group, replaced or not."""
        return self._groups.get((partition, file_id))

    def replaced_by(self, partition: str, file_id: str) -> str | None:
        """The instant that took the group out of the table, or None."""
        return self._replaced.get((partition, file_id))

    def replaced_in_vain(self) -> dict[Key, str]:
        """Of the replaced groups those of which no file is there, with the instant that took them
        out of the table."""
        return {key: by for key, by in self._replaced.items() if key not in self._groups}

    @property
    def paths(self) -> frozenset[str]:
        """The files that the view was made of, committed or not, as paths below the table root."""
        return frozenset(file.path for file in self._files)

    def partitions(self) -> tuple[str, ...]:
        """Partition paths that hold at least one latest slice, sorted."""
        return tuple(dict.fromkeys(s.partition_path for s in self.slices))


def build(
    snapshot: Snapshot, as_of: str | None = None, partitions: Iterable[str] | None = None
) -> FileSystemView:
    """The view now, or at the requested time ``as_of`` (inclusive), optionally of some partitions.

    Raises :class:`~hoodoo.errors.CorruptTableError` if one instant has two base files of one group
    and its metadata does not say which.
    """
    return from_files(snapshot, parsed(list_data(snapshot.storage, partitions)), as_of)


def parsed(entries: Iterable[Entry]) -> tuple[DataFile, ...]:
    """The data files among ``entries``."""
    return tuple(f for e in entries if (f := parse_path(e.path, e.size)) is not None)


def list_data(storage: Storage, partitions: Iterable[str] | None = None) -> Iterable[Entry]:
    """Return the objects outside ``.hoodie``, or those directly in ``partitions``.

    A directory with a ``.hoodie`` of its own is another table: its files are left out, at any
    depth. Raises :class:`~hoodoo.errors.UnsupportedTableError` if one of ``partitions`` is such a
    directory.
    """
    if partitions is not None:
        paths = sorted(set(partitions))
        for path, entries in zip(paths, listings(storage, paths), strict=True):
            if path and any(e.name == ".hoodie" and e.is_dir for e in entries):
                raise UnsupportedTableError(
                    f"{storage.root}/{path}", "this partition path is another table.",
                    "Move that table elsewhere, or give these rows another partition path.",
                )  # fmt: skip
            yield from (e for e in entries if not e.is_dir)
        return
    top = storage.list()
    yield from (e for e in top if not e.is_dir)
    below = [e.path for e in top if e.is_dir and not e.name.startswith(".hoodie")]
    for entries in listings(storage, below, recursive=True):
        roots = {e.path.partition("/.hoodie/")[0] for e in entries if "/.hoodie/" in e.path}
        inner = tuple(f"{root}/" for root in roots)
        yield from (e for e in entries if not e.path.startswith(inner)) if inner else entries


def from_files(
    snapshot: Snapshot, files: tuple[DataFile, ...], as_of: str | None = None
) -> FileSystemView:
    """The view that these files make; ``storage`` is asked for commit metadata only."""
    visible = _Visibility(snapshot.timeline, as_of)
    # A name that says no writer can't say whether he has committed either: the log's blocks do.
    counts = visible.reached if snapshot.layout.log_names_slice else visible.committed
    # Rows for the future file groups of a pending clustering are also in those that it replaces.
    begun = {i.requested for i in snapshot.pending() if i.traits.replaces}
    bases: dict[Key, list[BaseFile]] = {}
    logs: dict[Key, list[LogFile]] = {}
    for file in files:
        key = (file.partition_path, file.file_id)
        if isinstance(file, BaseFile):
            if visible.committed(file.instant):
                bases.setdefault(key, []).append(file)
        elif counts(file.instant) and file.instant not in begun:
            logs.setdefault(key, []).append(file)
    groups: dict[Key, FileGroup] = {}
    ends = _Ends(snapshot.storage, snapshot.timeline, bases, logs)
    for key in sorted(bases.keys() | logs.keys()):
        if key not in logs and len(bases[key]) == 1:  # most groups of a large table
            (only,) = bases[key]
            groups[key] = FileGroup(*key, (FileSlice(*key, only.instant, only),))
            continue
        by_instant = _one_base_each(snapshot, bases.get(key, ()))
        slices = _attached(ends, key, by_instant, logs.get(key, ()))
        groups[key] = FileGroup(key[0], key[1], slices)
    replaced = snapshot.timeline.replaced_file_groups(snapshot.storage, as_of)
    latest = tuple(g.slices[0] for k, g in groups.items() if k not in replaced)
    return FileSystemView(latest, groups, replaced, files)


class _Visibility:
    """Which instants count, remembered: a table has far fewer instants than files."""

    def __init__(self, timeline: Timeline, as_of: str | None) -> None:
        self._timeline = timeline
        self._limit = None if as_of is None else order_key(as_of)
        self._known: dict[str, bool] = {}

    def reached(self, instant: str) -> bool:
        """Return True if ``instant`` is not later than the time that is looked at."""
        return self._limit is None or order_key(instant) <= self._limit

    def committed(self, instant: str) -> bool:
        """Return True if files of ``instant`` count: it is completed, and not too late."""
        answer = self._known.get(instant)
        if answer is None:
            answer = self.reached(instant) and self._timeline.contains_or_before_start(instant)
            self._known[instant] = answer
        return answer


def _one_base_each(snapshot: Snapshot, bases: Iterable[BaseFile]) -> dict[str, BaseFile]:
    found: dict[str, BaseFile] = {}
    for base in bases:
        other = found.setdefault(base.instant, base)
        if other is not base:
            found[base.instant] = _named_in_commit(snapshot, other, base)
    return found


def _named_in_commit(snapshot: Snapshot, *rivals: BaseFile) -> BaseFile:
    # A task attempt that lost can leave a file of its own; the commit names the one that counts.
    instant = snapshot.find(rivals[0].instant)
    if instant is not None:
        paths = {s.path for s in snapshot.metadata(instant).stats}
        named = [base for base in rivals if base.path in paths]
        if len(named) == 1:
            return named[0]
    raise CorruptTableError(
        f"{snapshot.root}: file group {rivals[0].file_id}",
        f"two base files of instant {rivals[0].instant}: {', '.join(b.name for b in rivals)}.",
        "Delete the file that the commit does not name.",
    )


@define
class _Ends:
    """By which times log files are placed. When an archived writer completed is read from the
    archived timeline, once, and only if a base file of the group began after the writer: other
    engines archive without waiting for the next one. A log file that no compaction has reached may
    be very old, and nobody reads so far back for it."""

    storage: Storage
    timeline: Timeline
    bases: Mapping[Key, list[BaseFile]]
    logs: Mapping[Key, list[LogFile]]
    is_read: bool = False

    def of(self, log: LogFile, newest_base: str) -> str:
        """Return the time by which ``log`` is placed: when its writer completed, as far as that
        matters."""
        known = self.timeline.archived_ends
        if not self._may_be_later(log, newest_base):
            return self.timeline.log_time(log)
        if log.instant not in known and not self.is_read:
            known.update(ends_since(self.storage, self.timeline.config, self._first()))
            self.is_read = True
        return known.setdefault(log.instant, log.instant)

    def _may_be_later(self, log: LogFile, newest_base: str) -> bool:
        timeline = self.timeline
        archived = timeline.layout.names_completion and timeline.find(log.instant) is None
        return archived and order_key(log.instant) < order_key(newest_base)

    def _first(self) -> str:
        """The first of the archived writers whose completion has to be known."""
        newest = {
            key: max((base.instant for base in self.bases[key]), key=order_key)
            for key in self.bases.keys() & self.logs.keys()
        }
        wanted = (
            log.instant
            for key, base in newest.items()
            for log in self.logs[key]
            if self._may_be_later(log, base)
        )
        return min(wanted, key=order_key)


def _attached(
    ends: _Ends, key: Key, bases: Mapping[str, BaseFile], logs: Iterable[LogFile]
) -> tuple[FileSlice, ...]:
    """The slices of a group: each log file in the newest one that began by its time.

    Where log files are named after their slice, and that has no base file yet (a compaction is
    pending, or the base is not visible), the log continues the slice before. Logs older than every
    base file make one slice, which starts with the first of them.
    """
    starts = sorted(bases, key=order_key)
    found: dict[str, list[LogFile]] = {start: [] for start in starts}
    early: list[LogFile] = []
    for log in logs:
        end = ends.of(log, starts[-1]) if starts else log.instant
        position = bisect_right(starts, order_key(end), key=order_key)
        (found[starts[position - 1]] if position else early).append(log)
    if early:
        found[min((log.instant for log in early), key=order_key)] = early
    return _slices(key, bases, found)


def _slices(
    key: Key, bases: Mapping[str, BaseFile], logs: Mapping[str, list[LogFile]]
) -> tuple[FileSlice, ...]:
    def reading_order(log: LogFile) -> tuple[str, int, str]:
        return (order_key(log.instant), log.version, log.write_token)

    return tuple(
        FileSlice(
            *key, start, bases.get(start), tuple(sorted(logs.get(start, ()), key=reading_order))
        )
        for start in sorted(bases.keys() | logs.keys(), key=order_key, reverse=True)
    )
