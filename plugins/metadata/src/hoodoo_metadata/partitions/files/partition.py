"""Partition ``files``: which files each partition path has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from attrs import frozen
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage

from hoodoo_metadata.life.begin import begin_files
from hoodoo_metadata.partitions.api import Beginning, OfFiles, Work
from hoodoo_metadata.table.combine import files_merged
from hoodoo_metadata.table.deltas import Delta
from hoodoo_metadata.table.layout import FILES


@frozen
class FilesPartition(OfFiles):
    """See :class:`hoodoo_metadata.partitions.api.Partition`."""

    name: str = FILES
    keys: bool = False
    stored_keys: bool = False
    noted: bool = False
    sought: bool = False

    def begin(self, beginning: Beginning) -> tuple[WriteStat, ...]:
        return begin_files(beginning.state, beginning.table, beginning.pending)

    def deltas(self, work: Work) -> Sequence[Delta]:
        return [work.files.delta()]

    def merged(
        self, storage: Storage, slice_: FileSlice, schema_text: str
    ) -> Iterator[pa.RecordBatch]:
        return files_merged(storage, slice_)
