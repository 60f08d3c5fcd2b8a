"""Travel: the file slices at an older point in time, or an error if a clean deleted some of them.

A listing does not show files that were deleted since. So the files that cleans deleted are added
to the listing; if the older state has one of these files, it can't be read any more."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from contextlib import suppress
from datetime import date
from functools import partial
from typing import SupportsIndex

from hoodoo.calls import nearest
from hoodoo.errors import CommitConflictError, ConfigError, HoodooError
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.kernel.archived import load_archived, oldest
from hoodoo.model.filegroup import path_of
from hoodoo.model.instant import Instant
from hoodoo.participants.listing import is_known, list_data
from hoodoo.participants.lost import named, refuse_lost, refuse_unknown
from hoodoo.storage.api import Storage
from hoodoo.storage.together import together
from hoodoo.timeline.instants import order_key, parse_point
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.removed import READABLE, Taken, last_clean, planned_files, taken_since
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.view import FileSystemView, from_files

_NUMBER = re.compile(r"-?[1-9]\d{0,5}")


def bound_of(source: ReadSource, as_of: str | date | int | None) -> str | None:
    """The requested time of the last write that a read ``as_of`` shows; None for all writes. Raises
    ConfigError as :func:`instant_of` and :func:`check_reach` do."""
    if as_of is None:
        return None
    bound = instant_of(source, as_of)
    check_reach(source, bound, f"as_of={as_of!r}")
    return bound


def instant_of(source: ReadSource, point: str | date | int) -> str:
    """The instant of a ``point`` as :func:`parse_point` takes it, of a tag, or of the number of a
    write, also as text: 1 is the first, -1 the newest, 0 none. ConfigError for another one."""
    point = source.config.get(f"hoodoo.tag.{point}") or point  # the name of a state (hoodoo-copies)
    is_number = isinstance(point, SupportsIndex) and not isinstance(point, bool)
    if is_number or _NUMBER.fullmatch(str(point).strip()):
        return _of_number(source, int(str(point)))
    try:
        return parse_point(point, source.config.timezone)
    except ConfigError as error:
        tags = [key[11:] for key in source.config.properties if key.startswith("hoodoo.tag.")]
        near = f"Did you mean {meant!r}? " if (meant := nearest(str(point), tags)) else ""
        raise ConfigError(error.obj, error.rule, f"{near}{error.fix}") from None


def write_of(source: ReadSource, instant: str | int) -> str:
    """The instant that a number or a tag names; the digits of an instant stay as they are."""
    text = str(instant)
    return text if len(text) >= 14 and text.isdigit() else instant_of(source, instant)


def numbered(source: ReadSource) -> list[str]:
    """Requested times of all completed writes, archived ones too, by number: the first is 1."""
    found = {i.requested for i in load_archived(source.storage, source.config) if i.is_write}
    return sorted(found.union(i.requested for i in source.timeline.writes()), key=order_key)


def _of_number(source: ReadSource, number: int) -> str:
    writes = [i.requested for i in source.timeline.writes()]
    if number == 0:
        return "0" * 17
    if not -len(writes) <= number < 0:  # the archived timeline is read only where it counts
        writes = numbered(source)
    if abs(number) > len(writes):
        raise ConfigError(
            f"version {number}",
            f"is no number of a commit: the table has {len(writes)}.",
            "Give 1 (the first) or more, -1 (the newest) or less, or an instant: table.history().",
        )
    return writes[number - 1 if number > 0 else number]


def check_reach(source: ReadSource, bound: str | None, asked: str) -> None:
    """Raise ConfigError, naming what was ``asked``, if the writes up to the requested time
    ``bound`` have been archived: the timeline no longer has what they replaced and where their
    files belong.

    A table that had no rows yet at ``bound`` is no error, nor is a write that a savepoint keeps.
    Costs nothing for a bound on the active timeline, else a listing and a small file.
    """
    timeline = source.timeline
    start = timeline.start
    if bound is None or start is None or order_key(bound) >= order_key(start):
        return
    first = None if timeline.find(bound) else oldest(source.storage, source.config)
    if first is None or order_key(bound) < order_key(first):
        return
    raise ConfigError(
        asked,
        f"is before {start}, where the active timeline begins: older instants are archived",
        f"ask for {start} or later; to keep more history, raise hoodie.keep.min.commits and "
        "hoodie.keep.max.commits, or make a savepoint.",
    )


def view_as_of(
    source: ReadSource, bound: str | None, paths: Collection[str] | None = None
) -> FileSystemView:
    """The view now, or at the requested time ``bound``, of the partition ``paths`` alone if given.
    One listing; plans of cleans are read only if the newest passes ``bound``, or one has begun.

    Raises ConfigError if a clean deleted a file that the table had then: rows would be missing;
    CommitConflictError if that happened between the read of the timeline and the listing; and
    CorruptTableError if a file that a commit names is lost.
    """
    there = {e.path: e.size for e in list_data(source.snapshot, paths)}
    look = partial(taken_since, source.snapshot)
    taken: Taken
    # The commits that are needed next are read beside the look.
    taken = together(source.storage, look, ahead=[partial(_read_commits, source, bound)])[0]
    if taken.undone or (taken.cleans and paths is not None):
        raise undone_meanwhile(source.storage, taken)
    lacks = bound is not None and _may_lack(source, bound)
    every = (i for i in taken.timeline.others() if i.traits.deletes)
    cleans = tuple(every) if lacks else taken.cleans
    deleted = {
        p: c.requested
        for c in cleans
        for p in deleted_by(Snapshot(source.storage, taken.timeline), c)
        if paths is None or p.rpartition("/")[0] in paths
    }
    gone = {path: clean for path, clean in deleted.items() if path not in there}
    sizes = {**dict.fromkeys(gone, 0), **there}
    files = tuple(f for path, size in sizes.items() if (f := parse_path(path, size)) is not None)
    view = from_files(source.snapshot, files, bound)
    lost = (
        file.path
        for slice_ in (view.slices if gone else ())
        for file in (slice_.base_file, *slice_.log_files)
        if file is not None and file.path in gone
    )
    for path in lost:
        if bound is None:
            raise CommitConflictError(
                f"{source.storage.root}/{path}",
                f"the clean {gone[path]} deleted it while this read was planned.",
                "Read again.",
            )
        raise ConfigError(
            f"as_of={bound}",
            f"the table had the file {path} then, and the clean {gone[path]} has deleted it",
            "ask for a later point in time; to keep more history, raise "
            "hoodie.clean.commits.retained, set hoodie.clean.policy=by_hours, or make a savepoint.",
        )
    if source.whole:
        refuse_unknown(Snapshot(source.storage, taken.timeline), view, paths)
    if source.whole and not is_known(source.timeline):
        refuse_lost(source.snapshot, view, bound, paths)
    return view


def _read_commits(source: ReadSource, bound: str | None) -> None:
    with suppress(HoodooError, FileNotFoundError):  # who needs it says so
        if source.whole and not is_known(source.timeline):
            list(named(source.snapshot, bound, ()))
        for newest in source.timeline.writes()[-1:] if bound is None else ():
            source.timeline.metadata(source.storage, newest)


def _may_lack(source: ReadSource, bound: str) -> bool:
    if any(i.traits.deletes for i in source.timeline.pending()):
        return True
    last = last_clean(source.snapshot)
    if last is None:
        return False
    # Cleans of others say less: what they retain, or by their policy nothing.
    _, said = last
    readable = (said.get("extraMetadata") or {}).get(READABLE) or said.get("earliestCommitToRetain")
    return not readable or order_key(bound) < order_key(readable)


def undone_meanwhile(storage: Storage, taken: Taken) -> CommitConflictError:
    """Make the error of a read whose files another process deleted, or brought back, while it was
    planned."""
    return CommitConflictError(
        f"{storage.root}: {[*taken.cleans, *taken.undone][-1]}",
        f"{'was undone' if taken.undone else 'took files away'} while this read was planned.",
        "Read again.",
    )


def deleted_by(snapshot: Snapshot, clean: Instant) -> Iterable[str]:
    """The files that ``clean`` deleted, or is about to. InstantGoneError if it is archived just
    now."""
    with suppress(FileNotFoundError):  # archiving takes the plan first, and the clean's end later
        return planned_files(snapshot, clean)
    metadata = snapshot.contents(clean)
    return [
        path_of(partition, str(name).rpartition("/")[2])
        for partition, part in (metadata.get("partitionMetadata") or {}).items()
        for name in part.get("successDeleteFiles") or ()
    ]
