"""Lost: files that completed commits name, that no clean removed, and that are not there.

A listing shows what there is. Where the newest base file of a file group is lost, it shows an older one, or no
group at all: rows are fewer and nobody says so, and a writer inserts their keys again. The commits know. Those of
the active timeline are asked, the newest :data:`MOST_COMMITS` of them, each read once for a timeline; what
commits before these name is not known here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

from attrs import frozen

from hoodoo.errors import CommitConflictError, CorruptTableError, HoodooError
from hoodoo.kernel.archived import load_archived
from hoodoo.model.commit import CommitMetadata
from hoodoo.model.filegroup import BaseFile, FileSlice, LogFile, path_of
from hoodoo.model.instant import Instant, State
from hoodoo.storage.api import Storage
from hoodoo.storage.together import at_once
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.publish import undoing
from hoodoo.timeline.removed import Removed, removed_by, was_removed
from hoodoo.timeline.timeline import Timeline, reload
from hoodoo.timeline.view import FileSystemView, Key

# More than the default of hoodie.keep.max.commits would be read for nothing where a table is archived.
MOST_COMMITS = 30
_AT_ONCE = 8
DataFile = BaseFile | LogFile


@frozen
class Named:
    """What one commit names: ``files`` by path, and for ``logs`` the base file that theirs builds on, where it
    says so."""

    files: Mapping[str, DataFile]
    logs: Mapping[str, str]


@frozen
class Lost:
    """The file ``path`` (below the table root), named by the commit of ``instant``."""

    path: str
    instant: str


def refuse_lost(
    storage: Storage,
    timeline: Timeline,
    view: FileSystemView,
    as_of: str | None = None,
    paths: Collection[str] | None = None,
) -> None:
    """Raise CorruptTableError where ``view``, made of a listing (of the partition ``paths`` only, if given) and
    of ``timeline`` up to the requested time ``as_of``, lacks a file that its newest slices need.

    CommitConflictError where it is missing because its commit has just been undone. Nothing is missed while a
    restore or a rollback of a completed write is pending: it deletes files before it takes their commits away,
    and if it died, the next writer finishes it.
    """
    missing = list(_missing(storage, timeline, view, as_of, paths))
    if not missing:
        return
    fresh = reload(storage, timeline)
    gone: frozenset[Removed] | None = None
    for lost in missing:
        if undoing(storage, fresh):
            return
        if not fresh.contains_or_before_start(lost.instant):
            raise CommitConflictError(
                f"{storage.root}/{lost.path}", "its commit was rolled back while the files were listed.",
                "Read again.",
            )  # fmt: skip
        if gone is None:
            gone = removed_files(storage, fresh)
        if not was_removed(gone, lost.path):
            commit = fresh.find(lost.instant)
            # The file of the commit is named, too: a damaged one may name what was never there.
            where = "" if commit is None else f" ({fresh.path(commit)})"
            raise lost_file(storage, lost.path, f"the commit {lost.instant}{where}")


def refuse_unknown(
    storage: Storage, timeline: Timeline, view: FileSystemView, paths: Collection[str] | None = None
) -> None:
    """Raise CorruptTableError where ``view``, as for :func:`refuse_lost`, has no file of a file group that a
    replacecommit took out of the table, and no clean has come since that may have deleted them: what it did take out
    is read again. Whether one that came deleted them is for verify to find out."""
    gone = {k: by for k, by in view.replaced_in_vain().items() if paths is None or k[0] in paths}
    if not _uncleaned(timeline, gone):
        return
    fresh = reload(
        storage, timeline
    )  # a clean may have come, or the replacecommit been undone, beside the listing
    for (path, file_id), instant in () if undoing(storage, fresh) else _uncleaned(fresh, gone):
        raise CorruptTableError(
            f"{storage.root}/{fresh.path(instant)}", f"it replaced file group {file_id} of {path or 'the table'}, of which there is no file, though no clean has deleted any since: what this commit did replace would be read again.",
            "This file is damaged: restore it from a copy, or restore the table to an instant before it (table.restore).",
        )  # fmt: skip


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
        "Restore the file from a copy, or restore the table to an instant before that commit (table.restore); table.verify() lists all lost files.",
    )


def removed_files(storage: Storage, timeline: Timeline) -> frozenset[Removed]:
    """What cleans took away, archived ones too. Only asked where something is missing."""
    archived = load_archived(storage, timeline.config)
    found = {r for i in archived if i.instant.traits.deletes for r in removed_by(i.contents())}
    for instant in timeline.instants:
        if instant.traits.deletes:
            at = instant if instant.is_completed else instant.at(State.REQUESTED)
            with suppress(FileNotFoundError):  # archived meanwhile, or ended
                found |= removed_by(timeline.contents(storage, at))
    return frozenset(found)


def _missing(
    storage: Storage,
    timeline: Timeline,
    view: FileSystemView,
    as_of: str | None,
    paths: Collection[str] | None,
) -> Iterator[Lost]:
    newest = {(s.partition_path, s.file_id): s for s in view.slices}
    headless = {key for key, slice_ in newest.items() if slice_.base_file is None}
    there = view.paths
    for instant, one in named(storage, timeline, as_of):
        for path in one.files.keys() - there:
            file = one.files[path]
            key = (file.partition_path, file.file_id)
            if paths is not None and file.partition_path not in paths:
                continue
            if view.replaced_by(*key) is None and _needed(timeline, newest.get(key), file):
                yield Lost(path, instant.requested)
        for path, base in one.logs.items() if headless else ():
            file = one.files[path]
            key = (file.partition_path, file.file_id)
            if key in headless and path in there and base not in there:
                yield Lost(base, instant.requested)


def named(
    storage: Storage, timeline: Timeline, as_of: str | None = None
) -> list[tuple[Instant, Named]]:
    """What each of the newest commits names, the newest first; read once for a timeline."""
    limit = None if as_of is None else order_key(as_of)
    writes = [i for i in timeline.writes() if limit is None or order_key(i.requested) <= limit]
    newest_first = writes[: -MOST_COMMITS - 1 : -1]
    todo = [i for i in newest_first if i.requested not in timeline.noted]
    read = partial(_read, storage, timeline)
    if len(todo) > 1:
        with ThreadPoolExecutor(min(_AT_ONCE, len(todo))) as pool:
            made = list(pool.map(read, todo))
    else:
        made = list(map(read, todo))
    timeline.noted.update((i.requested, one) for i, one in zip(todo, made, strict=True) if one)
    noted = [timeline.noted.get(i.requested) for i in newest_first]
    return [
        (i, one if isinstance(one, Named) else _NOTHING)
        for i, one in zip(newest_first, noted, strict=True)
    ]


def _needed(timeline: Timeline, slice_: FileSlice | None, file: DataFile) -> bool:
    """Whether ``file``, which is not there, belongs to the newest slice of its file group, of which ``slice_`` is
    what there is."""
    if slice_ is None and isinstance(file, LogFile) and not _named_after(timeline, file.instant):
        return False  # a clustering that it waited for was given up
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


def _read(storage: Storage, timeline: Timeline, instant: Instant) -> Named | None:
    """None: it has been archived since the look; or it can't be read, which verify tells."""
    known = timeline.known(instant)
    if known is not None:
        return _stats_of(known)
    try:
        # Whoever looks for the schema reads the newest, and who reads log files all that wrote some; across a network
        # none is read twice.
        whole = instant.action == "deltacommit" or instant is timeline.writes()[-1]
        if whole or at_once(storage) > 1:
            return _stats_of(timeline.metadata(storage, instant))
        said = timeline.contents(storage, instant)
    except (FileNotFoundError, HoodooError):
        return None
    return _of(
        (partition, stat.get("path"), stat.get("baseFile"))
        for partition, stats in (said.get("partitionToWriteStats") or {}).items()
        for stat in stats or ()
    )


def _stats_of(known: CommitMetadata) -> Named:
    return _of(
        (s.partition_path, s.path, s.base_file if s.log_version is not None else None)
        for s in known.stats
    )


def _of(stats: Iterable[tuple[str, str | None, str | None]]) -> Named:
    """Of partition path, path, and base file that a log file builds on."""
    files: dict[str, DataFile] = {}
    logs: dict[str, str] = {}
    for partition, path, base in stats:
        file = parse_path(path) if path else None
        if path is None or file is None or (isinstance(file, LogFile) and file.suffix):
            continue  # change data is no part of a slice's rows
        files[path] = file
        if base and isinstance(file, LogFile):
            logs[path] = path_of(partition, base.rpartition("/")[2])
    return Named(files, logs)


_NOTHING = Named({}, {})
