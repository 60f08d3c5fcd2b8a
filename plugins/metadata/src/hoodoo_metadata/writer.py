"""Keep: what each action of the table adds to its metadata table, begun before the action is decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
from attrs import Factory, evolve, frozen
from hoodoo.errors import CommitConflictError
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.index import ComputedIndex
from hoodoo.hookspecs.participant import ActionChange, ChangedKeys
from hoodoo.model.commit import Operation, WriteStat
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.meta import with_meta
from hoodoo.options.kinds import FLAG
from hoodoo.storage.api import Storage
from hoodoo.timeline import properties
from hoodoo.timeline.publish import CoupledCommit
from hoodoo.timeline.timeline import Timeline

from hoodoo_metadata.column_stats.deltas import RANGE_GROUPS, RangeRows, range_deltas, read_ranges
from hoodoo_metadata.column_stats.from_files import indexed_columns
from hoodoo_metadata.commit import PendingDeltaCommit
from hoodoo_metadata.definitions import is_partitioned
from hoodoo_metadata.deltas import Delta, put_deltas
from hoodoo_metadata.file_index.deltas import FileChange
from hoodoo_metadata.first_commit_not_indexed import KEPT_BY, UNIQUE
from hoodoo_metadata.layout import FILES, GROWING_INDEX, INDEXES, RECORD_INDEX
from hoodoo_metadata.record_index.groups import IndexGroups
from hoodoo_metadata.record_index.growing import Growing, by_bucket
from hoodoo_metadata.record_index.locations import millis_of
from hoodoo_metadata.record_index.replaced import told_rows
from hoodoo_metadata.record_index.rows import (
    GroupFiles,
    places,
    write_index_rows,
)
from hoodoo_metadata.record_index.size import IndexSize
from hoodoo_metadata.schema import record_schema
from hoodoo_metadata.table import MetadataTable

# Operations that look keys up.
_ASKS = (Operation.UPSERT, Operation.DELETE)


@frozen
class MetadataWriter:
    """Of one table, with the metadata ``partitions`` that it has. ``file_format`` is asked where new files are
    looked into. See :class:`hoodoo.hookspecs.participant.Participation`."""

    partitions: tuple[str, ...]
    file_format: Callable[[], BaseFileFormat]
    options: Mapping[str, str] = Factory(dict)

    @property
    def keys(self) -> bool:
        return any(index in self.partitions for index in INDEXES)

    @property
    def noted(self) -> Mapping[str, str]:
        kept = [p for p in self.partitions if p in INDEXES]
        return {KEPT_BY: ",".join(kept)} if kept else {}

    def begin(self, change: ActionChange) -> CoupledCommit:
        begun = self._begun(change.storage, change.timeline, change.instant.requested)
        files = FileChange.of(change.stats, change.removed)
        stats = self._files(begun, change.storage, files, change.engine, change.schema)
        if change.keys is not None and self.keys:
            stats += _indexes(begun, change, change.keys, self.partitions, self.options)
        if change.resumed:
            begun.reconcile(stats, self.partitions)
        return begun.beside(stats)

    def _begun(self, storage: Storage, timeline: Timeline, requested: str) -> PendingDeltaCommit:
        table = MetadataTable.open(storage, timeline)
        return PendingDeltaCommit.at(table, requested, record_schema(timeline.config.version))

    def _files(
        self,
        begun: PendingDeltaCommit,
        storage: Storage,
        change: FileChange,
        engine: Engine | None,
        schema: pa.Schema,
    ) -> tuple[WriteStat, ...]:
        deltas = [change.delta()] if FILES in self.partitions else []
        deltas += self.ranges(begun.table, storage, change, engine, schema)
        return put_deltas(begun.table.storage, begun.pending, deltas, begun.schema_text)

    def ranges(
        self,
        table: MetadataTable,
        storage: Storage,
        change: FileChange,
        engine: Engine | None,
        schema: pa.Schema,
    ) -> list[Delta]:
        """What ``change`` adds to ``column_stats`` and ``partition_stats``. Without ``engine`` no file is
        read: it adds none. ``schema`` is the table's own."""
        kept = [p for p in RANGE_GROUPS if p in self.partitions]
        if not kept:
            return []
        config = table.data.config
        columns = columns_of(schema, config, self.options)
        rows = RangeRows({}, {})
        if engine is not None:
            rows = read_ranges(
                engine,
                storage,
                self.file_format(),
                change.added,
                with_meta(schema),
                columns,
                config.version,
            )
        groups = {partition: len(table.slices(partition)) for partition in kept}
        return range_deltas(rows, change, columns, groups)


def columns_of(schema: pa.Schema, config: TableConfig, options: Mapping[str, str]) -> list[str]:
    """The columns whose ranges are kept of a table with the ``schema``."""
    meta = config.populate_meta_fields
    return indexed_columns(schema, options, config.version, meta=meta)


def _indexes(
    begun: PendingDeltaCommit,
    change: ActionChange,
    keys: ChangedKeys,
    partitions: Sequence[str],
    options: Mapping[str, str],
) -> tuple[WriteStat, ...]:
    """The log files of the record indexes: keys that came, and those that went, also with the file groups
    that the commit replaces."""
    config, engine = change.timeline.config, keys.table.engine
    # Nobody noted all deleted rows: the index knows keys that no file holds.
    if _outlasts(config) and RECORD_INDEX in partitions and keys.replaced:
        gone = keys.replaced
        keys = keys.with_deleted(lambda first: engine.source(told_rows(begun.table, gone, first)))
    else:
        keys = keys.with_replaced()
    if keys.rows is None:
        return ()
    millis = millis_of(change.instant.requested, config.timezone)
    known = [(n, path, file_id, millis) for n, (path, file_id) in keys.files.items()]
    stats: tuple[WriteStat, ...] = ()
    paths = {path for _n, path, _id, _when in known}
    # A write that asked an index of the same kind lets no key come twice.
    asked = change.operation in _ASKS and not isinstance(change.index, ComputedIndex)
    by_paths = is_partitioned(change.storage)
    unique = FLAG.stored(config.get(UNIQUE) or "")
    watched = unique and not keys.moves and not (asked and (by_paths or change.index.is_global))
    for partition in (index for index in INDEXES if index in partitions):
        files = index_files(begun, change.storage, options, partition, paths)
        if partition == RECORD_INDEX and watched:
            files = evolve(files, known=groups_by_slot(begun.table, files.groups))
        told, repeated = write_index_rows(
            engine, keys.rows, places(known), files, change.serializer
        )
        stats += told
        if repeated and partition == RECORD_INDEX:
            # First, so that nobody takes the index for complete; of a commit that fails then, it does no harm.
            properties.update(change.storage, config, {UNIQUE: None})
    return stats


def _outlasts(config: TableConfig) -> bool:
    """Whether a row that is marked as deleted may lose to the stored one, when they are merged by a read."""
    merged = config.table_type == "MERGE_ON_READ" and bool(config.ordering_fields)
    return merged and config.merge_mode != "COMMIT_TIME_ORDERING"


def groups_by_slot(table: MetadataTable, groups: IndexGroups) -> tuple[tuple[FileSlice, ...], ...]:
    """The file group of each slot, where there is one."""
    there = {slice_.file_id: slice_ for slice_ in table.slices(RECORD_INDEX)}
    return tuple((there[i],) if i in there else () for i in groups.file_ids)


def index_files(
    begun: PendingDeltaCommit,
    storage: Storage,
    options: Mapping[str, str],
    partition: str,
    paths: set[str],
) -> GroupFiles:
    """Where the index rows of partition ``paths`` go."""
    table = begun.table
    if partition == GROWING_INDEX:
        growing = Growing.of(table.data.config)
        buckets = by_bucket(table.slices(partition), growing.buckets)
        return GroupFiles(
            table.storage, begun.pending, begun.schema_text, growing.groups, False,
            partition=partition, buckets=buckets, cap=growing.cap,
        )  # fmt: skip
    groups, new = index_groups(table, storage, options, paths)
    return GroupFiles(table.storage, begun.pending, begun.schema_text, groups, False, new)


def index_groups(
    table: MetadataTable, storage: Storage, options: Mapping[str, str], paths: set[str]
) -> tuple[IndexGroups, frozenset[int]]:
    """The groups of the record index for rows of the partition ``paths``, and the slots of those that are
    new: where the index is partitioned, each path gets its own when it first has rows."""
    ids = [slice_.file_id for slice_ in table.slices(RECORD_INDEX)]
    if not is_partitioned(storage):
        if not ids:
            raise CommitConflictError(
                f"{table.storage.root}/{RECORD_INDEX}",
                "has been taken away since this write looked at the table: it is made anew.",
                "Repeat the write.",
            )
        return IndexGroups.of(ids, None), frozenset()
    size = IndexSize.of(options, partitioned=True)
    return grown(IndexGroups.of(ids, paths), paths, size)


def grown(
    groups: IndexGroups, paths: set[str] | None, size: IndexSize
) -> tuple[IndexGroups, frozenset[int]]:
    """``groups`` with new ones for those of ``paths`` that have none, and the slots of these."""
    if groups.paths is None or paths is None:
        return groups, frozenset()
    whole = groups.with_paths({path: size.groups(0) for path in paths - set(groups.paths)})
    return whole, frozenset(range(len(groups.file_ids), len(whole.file_ids)))
