"""Catch up: what was committed while a partition of the metadata table was built is added to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve, frozen
from hoodoo.errors import CommitConflictError, HoodooError
from hoodoo.hookspecs.participant import ActionChange, ChangedKeys, TableState
from hoodoo.model.commit import Operation, WriteStat
from hoodoo.model.filegroup import path_of
from hoodoo.model.instant import Instant
from hoodoo.storage.api import Storage
from hoodoo.timeline import fence
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

from hoodoo_metadata.partitions.api import Missed, Work
from hoodoo_metadata.partitions.files.deltas import FileChange
from hoodoo_metadata.partitions.known import chosen
from hoodoo_metadata.partitions.record_index.size import IndexSize
from hoodoo_metadata.table.commit import PendingDeltaCommit
from hoodoo_metadata.table.deltas import put_deltas
from hoodoo_metadata.table.layout import FILES
from hoodoo_metadata.table.metadata_table import MetadataTable
from hoodoo_metadata.table.schema import record_schema


def _matters(instant: Instant) -> bool:
    """Whether it changes files or keys."""
    return instant.traits.changes_files or instant.traits.rewinds


@frozen
class CaughtUp:
    """What was put. ``keys``: the log files of record keys; ``unnamed``: the stats of log files
    whose instant was completed before they came, so that its commit does not name them."""

    keys: frozenset[str] = frozenset()
    unnamed: tuple[WriteStat, ...] = ()


class Behind(HoodooError):
    """Others completed something since the look that a partition is made of."""


def covers(storage: Storage, look: Timeline, fresh: Timeline) -> None:
    """Raises Behind where ``fresh`` has completed actions that ``look`` lacks, or the other way
    round; CommitConflictError while something is being undone that it may have."""
    if _told(look) != _told(fresh):
        raise Behind("metadata table", "others have written meanwhile.", "Catch up.")
    if fence.undoing(Snapshot(storage, fresh)):
        raise CommitConflictError(
            f"metadata table of {fresh.config.name}",
            "a commit is being undone while it is built.",
            "Build it again.",
        )


def _told(timeline: Timeline) -> frozenset[tuple[str, str]]:
    return frozenset((i.requested, i.action) for i in timeline.completed() if _matters(i))


def catch_up(
    before: TableState,
    now: TableState,
    names: Sequence[str],
    ids: dict[str, list[str]],
    size: IndexSize,
) -> CaughtUp:
    """Add to the partitions ``names``, made of the look ``before``, what was completed until
    ``now``. ``ids``: of the file groups that each began with; new ones come to it.

    Raises CommitConflictError where something was undone meanwhile: that can't be added.
    """
    gone = {i for i, _action in _told(before.timeline)} - {i for i, _a in _told(now.timeline)}
    known = {i.requested for i in before.timeline.completed()}
    new = [i for i in now.timeline.completed() if i.requested not in known]
    start = now.timeline.start
    undone = [i for i in gone if start is None or order_key(i) >= order_key(start)]
    if undone or any(i.traits.rewinds for i in new):
        raise CommitConflictError(
            f"metadata table of {now.config.name}",
            "a commit was undone while it was built.",
            "Build it again.",
        )
    new = sorted((i for i in new if _matters(i)), key=lambda i: order_key(i.completion_order))
    unnamed = [stat for instant in new for stat in _add_files(now, instant, names, ids)]
    if not new:
        return CaughtUp()
    keys = _add_keys(before, now, new[-1], names, ids, size)
    return evolve(keys, unnamed=(*unnamed, *keys.unnamed))


def _begun(target: TableState, instant: Instant, names: Sequence[str]) -> PendingDeltaCommit:
    table = MetadataTable.open(target.storage, target.timeline)
    text = record_schema(target.config.version)
    done = table.timeline.find(instant.requested)
    # Where it is not there, its writer kept no metadata table.
    if done is None:
        return PendingDeltaCommit.at(table, instant.requested, text, names)
    return PendingDeltaCommit.of(table, done, text, names)


def _complete(begun: PendingDeltaCommit, stats: Sequence[WriteStat]) -> Sequence[WriteStat]:
    """The stats that its commit can't name any more."""
    if begun.instant.is_completed:
        return stats
    begun.complete_alone(stats)
    return ()


def _work(
    target: TableState,
    instant: Instant,
    names: Sequence[str],
    ids: Mapping[str, Sequence[str]],
    files: FileChange,
    change: ActionChange,
) -> Work:
    return Work(
        _begun(target, instant, names),
        change,
        files,
        tuple(names),
        lambda: target.file_format,
        target.options,
        {name: len(groups) for name, groups in ids.items()},
    )


def _add_files(
    target: TableState,
    instant: Instant,
    names: Sequence[str],
    ids: Mapping[str, Sequence[str]],
) -> Sequence[WriteStat]:
    change = ActionChange(
        target.storage,
        target.timeline,
        instant,
        Operation.UNKNOWN,
        target.schema,
        engine=target.engine,
    )
    if instant.traits.deletes:
        told = target.timeline.contents(target.storage, instant)
        change = evolve(change, removed=tuple(deleted_by(told)))
    else:
        metadata = target.timeline.metadata(target.storage, instant)
        change = evolve(
            change, operation=metadata.operation, stats=metadata.stats, replaced=metadata.replaced
        )
    files = FileChange.of(change.stats, change.removed)
    work = _work(target, instant, names, ids, files, change)
    # Ranges are read of files that nothing has cleaned since; all files are told of.
    there = evolve(work, files=FileChange(_still_there(target, files), files.removed))
    deltas = [
        delta
        for partition in chosen(names)
        for delta in partition.deltas(work if partition.name == FILES else there)
    ]
    begun = work.begun
    stats = put_deltas(begun.table.storage, begun.pending, deltas, begun.schema_text, begun.places)
    for partition in chosen(names):
        stats += partition.of_files(there)
    return _complete(begun, stats)


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
    names: Sequence[str],
    ids: dict[str, list[str]],
    size: IndexSize,
) -> CaughtUp:
    """The keys of the file slices that are others now: what they were goes, what they are comes."""
    partitions = [partition for partition in chosen(names) if partition.keys]
    old = {(s.partition_path, s.file_id): s for s in before.slices}
    new = {(s.partition_path, s.file_id): s for s in now.slices}
    went = [s for key, s in old.items() if new.get(key) != s]
    came = [s for key, s in new.items() if old.get(key) != s]
    if not partitions or not (went or came):
        return CaughtUp()
    rows = now.engine.union([now.keys_of(came), now.keys_of(went, len(came), deleted=True)])
    slices = [*came, *went]
    files = {n: (s.partition_path, s.file_id) for n, s in enumerate(slices)}
    change = ActionChange(
        now.storage,
        now.timeline,
        newest,
        Operation.UNKNOWN,
        now.schema,
        engine=now.engine,
        keys=ChangedKeys(now, rows, files),
        serializer=now.serializer,
    )
    keys: set[str] = set()
    unnamed: list[WriteStat] = []
    for partition in partitions:
        work = _work(now, newest, names, ids, FileChange(), change)
        stats = partition.catch_up(Missed(work, slices, size, ids))
        keys |= {stat.path for stat in stats}
        unnamed += _complete(work.begun, stats)
    return CaughtUp(frozenset(keys), tuple(unnamed))
