"""Partition ``record_index``: where each record key lies, as Hudi looks it up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.errors import CommitConflictError
from hoodoo.hookspecs.index import COMPUTED
from hoodoo.model.commit import Operation, WriteStat
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage
from hoodoo.timeline import properties

from hoodoo_metadata.life.begin import begin_index
from hoodoo_metadata.life.definitions import is_partitioned
from hoodoo_metadata.life.kept_by import UNIQUE_OF, is_unique
from hoodoo_metadata.partitions.api import Beginning, Missed, OfKeys, Work
from hoodoo_metadata.partitions.record_index.groups import IndexGroups
from hoodoo_metadata.partitions.record_index.locations import millis_of
from hoodoo_metadata.partitions.record_index.rows import GroupFiles, places, write_index_rows
from hoodoo_metadata.partitions.record_index.size import IndexSize
from hoodoo_metadata.table.combine import newest_merged
from hoodoo_metadata.table.layout import RECORD_INDEX, is_own
from hoodoo_metadata.table.metadata_table import MetadataTable

# Operations that look keys up.
_ASKS = (Operation.UPSERT, Operation.DELETE)


@frozen
class RecordIndexPartition(OfKeys):
    """Global, or with file groups for each partition path. See
    :class:`hoodoo_metadata.partitions.api.Partition`."""

    name: str = RECORD_INDEX
    keys: bool = True
    noted: bool = True
    sought: bool = True

    @property
    def stored_keys(self) -> bool:
        """Hudi's is of them alone: Spark Hudi would not keep one of virtual keys, and go by it."""
        return not is_own(self.name)

    def begin(self, beginning: Beginning) -> tuple[WriteStat, ...]:
        return begin_index(
            beginning.state, beginning.table, beginning.pending, beginning.size, self.name
        )

    def write(self, work: Work) -> tuple[WriteStat, ...]:
        keys, change = work.keys, work.change
        if keys is None or keys.rows is None:
            return ()
        begun = work.begun
        known = places(placed(work))
        paths = {path for path, _id in keys.files.values()}
        by_paths = is_partitioned(change.storage, self.name)
        groups, new = index_groups(work.table, self.name, by_paths, work.options, paths)
        files = GroupFiles(
            work.table.storage,
            begun.pending,
            begun.schema_text,
            groups,
            False,
            new,
            self.name,
            places=begun.places_of(self.name),
        )
        if may_repeat(work, self.name, by_paths):
            files = evolve(files, known=groups_by_slot(work.table, self.name, groups))
        stats, repeated = write_index_rows(
            keys.table.engine, keys.rows, known, files, change.serializer
        )
        if repeated:
            not_unique(work, self.name)
        return stats

    def catch_up(self, missed: Missed) -> tuple[WriteStat, ...]:
        work, size = missed.work, missed.size.of_partition(self.name)
        keys = work.keys
        assert keys is not None and keys.rows is not None
        paths = {path for path, _id in keys.files.values()} if size.partitioned else None
        ids = missed.ids.setdefault(self.name, [])
        there, new_slots = grown(IndexGroups.of(ids, paths), paths, size)
        ids += [there.file_ids[slot] for slot in sorted(new_slots)]
        begun = work.begun
        files = GroupFiles(
            work.table.storage,
            begun.pending,
            begun.schema_text,
            there,
            False,
            new_slots,
            self.name,
            places=begun.places_of(self.name),
        )
        known = places(placed_slices(missed))
        return write_index_rows(keys.table.engine, keys.rows, known, files, keys.table.serializer)[
            0
        ]

    def merged(
        self, storage: Storage, slice_: FileSlice, schema_text: str
    ) -> Iterator[pa.RecordBatch]:
        return newest_merged(storage, slice_, schema_text)


def placed(work: Work) -> list[tuple[int, str, str, int]]:
    """Number, partition path, file id and time of the files of the keys that ``work`` tells of."""
    zone = work.table.data.config.timezone
    millis = millis_of(work.change.instant.requested, zone)
    files = {} if work.keys is None else work.keys.files
    return [(n, path, file_id, millis) for n, (path, file_id) in files.items()]


def placed_slices(missed: Missed) -> list[tuple[int, str, str, int]]:
    """The same of keys that changed meanwhile: their time is that of the file slice that they are
    in."""
    return [
        (
            n,
            s.partition_path,
            s.file_id,
            millis_of(s.instant, missed.work.table.data.config.timezone),
        )
        for n, s in enumerate(missed.slices)
    ]


def may_repeat(work: Work, partition: str, by_paths: bool) -> bool:
    """Whether the action may put a key into a second place of a table that has none in two. A write
    that asked an index of the same kind lets no key come twice."""
    keys, change = work.keys, work.change
    asked = change.operation in _ASKS and not isinstance(change.index, COMPUTED)
    return (
        is_unique(work.table.data.config, partition)
        and not (keys is not None and keys.moves)
        and not (asked and (by_paths or change.index.is_global))
    )


def not_unique(work: Work, partition: str) -> None:
    """A key has come into a second place. Said first, so that nobody takes the index for complete;
    of a commit that fails then, it does no harm."""
    config = work.table.data.config
    properties.update(work.change.storage, config, {UNIQUE_OF[partition]: "false"})


def groups_by_slot(
    table: MetadataTable, partition: str, groups: IndexGroups
) -> tuple[tuple[FileSlice, ...], ...]:
    """The file group of each slot, where there is one."""
    there = {slice_.file_id: slice_ for slice_ in table.slices(partition)}
    return tuple((there[i],) if i in there else () for i in groups.file_ids)


def index_groups(
    table: MetadataTable,
    partition: str,
    by_paths: bool,
    options: Mapping[str, str],
    paths: set[str],
) -> tuple[IndexGroups, frozenset[int]]:
    """The groups of the record index in ``partition`` for rows of the partition ``paths``, and the
    slots of those that are new: where the index is ``by_paths``, each path gets its own when it
    first has rows."""
    ids = [slice_.file_id for slice_ in table.slices(partition)]
    if not by_paths:
        if not ids:
            raise CommitConflictError(
                f"{table.storage.root}/{partition}",
                "has been taken away since this write looked at the table: it is rebuilt.",
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
