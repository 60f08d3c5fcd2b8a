"""Partition ``hoodoo_record_index``: a record index whose buckets get more file groups as they
grow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage

from hoodoo_metadata.life.begin import begin_growing
from hoodoo_metadata.partitions.api import Beginning, Missed, OfKeys, Work
from hoodoo_metadata.partitions.record_index.growing import Growing, is_first
from hoodoo_metadata.partitions.record_index.partition import (
    may_repeat,
    not_unique,
    placed,
    placed_slices,
)
from hoodoo_metadata.partitions.record_index.rows import GroupFiles, places, write_index_rows
from hoodoo_metadata.table.combine import newest_merged
from hoodoo_metadata.table.layout import GROWING_INDEX


@frozen
class GrowingIndexPartition(OfKeys):
    """See :class:`hoodoo_metadata.partitions.api.Partition`."""

    name: str = GROWING_INDEX
    keys: bool = True
    stored_keys: bool = False
    noted: bool = True
    sought: bool = True

    def begin(self, beginning: Beginning) -> tuple[WriteStat, ...]:
        return begin_growing(beginning.state, beginning.table, beginning.pending, beginning.size)

    def write(self, work: Work) -> tuple[WriteStat, ...]:
        keys = work.keys
        if keys is None or keys.rows is None:
            return ()
        growing = Growing.of(work.table.data.config)
        slices = work.table.slices(self.name)
        number = growing.open_number(work.table.storage, slices) if growing.by_group else 0
        files = self._files(work, growing, number, slices)
        if may_repeat(work, self.name, by_paths=False):
            files = evolve(files, known=growing.known_by_slot(number, slices))
        stats, repeated = write_index_rows(
            keys.table.engine, keys.rows, places(placed(work)), files, work.change.serializer
        )
        if repeated:
            not_unique(work, self.name)
        return stats

    def catch_up(self, missed: Missed) -> tuple[WriteStat, ...]:
        keys = missed.work.keys
        assert keys is not None and keys.rows is not None
        # Its first base files are not committed yet: all of them are the first of their buckets.
        files = self._files(missed.work, Growing.of(missed.work.table.data.config), 0, ())
        known = places(placed_slices(missed))
        return write_index_rows(keys.table.engine, keys.rows, known, files, keys.table.serializer)[
            0
        ]

    def _files(
        self, work: Work, growing: Growing, number: int, slices: Sequence[FileSlice]
    ) -> GroupFiles:
        begun = work.begun
        buckets = None if growing.by_group else growing.families(slices)
        return GroupFiles(
            work.table.storage,
            begun.pending,
            begun.schema_text,
            growing.groups(number),
            False,
            partition=self.name,
            buckets=buckets,
            cap=growing.cap,
        )

    def merged(
        self, storage: Storage, slice_: FileSlice, schema_text: str
    ) -> Iterator[pa.RecordBatch]:
        # What is deleted in a later file group hides what the first one says.
        later = not is_first(slice_.file_id)
        return newest_merged(storage, slice_, schema_text, deleted=later)
