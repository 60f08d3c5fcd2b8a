"""Catch up: what was committed while a partition of the metadata table was built is added to it."""

from __future__ import annotations

from collections.abc import Sequence

from hoodoo.errors import CommitConflictError, HoodooError
from hoodoo.hookspecs.participant import TableState
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import FileSlice, path_of
from hoodoo.model.instant import Instant
from hoodoo.model.meta import with_meta
from hoodoo.storage.api import Storage
from hoodoo.timeline import publish
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.timeline import Timeline

from hoodoo_metadata.column_stats.deltas import RANGE_GROUPS, range_deltas, read_ranges
from hoodoo_metadata.commit import PendingDeltaCommit
from hoodoo_metadata.deltas import put_deltas
from hoodoo_metadata.file_index.deltas import FileChange
from hoodoo_metadata.layout import FILES, GROWING_INDEX, INDEXES
from hoodoo_metadata.record_index.groups import IndexGroups
from hoodoo_metadata.record_index.growing import Growing
from hoodoo_metadata.record_index.locations import millis_of
from hoodoo_metadata.record_index.rows import GroupFiles, places, write_index_rows
from hoodoo_metadata.record_index.size import IndexSize
from hoodoo_metadata.schema import record_schema
from hoodoo_metadata.table import MetadataTable
from hoodoo_metadata.writer import columns_of, grown

_CLEAN = "clean"
# What changes neither files nor keys.
_ASIDE = frozenset({"savepoint", "indexing", "rollback"})


class Behind(HoodooError):
    """Others completed something since the look that a partition is made of."""


def covers(storage: Storage, look: Timeline, fresh: Timeline) -> None:
    """Raises Behind where ``fresh`` has completed actions that ``look`` lacks, or the other way round;
    CommitConflictError while something is being undone that it may have."""
    if _told(look) != _told(fresh):
        raise Behind("metadata table", "others have written meanwhile.", "Catch up.")
    if publish.undoing(storage, fresh):
        raise CommitConflictError(
            f"metadata table of {fresh.config.name}",
            "a commit is being undone while it is built.",
            "Build it again.",
        )


def _told(timeline: Timeline) -> frozenset[tuple[str, str]]:
    return frozenset(
        (i.requested, i.action) for i in timeline.completed() if i.action not in _ASIDE
    )


def catch_up(
    before: TableState,
    now: TableState,
    partitions: Sequence[str],
    groups: list[str],
    size: IndexSize,
) -> None:
    """Add to ``partitions``, made of the look ``before``, what was completed until ``now``. ``groups``: file
    ids of the record index's groups; new ones come to it.

    Raises CommitConflictError where something was undone meanwhile: that can't be added.
    """
    gone = {i for i, _action in _told(before.timeline)} - {i for i, _a in _told(now.timeline)}
    known = {i.requested for i in before.timeline.completed()}
    new = [i for i in now.timeline.completed() if i.requested not in known]
    start = now.timeline.start
    undone = [i for i in gone if start is None or order_key(i) >= order_key(start)]
    if undone or any(i.action == "restore" for i in new):
        raise CommitConflictError(
            f"metadata table of {now.config.name}",
            "a commit was undone while it was built.",
            "Build it again.",
        )
    new = sorted(
        (i for i in new if i.action not in _ASIDE), key=lambda i: order_key(i.completion_order)
    )
    for instant in new:
        _add_files(now, instant, partitions)
    for index in (p for p in INDEXES if new and p in partitions):
        _add_keys(before, now, new[-1], groups, size, index)


def _begun(target: TableState, instant: Instant) -> PendingDeltaCommit:
    table = MetadataTable.open(target.storage, target.timeline)
    text = record_schema(target.config.version)
    done = table.timeline.find(instant.requested)
    # Where it is not there, its writer kept no metadata table.
    return (
        PendingDeltaCommit.at(table, instant.requested, text)
        if done is None
        else PendingDeltaCommit(table, done, text)
    )


def _complete(begun: PendingDeltaCommit, stats: Sequence[WriteStat]) -> None:
    if not begun.instant.is_completed:
        begun.complete_alone(stats)


def _add_files(target: TableState, instant: Instant, partitions: Sequence[str]) -> None:
    if instant.action == _CLEAN:
        told = target.timeline.contents(target.storage, instant)
        change = FileChange.deleted(deleted_by(told))
    else:
        change = FileChange.written(target.timeline.metadata(target.storage, instant).stats)
    begun = _begun(target, instant)
    deltas = [change.delta()] if FILES in partitions else []
    groups = {p: n for p, n in RANGE_GROUPS.items() if p in partitions}
    if groups:
        config = target.config
        columns = columns_of(target.schema, config, target.options)
        there = _still_there(target, change)
        rows = read_ranges(
            target.engine,
            target.storage,
            target.file_format,
            there,
            with_meta(target.schema),
            columns,
            config.version,
        )
        deltas += range_deltas(rows, change, columns, groups)
    stats = put_deltas(begun.table.storage, begun.pending, deltas, begun.schema_text)
    _complete(begun, stats)


def _still_there(target: TableState, change: FileChange) -> dict[str, dict[str, int]]:
    """The added files that nothing has cleaned since."""
    return {
        path: {
            name: size
            for name, size in names.items()
            if target.storage.head(path_of(path, name)) is not None
        }
        for path, names in change.added.items()
    }


def deleted_by(told: dict[str, object]) -> list[str]:
    """The paths, below the table root, that a completed clean says it deleted."""
    found = []
    partitions = told.get("partitionMetadata")
    for path, partition in (partitions if isinstance(partitions, dict) else {}).items():
        for name in partition.get("successDeleteFiles") or ():
            file = str(name).rpartition("/")[2]
            found.append(f"{path}/{file}" if path else file)
    return found


def _add_keys(
    before: TableState,
    now: TableState,
    newest: Instant,
    groups: list[str],
    size: IndexSize,
    index: str,
) -> None:
    """The keys of the file slices that are others now: what they were goes, what they are comes."""
    old = {(s.partition_path, s.file_id): s for s in before.slices}
    new = {(s.partition_path, s.file_id): s for s in now.slices}
    went = [s for key, s in old.items() if new.get(key) != s]
    came = [s for key, s in new.items() if old.get(key) != s]
    if not went and not came:
        return
    begun = _begun(now, newest)
    rows = now.engine.union(
        [
            now.keys_of(came),
            now.keys_of(went, len(came), deleted=True),
        ]
    )
    if index == GROWING_INDEX:
        # Its first base files are not committed yet: all of them are the first of their buckets.
        growing = Growing.of(now.config)
        files = GroupFiles(
            begun.table.storage, begun.pending, begun.schema_text, growing.groups, False,
            partition=index, buckets=((),) * growing.buckets, cap=growing.cap,
        )  # fmt: skip
    else:
        paths = {s.partition_path for s in (*came, *went)} if size.partitioned else None
        there, new_slots = grown(IndexGroups.of(groups, paths), paths, size)
        groups += [there.file_ids[slot] for slot in sorted(new_slots)]
        files = GroupFiles(
            begun.table.storage, begun.pending, begun.schema_text, there, False, new_slots
        )
    known = places(_known([*came, *went], now))
    stats, _repeated = write_index_rows(now.engine, rows, known, files, now.serializer)
    _complete(begun, stats)


def _known(slices: Sequence[FileSlice], target: TableState) -> list[tuple[int, str, str, int]]:
    zone = target.config.timezone
    return [
        (n, s.partition_path, s.file_id, millis_of(s.instant, zone)) for n, s in enumerate(slices)
    ]
