"""Keep: what each action of the table adds to its metadata table, begun before the action is decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import pyarrow as pa
from attrs import Factory, evolve, frozen

from hoodoo.errors import CommitConflictError
from hoodoo.hookspecs.engine import Engine, Stream
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.metadata.column_stats.deltas import RANGE_GROUPS, RangeRows, range_deltas, read_ranges
from hoodoo.metadata.column_stats.from_files import indexed_columns
from hoodoo.metadata.commit import PendingDeltaCommit
from hoodoo.metadata.definitions import is_partitioned
from hoodoo.metadata.deltas import Delta, put_deltas
from hoodoo.metadata.file_index.deltas import FileChange
from hoodoo.metadata.first_commit_not_indexed import KEPT_BY, UNIQUE
from hoodoo.metadata.layout import FILES, GROWING_INDEX, INDEXES, RECORD_INDEX
from hoodoo.metadata.record_index.groups import IndexGroups
from hoodoo.metadata.record_index.growing import Growing, by_bucket
from hoodoo.metadata.record_index.locations import millis_of
from hoodoo.metadata.record_index.replaced import told_rows
from hoodoo.metadata.record_index.rows import (
    GroupFiles,
    ReadIndexRows,
    places,
    slice_tasks,
    write_index_rows,
)
from hoodoo.metadata.record_index.size import IndexSize
from hoodoo.metadata.schema import record_schema
from hoodoo.metadata.table import MetadataTable
from hoodoo.model.commit import CommitMetadata, Operation, WriteStat
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import BaseFile, FileSlice
from hoodoo.model.instant import Instant
from hoodoo.model.meta import RECORD_KEY, with_meta
from hoodoo.options.kinds import FLAG
from hoodoo.produce.key_changes import WriteResult
from hoodoo.storage.api import Storage
from hoodoo.timeline import properties
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.publish import CoupledCommit
from hoodoo.timeline.timeline import Timeline
from hoodoo.write.target import WriteTarget

# Operations that look keys up.
_ASKS = (Operation.UPSERT, Operation.DELETE)


@frozen
class MetadataWriter:
    """Of one table, with the metadata ``partitions`` that it has. ``file_format`` is asked where new files are
    looked into. See :class:`hoodoo.write.target.CommitParticipant`."""

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

    def begin(
        self, target: WriteTarget, instant: Instant, metadata: CommitMetadata, written: WriteResult
    ) -> CoupledCommit:
        """For a write; ``written.stats`` are those of ``metadata``."""
        begun = self._begun(target.storage, target.timeline, instant.requested)
        stats = self._files(
            begun, target.storage, FileChange.written(metadata.stats), target.engine, target.schema
        )
        if self.keys:
            stats += _indexes(begun, target, instant, metadata, written, self.partitions)
        if metadata.operation is Operation.CLUSTER:  # an earlier run of it may have come as far
            begun.reconcile(stats, self.partitions)
        return begun.beside(stats)

    def compacted(
        self,
        storage: Storage,
        timeline: Timeline,
        requested: str,
        stats: Sequence[WriteStat],
        engine: Engine,
        schema: pa.Schema,
    ) -> CoupledCommit:
        """For a compaction: no key moves. ``schema`` is the table's own."""
        change = FileChange.written(stats)
        return self._service(storage, timeline, requested, change, engine, schema)

    def cleaned(
        self,
        storage: Storage,
        timeline: Timeline,
        requested: str,
        paths: Iterable[str],
        schema: pa.Schema,
    ) -> CoupledCommit:
        """For a clean that deleted ``paths``."""
        change = FileChange.deleted(paths)
        return self._service(storage, timeline, requested, change, None, schema)

    def _service(
        self,
        storage: Storage,
        timeline: Timeline,
        requested: str,
        change: FileChange,
        engine: Engine | None,
        schema: pa.Schema,
    ) -> CoupledCommit:
        begun = self._begun(storage, timeline, requested)
        stats = self._files(begun, storage, change, engine, schema)
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
    target: WriteTarget,
    instant: Instant,
    metadata: CommitMetadata,
    written: WriteResult,
    partitions: Sequence[str],
) -> tuple[WriteStat, ...]:
    """The log files of the record indexes: keys that came, and those that went, also with the file groups
    that the commit replaces."""
    millis = millis_of(instant.requested, target.config.timezone)
    streams: list[Stream] = []
    known: list[tuple[int, str, str, int]] = []
    if written.keys is not None:
        streams.append(written.keys)
        known += [(n, s.partition_path, s.file_id, millis) for n, s in written.files.items()]
    elif written.direct:
        new = [_slice_of(stat) for stat in written.stats]
        streams.append(key_rows(target.engine, target, new))
        known += [(n, s.partition_path, s.file_id, millis) for n, s in enumerate(new)]
    # Nobody was told of all deleted rows: the index knows keys that no file holds.
    outlived = (
        target.logs is not None and not target.logs.deletes_win and RECORD_INDEX in partitions
    )
    # A clustering puts each other key of what it replaces somewhere else.
    moved = metadata.operation is Operation.CLUSTER
    gone = [
        slice_
        for slice_ in target.slices
        if slice_.file_id in metadata.replaced.get(slice_.partition_path, ())
        and (outlived or not moved)
    ]
    if gone:
        first = 1 + max((number for number, *_ in known), default=-1)
        if outlived:
            streams.append(target.engine.source(told_rows(begun.table, gone, first)))
        else:
            streams.append(key_rows(target.engine, target, gone, first, deleted=True))
        known += [(n, s.partition_path, s.file_id, millis) for n, s in enumerate(gone, first)]
    if not streams:
        return ()
    rows = target.engine.union(streams) if len(streams) > 1 else streams[0]
    stats: tuple[WriteStat, ...] = ()
    paths = {path for _n, path, _id, _when in known}
    # A write that asked an index of the same kind lets no key come twice.
    asked = metadata.operation in _ASKS and target.computed is None
    by_paths = is_partitioned(target.storage)
    unique = FLAG.stored(target.config.get(UNIQUE) or "")
    watched = unique and not moved and not (asked and (by_paths or target.index.is_global))
    for partition in (index for index in INDEXES if index in partitions):
        files = index_files(begun, target, partition, paths)
        if partition == RECORD_INDEX and watched:
            files = evolve(files, known=groups_by_slot(begun.table, files.groups))
        told, repeated = write_index_rows(
            target.engine, rows, places(known), files, target.serializer
        )
        stats += told
        if repeated and partition == RECORD_INDEX:
            # First, so that nobody takes the index for complete; of a commit that fails then, it does no harm.
            properties.update(target.storage, target.config, {UNIQUE: None})
    return stats


def groups_by_slot(table: MetadataTable, groups: IndexGroups) -> tuple[tuple[FileSlice, ...], ...]:
    """The file group of each slot, where there is one."""
    there = {slice_.file_id: slice_ for slice_ in table.slices(RECORD_INDEX)}
    return tuple((there[i],) if i in there else () for i in groups.file_ids)


def index_files(
    begun: PendingDeltaCommit, target: WriteTarget, partition: str, paths: set[str]
) -> GroupFiles:
    """Where the index rows of partition ``paths`` go."""
    table = begun.table
    if partition == GROWING_INDEX:
        growing = Growing.of(target.config)
        buckets = by_bucket(table.slices(partition), growing.buckets)
        return GroupFiles(
            table.storage, begun.pending, begun.schema_text, growing.groups, False,
            partition=partition, buckets=buckets, cap=growing.cap,
        )  # fmt: skip
    groups, new = index_groups(table, target, paths)
    return GroupFiles(table.storage, begun.pending, begun.schema_text, groups, False, new)


def index_groups(
    table: MetadataTable, target: WriteTarget, paths: set[str]
) -> tuple[IndexGroups, frozenset[int]]:
    """The groups of the record index for rows of the partition ``paths``, and the slots of those that are
    new: where the index is partitioned, each path gets its own when it first has rows."""
    ids = [slice_.file_id for slice_ in table.slices(RECORD_INDEX)]
    if not is_partitioned(target.storage):
        if not ids:
            raise CommitConflictError(
                f"{table.storage.root}/{RECORD_INDEX}",
                "has been taken away since this write looked at the table: it is made anew.",
                "Repeat the write.",
            )
        return IndexGroups.of(ids, None), frozenset()
    size = IndexSize.of(target.options, partitioned=True)
    return grown(IndexGroups.of(ids, paths), paths, size)


def grown(
    groups: IndexGroups, paths: set[str] | None, size: IndexSize
) -> tuple[IndexGroups, frozenset[int]]:
    """``groups`` with new ones for those of ``paths`` that have none, and the slots of these."""
    if groups.paths is None or paths is None:
        return groups, frozenset()
    whole = groups.with_paths({path: size.groups(0) for path in paths - set(groups.paths)})
    return whole, frozenset(range(len(groups.file_ids), len(whole.file_ids)))


def key_rows(
    engine: Engine,
    target: WriteTarget,
    slices: Sequence[FileSlice],
    first: int = 0,
    deleted: bool = False,
) -> Stream:
    """INDEX_ROWS of the record keys of ``slices``, numbered from ``first`` on."""
    rule = target.merge_rule(with_meta(target.schema)).narrowed([RECORD_KEY])
    step = ReadIndexRows(target.storage, target.file_format, rule, deleted)
    return engine.map(slice_tasks(engine, slices, first), step)


def _slice_of(stat: WriteStat) -> FileSlice:
    base = parse_path(stat.path, stat.file_size)
    assert isinstance(base, BaseFile)
    return FileSlice(stat.partition_path, stat.file_id, base.instant, base)
