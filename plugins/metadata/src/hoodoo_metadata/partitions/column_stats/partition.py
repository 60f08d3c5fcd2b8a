"""Partitions ``column_stats`` and ``partition_stats``: what files, and partition paths, hold in
columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from attrs import frozen
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage

from hoodoo_metadata.life.begin import begin_ranges
from hoodoo_metadata.partitions.api import Beginning, OfFiles, Work
from hoodoo_metadata.partitions.column_stats.deltas import range_deltas
from hoodoo_metadata.table.combine import newest_merged, ranges_merged
from hoodoo_metadata.table.deltas import Delta
from hoodoo_metadata.table.layout import PARTITION_STATS


@frozen
class RangesPartition(OfFiles):
    """One of the two. See :class:`hoodoo_metadata.partitions.api.Partition`."""

    name: str
    keys: bool = False
    stored_keys: bool = False
    noted: bool = False
    sought: bool = False

    def begin(self, beginning: Beginning) -> tuple[WriteStat, ...]:
        return begin_ranges(beginning.state, beginning.table, beginning.pending, self.name)

    def deltas(self, work: Work) -> Sequence[Delta]:
        groups = {self.name: work.groups(self.name)}
        return range_deltas(work.ranges, work.files, work.columns, groups)

    def merged(
        self, storage: Storage, slice_: FileSlice, schema_text: str
    ) -> Iterator[pa.RecordBatch]:
        if self.name == PARTITION_STATS:
            return ranges_merged(storage, slice_)
        return newest_merged(storage, slice_, schema_text)
