"""Lost: files that completed commits name, that no clean removed, and that are not there.

A listing shows what there is. Where the newest base file of a file group is lost, it shows an older
one, or no group at all: rows are fewer and nobody says so, and a writer inserts their keys again.
The commits know. Those of the active timeline are asked, the newest :data:`MOST_COMMITS` of them,
each read once for a timeline; what commits before these name is not known here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial

from attrs import define, field, frozen

from hoodoo.errors import CommitConflictError, CorruptTableError, HoodooError
from hoodoo.kernel.archived import load_archived
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import BaseFile, FileSlice, LogFile, path_of
from hoodoo.model.instant import Instant, State
from hoodoo.storage.api import OF_LOST_FILES, Storage, another_file
from hoodoo.storage.together import together
from hoodoo.timeline.codec.large import LazyStats
from hoodoo.timeline.fence import undoing
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.removed import Removed, removed_by, was_removed
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline
from hoodoo.timeline.view import FileSystemView, Key

# More than the default of hoodie.keep.max.commits would be read for nothing where a table is
# archived.
MOST_COMMITS = 30
DataFile = BaseFile | LogFile


@frozen
class Named:
    """What one commit names in one partition path: ``files`` by path; ``logs``: path of a log file
    -> base file of its slice, if the commit names one."""

    files: Mapping[str, DataFile]
    logs: Mapping[str, str]


@define
class _ByPath:
    """What one commit names, by partition path; of a large commit only those that somebody has
    asked for."""

    stats: Sequence[WriteStat]
    paths: dict[str, Named] = field(factory=dict)
    is_whole: bool = False

    def within(self, paths: Collection[str] | None) -> list[Named]:
        """What it names in ``paths``, or everywhere."""
        if not self.is_whole:
            stats, by_path = self.stats, dict[str, list[WriteStat]]()
            if isinstance(stats, LazyStats) and paths is not None:
                by_path = {path: [] for path in paths if path not in self.paths}
                stats = stats.within(by_path.keys())
            else:
                self.is_whole = True
            for stat in stats:
                by_path.setdefault(stat.partition_path, []).append(stat)
            self.paths.update((path, _of(stats)) for path, stats in by_path.items())
        chosen = self.paths if paths is None else paths
        return [self.paths[path] for path in chosen if path in self.paths]


def refuse_lost(
    snapshot: Snapshot,
    view: FileSystemView,
    as_of: str | None = None,
    paths: Collection[str] | None = None,
) -> None:
    """Raise CorruptTableError where ``view``, made of a listing (of the partition ``paths`` only,
    if given) and of ``snapshot`` up to the requested time ``as_of``, lacks a file that its newest
    slices need, or has a base file of another size than its commit says.

    CommitConflictError where it is missing because its commit has just been undone. Nothing is
    missed while a restore or a rollback of a completed write is pending: it deletes files before it
    takes their commits away, and if it died, the next writer finishes it.
    """
    missing = list(_missing(snapshot, view, as_of, paths))
    if not missing:
        return
    fresh = snapshot.reload()
    gone: Mapping[Removed, str] | None = None
    for path, instant in missing:
        if undoing(fresh):
            return
        if not fresh.timeline.contains_or_before_start(instant):
            raise CommitConflictError(
                f"{snapshot.root}/{path}",
                "its commit was rolled back while the files were listed.",
                "Read again.",
            )
        if gone is None:
            gone = removed_files(fresh)
        if not was_removed(gone, path):
            commit = fresh.find(instant)
            # The file of the commit is named, too: a damaged one may name what was never there.
            where = "" if commit is None else f" ({fresh.path(commit)})"
            raise lost_file(snapshot.storage, path, f"the commit {instant}{where}")


def refuse_unknown(
    snapshot: Snapshot, view: FileSystemView, paths: Collection[str] | None = None
) -> None:
    """Raise CorruptTableError where ``view``, as for :func:`refuse_lost`, has no file of a file
    group that a replacecommit took out of the table, and no clean has come since that may have
    deleted them: what it did take out is read again. Whether one that came deleted them is for
    verify to find out."""
    gone = {k: by for k, by in view.replaced_in_vain().items() if paths is None or k[0] in paths}
    if not _uncleaned(snapshot.timeline, gone):
        return
    # A clean may have come, or the replacecommit been undone, beside the listing.
    fresh = snapshot.reload()
    late = () if undoing(fresh) else _uncleaned(fresh.timeline, gone)
    for (path, file_id), instant in late:
        raise CorruptTableError(
            f"{snapshot.root}/{fresh.path(instant)}",
            f"it replaced file group {file_id} of {path or 'the table'}, of which there is no "
            "file, though no clean has deleted any since: what this commit did replace would be "
            "read again.",
            "This file is damaged: restore it from a copy, or restore the table to an instant "
            "before it (table.restore).",
        )


def _uncleaned(timeline: Timeline, gone: Mapping[Key, str]) -> list[tuple[Key, Instant]]:
    """Those of ``gone`` that no clean came after, with the instants that replaced them."""
    cleans = [order_key(i.requested) for i in timeline.others() if i.traits.deletes] if gone else []
    last = max(cleans, default="")
    found = ((key, timeline.find(by)) for key, by in gone.items() if order_key(by) > last)
    return [(key, instant) for key, instant in found if instant is not None]


def lost_file(storage: Storage, path: str, who: str) -> CorruptTableError:
    """The error about a lost file, ``path`` below the table root, that ``who`` names."""
    return CorruptTableError(
        f"{storage.root}/{path}",
        f"{who} names this file and no clean has deleted it, but it does not exist.",
        OF_LOST_FILES,
    )


def removed_files(snapshot: Snapshot) -> dict[Removed, str]:
    """What cleans took away, and which. Only asked where something is missing."""
    every = load_archived(snapshot.storage, snapshot.config)
    archived = [i for i in every if i.instant.traits.deletes]
    found = {r: i.requested for i in archived for r in removed_by(i.contents())}
    for instant in (i for i in snapshot.instants if i.traits.deletes):
        at = instant if instant.is_completed else instant.at(State.REQUESTED)
        with suppress(FileNotFoundError):  # archived meanwhile, or ended
            found |= dict.fromkeys(removed_by(snapshot.contents(at)), at.requested)
    return found


def _missing(
    snapshot: Snapshot, view: FileSystemView, as_of: str | None, paths: Collection[str] | None
) -> Iterator[tuple[str, str]]:  # fmt: skip
    """Of each file that is lost its path below the table root, and the instant of the commit that
    names it."""
    newest = {(s.partition_path, s.file_id): s for s in view.slices}
    headless = {key for key, slice_ in newest.items() if slice_.base_file is None}
    there, sizes = view.paths, {b.path: b.size for s in view.slices if (b := s.base_file)}
    for instant, one in named(snapshot, as_of, paths):
        for path in one.files.keys() & sizes.keys():
            said, has = one.files[path].size, sizes.pop(path)
            if said and has and said != has:  # 0: not known. The newest commit counts.
                who = f"the commit {instant.requested} ({snapshot.path(instant)})"
                raise another_file(f"{snapshot.root}/{path}", has, said, who)
        for path in one.files.keys() - there:
            file = one.files[path]
            key = (file.partition_path, file.file_id)
            if view.replaced_by(*key) is None and _needed(snapshot.timeline, newest.get(key), file):
                yield path, instant.requested
        for path, base in one.logs.items() if headless else ():
            file = one.files[path]
            key = (file.partition_path, file.file_id)
            if key in headless and path in there and base not in there:
                yield base, instant.requested


def named(
    snapshot: Snapshot, as_of: str | None = None, paths: Collection[str] | None = None
) -> Iterator[tuple[Instant, Named]]:  # fmt: skip
    """What each of the newest commits names in the partition ``paths`` (None: anywhere), the newest
    first. Each commit is read once for a timeline."""
    limit = None if as_of is None else order_key(as_of)
    writes = [i for i in snapshot.writes() if limit is None or order_key(i.requested) <= limit]
    newest_first, known = writes[: -MOST_COMMITS - 1 : -1], snapshot.timeline.noted
    todo = [i for i in newest_first if i.requested not in known]
    made = together(snapshot.storage, *(partial(_read, snapshot, instant) for instant in todo))
    known.update((i.requested, one) for i, one in zip(todo, made, strict=True) if one)
    for instant in newest_first:
        one = known.get(instant.requested)
        found: Sequence[Named] = ()
        with suppress(HoodooError):  # verify tells what can't be read
            found = one.within(paths) if isinstance(one, _ByPath) else ()
        yield from ((instant, each) for each in found)


def _needed(timeline: Timeline, slice_: FileSlice | None, file: DataFile) -> bool:
    """Whether ``file``, which is not there, belongs to the newest slice of its file group, of which
    ``slice_`` is what there is."""
    if slice_ is None and isinstance(file, LogFile) and not _named_after(timeline, file.instant):
        return False  # a clustering that it waited for was cancelled
    if slice_ is None or slice_.base_file is None:
        return True
    start = order_key(slice_.base_file.instant)
    if isinstance(file, BaseFile):
        return order_key(file.instant) > start
    return order_key(timeline.log_time(file)) >= start


def _named_after(timeline: Timeline, instant: str) -> bool:
    """Whether log files of the table may be named after ``instant``."""
    pending = {i.requested for i in timeline.pending() if i.traits.begins_slices}
    return timeline.contains_or_before_start(instant) or instant in pending


def _read(snapshot: Snapshot, instant: Instant) -> _ByPath | None:
    """None: it has been archived since the look; or it can't be read, which verify tells."""
    try:
        return _ByPath(snapshot.metadata(instant).stats)
    except (FileNotFoundError, HoodooError):
        return None


def _of(stats: Iterable[WriteStat]) -> Named:
    files: dict[str, DataFile] = {}
    logs: dict[str, str] = {}
    for stat in stats:
        file = parse_path(stat.path, stat.file_size) if stat.path else None
        if file is None or (isinstance(file, LogFile) and file.suffix):
            continue  # change data is no part of a slice's rows
        files[stat.path] = file
        if isinstance(file, LogFile) and stat.log_version is not None and stat.base_file:
            logs[stat.path] = path_of(stat.partition_path, stat.base_file.rpartition("/")[2])
    return Named(files, logs)
