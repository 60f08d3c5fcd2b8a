"""Listing: the files of a table as its metadata table tells them; no directory of the table is
listed.

While a clean is half done its files are looked for: the metadata table says that they are gone when
all are."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import pyarrow as pa
from hoodoo.errors import CommitConflictError, CorruptTableError
from hoodoo.model.filegroup import path_of
from hoodoo.storage.api import Entry
from hoodoo.timeline import properties, view
from hoodoo.timeline.fence import INDEXING
from hoodoo.timeline.removed import planned_files
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_metadata.life.partition_state import unbuilt, warn_unbuilt
from hoodoo_metadata.partitions.files.rows import ALL_PARTITIONS, NON_PARTITIONED, FileChanges
from hoodoo_metadata.table.below import Below
from hoodoo_metadata.table.combine import file_changes
from hoodoo_metadata.table.layout import FILES
from hoodoo_metadata.table.metadata_table import MetadataTable, mark_of
from hoodoo_metadata.table.schema import FIX
from hoodoo_metadata.table.slice import layers

# What Hudi 0.15 says in place of a size that it does not know
# (``HoodieTableMetadataUtil.reAddLogFilesFromRollbackPlan``).
_NOT_MEASURED = 1


def list_files(snapshot: Snapshot, partitions: Iterable[str] | None = None) -> Iterable[Entry]:
    """The files of the table, or of ``partitions``, as the partition ``files`` says. Raises
    CorruptTableError where it can't be read, CommitConflictError where that is because it is being
    rebuilt."""
    table = MetadataTable.seen(snapshot.storage, snapshot.timeline)
    try:
        told = told_files(table, partitions)
        if _is_marked(table):
            return _still_there(snapshot, told)
        raise FileNotFoundError(mark_of(FILES))
    except (CorruptTableError, FileNotFoundError):
        # It is rebuilt, or compacted, while we look.
        fresh = properties.load(snapshot.storage)
        if FILES not in fresh.metadata_partitions:
            return view.list_data(snapshot.storage, partitions)
    before = MetadataTable.states(snapshot.storage, snapshot.timeline)
    try:
        told = told_files(MetadataTable.open(snapshot.storage, snapshot.timeline), partitions)
        return _still_there(snapshot, told)
    except (CorruptTableError, FileNotFoundError) as error:
        now = snapshot.reload().timeline
        rebuilt = [
            i.requested
            for i in (*now.others(), *snapshot.timeline.others())
            if i.action == INDEXING
        ]
        # Damage stays. A write that has begun since is only on the newer timeline.
        same = before == MetadataTable.states(snapshot.storage, now) and fresh == properties.load(
            snapshot.storage
        )
        if same and FILES in unbuilt(snapshot):
            warn_unbuilt(snapshot, [FILES])
            return view.list_data(snapshot.storage, partitions)
        if same and all(i.action != INDEXING for i in now.pending()):
            raise
        raise CommitConflictError(
            f"metadata table of {snapshot.config.name}",
            f"is being rebuilt ({', '.join(rebuilt[-1:]) or 'by another writer'}), and was wiped "
            "while it was read.",
            "Repeat the call.",
        ) from error


def _is_marked(table: MetadataTable) -> bool:
    """Whether nobody has begun to wipe the partition ``files``: some of its files may have gone,
    and others not. The mark goes first."""
    mark, listed = mark_of(FILES), (table.listed or {}).get(FILES)
    if listed is not None:
        return any(entry.path == mark for entry in listed)
    return table.storage.head(mark) is not None


def _still_there(snapshot: Snapshot, told: list[Entry]) -> list[Entry]:
    """``told`` without what a clean has deleted that has not come to say so. Lists directories only
    while a clean is at work, or was left half done."""
    planned: set[str] = set()
    for instant in snapshot.pending():
        if instant.traits.deletes:
            with suppress(FileNotFoundError):  # archived since the look
                planned.update(planned_files(snapshot, instant))
    if not planned:
        return told
    doubtful = planned & {entry.path for entry in told}
    if not doubtful:
        return told
    folders = {path.rpartition("/")[0] for path in doubtful}
    there = {entry.path for entry in view.list_data(snapshot.storage, folders)}
    return [e for e in told if e.path not in doubtful or e.path in there]


def listed_paths(snapshot: Snapshot) -> list[str]:
    """The partition paths of the table, and some that it had. One key is looked up."""
    found = _changes(MetadataTable.seen(snapshot.storage, snapshot.timeline), [ALL_PARTITIONS])
    paths = found[ALL_PARTITIONS].added if ALL_PARTITIONS in found else ()
    return ["" if path == NON_PARTITIONED else path for path in paths]


def told_files(
    table: MetadataTable, partitions: Iterable[str] | None = None, as_of: str | None = None
) -> list[Entry]:
    """What the partition ``files`` says, sorted by path. CorruptTableError if it is not there."""
    table = table.until(as_of)
    keys = None if partitions is None else [path or NON_PARTITIONED for path in partitions]
    found = _changes(table, keys, as_of)
    found.pop(ALL_PARTITIONS, None)
    sizes = {
        path_of("" if path == NON_PARTITIONED else path, name): size
        for path, changes in found.items()
        for name, size in changes.added.items()
    }
    # Texts are sorted, not entries: a table has a hundred thousand of them.
    entries = [Entry(path, sizes[path]) for path in sorted(sizes)]
    if table.timeline.layout.log_names_slice:
        entries = [_measured(table, e) if e.size == _NOT_MEASURED else e for e in entries]
    return entries


def _changes(
    table: MetadataTable, keys: Iterable[str] | None, as_of: str | None = None
) -> dict[str, FileChanges]:
    slices = table.slices(FILES, as_of)
    if not slices:
        raise CorruptTableError(
            f"{table.storage.root}/{FILES}",
            "holds no file slice, though the table's properties list it.",
            FIX,
        )
    wanted = None
    if keys is not None:
        wanted = pa.array(sorted({key.encode() for key in keys}), pa.binary())
    return file_changes(layers(table.storage, slices[0]), wanted)


def _measured(table: MetadataTable, told: Entry) -> Entry:
    """With its size: of log files of a commit that it undid Hudi 0.15 does not say it."""
    data = table.storage.inner if isinstance(table.storage, Below) else None
    found = None if data is None else data.head(told.path)
    return told if found is None else found
