"""Missing: a file that was there when a read was planned, and is not when its turn comes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hoodoo.errors import CommitConflictError, CorruptTableError
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.properties import load as load_properties
from hoodoo.timeline.removed import planned_files
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import load


@contextmanager
def explained(storage: Storage, slice_: FileSlice) -> Iterator[None]:
    """Turn the error about a file of ``slice_`` that is not there into a CommitConflictError naming
    the clean that took it, if one did. Costs nothing until there is such an error."""
    try:
        yield
    except (CorruptTableError, FileNotFoundError) as error:
        gone = [path for path in _paths(slice_) if storage.head(path) is None]
        by = next((c for path in gone if (c := cleaned_by(storage, path)) is not None), None)
        if by is None:
            if gone and (undo := _undone_by(storage, slice_)) is not None:
                raise CommitConflictError(
                    f"{storage.root}/{gone[0]}",
                    f"the {undo} has taken it back since this read was planned",
                    "read again.",
                ) from error
            raise
        raise CommitConflictError(
            f"{storage.root}/{gone[0]}",
            f"the clean {by} has deleted it since this read was planned",
            "read again; if reads take so long, let cleans wait for them: "
            "hoodoo.clean.reader.window, in hours, or more hoodie.clean.commits.retained.",
        ) from error


def cleaned_by(storage: Storage, path: str) -> str | None:
    """The clean of the active timeline whose plan names ``path``, a path below the table root."""
    timeline = load(storage, load_properties(storage))
    for instant in reversed(timeline.instants):
        if not instant.traits.deletes:
            continue
        try:
            if path in planned_files(Snapshot(storage, timeline), instant):
                return instant.requested
        except FileNotFoundError:  # archived meanwhile
            continue
    return None


def _undone_by(storage: Storage, slice_: FileSlice) -> str | None:
    """The newest rollback or restore, where an instant that wrote files of ``slice_`` is not
    completed any more."""
    timeline = load(storage, load_properties(storage))
    files = [file for file in (slice_.base_file, *slice_.log_files) if file is not None]
    there = {instant.requested for instant in timeline.completed()}
    undos = [i for i in timeline.completed() if i.traits.undoes]
    # Names of log files of version 6 do not say who wrote them.
    unsaid = timeline.layout.log_names_slice and bool(slice_.log_files)
    if not undos or (not unsaid and all(file.instant in there for file in files)):
        return None
    newest = max(undos, key=lambda instant: order_key(instant.completion_order))
    return f"{newest.action} {newest.requested}"


def _paths(slice_: FileSlice) -> list[str]:
    base = [] if slice_.base_file is None else [slice_.base_file.path]
    return [*base, *(log.path for log in slice_.log_files)]
