"""Travel: the file slices of an older moment, or the news that a clean took some of them away.

Which files the table had then can't be told from a listing that lacks them. So what cleans deleted is
put beside the listing; where the older state has one of these files, it can't be read any more.
"""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo.errors import CommitConflictError, ConfigError
from hoodoo.model.filegroup import path_of
from hoodoo.model.instant import Instant, State
from hoodoo.read.source import ReadSource
from hoodoo.timeline.clean_plan import CLEAN, READABLE, last_clean, read_plan
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.view import FileSystemView, build, from_files, list_data


def view_as_of(source: ReadSource, bound: str | None) -> FileSystemView:
    """The view now, or at the requested time ``bound``. One listing; the plans of cleans are read only
    where the newest of them reaches past ``bound``.

    Raises ConfigError where a file is gone that the table had then: the rows would be fewer.
    """
    if bound is None or not _may_lack(source, bound):
        return build(source.storage, source.timeline, bound)
    there = {entry.path: entry.size for entry in list_data(source.storage)}
    gone = {p: clean for p, clean in _deleted(source).items() if p not in there}
    sizes = {**dict.fromkeys(gone, 0), **there}
    files = tuple(f for path, size in sizes.items() if (f := parse_path(path, size)) is not None)
    view = from_files(source.storage, source.timeline, files, bound)
    for slice_ in view.slices:
        for file in (slice_.base_file, *slice_.log_files):
            if file is not None and file.path in gone:
                raise ConfigError(
                    f"as_of={bound}",
                    f"the table had the file {file.path} then, and the clean {gone[file.path]} has "
                    "deleted it",
                    "ask for a later point; to keep more, give hoodie.clean.commits.retained, or "
                    "hoodie.clean.policy by_hours, or make a savepoint.",
                )
    return view


def _may_lack(source: ReadSource, bound: str) -> bool:
    if any(_is_running(i) for i in source.timeline.pending()):
        return True
    last = last_clean(source.storage, source.timeline)
    if last is None:
        return False
    # Cleans of others say less: what they retain, or by their policy nothing.
    readable = last.extra.get(READABLE) or last.earliest
    return not readable or order_key(bound) < order_key(readable)


def _deleted(source: ReadSource) -> dict[str, str]:
    """What cleans of the active timeline deleted, or are about to: path -> the clean."""
    found: dict[str, str] = {}
    for instant in source.timeline.instants:
        if _is_running(instant) or (instant.is_completed and instant.action == CLEAN):
            found.update(dict.fromkeys(_files(source, instant), instant.requested))
    return found


def _files(source: ReadSource, clean: Instant) -> Iterable[str]:
    try:
        return read_plan(source.storage, source.timeline, clean).files
    except FileNotFoundError:  # archiving takes the plan first
        pass
    try:
        told = source.timeline.contents(source.storage, clean)
    except FileNotFoundError as error:  # and what is older than the clean before its end
        raise CommitConflictError(
            f"{source.storage.root}: clean {clean.requested}", "was archived while this read was planned.",
            "Read again.",
        ) from error  # fmt: skip
    return [
        path_of(partition, str(name).rpartition("/")[2])
        for partition, part in (told.get("partitionMetadata") or {}).items()
        for name in part.get("successDeleteFiles") or ()
    ]


def _is_running(instant: Instant) -> bool:
    """Whether it is a clean that may have deleted some of its files, and not all of them."""
    return instant.action == CLEAN and instant.state is State.INFLIGHT
