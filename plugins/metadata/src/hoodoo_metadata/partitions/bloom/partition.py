"""Partition ``bloom_filters``: the filters of record keys of base files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from attrs import frozen
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import BaseFile, FileSlice
from hoodoo.storage.api import Storage
from hoodoo.timeline import view

from hoodoo_metadata.options import FILTER_GROUPS
from hoodoo_metadata.partitions.api import Beginning, OfFiles, Work
from hoodoo_metadata.partitions.bloom.lookup import filters_merged
from hoodoo_metadata.partitions.bloom.write import FilterFiles, refuse_unfiltered, write_filters
from hoodoo_metadata.table.deltas import Delta
from hoodoo_metadata.table.keys import filter_key
from hoodoo_metadata.table.layout import BLOOM_FILTERS, group_id, group_of
from hoodoo_metadata.table.schema import record_schema


@frozen
class BloomFiltersPartition(OfFiles):
    """See :class:`hoodoo_metadata.partitions.api.Partition`."""

    name: str = BLOOM_FILTERS
    keys: bool = False
    stored_keys: bool = True
    noted: bool = False
    sought: bool = False

    def begin(self, beginning: Beginning) -> tuple[WriteStat, ...]:
        """Those of all committed files, as Hudi has it: what is undone later leaves older ones the
        newest."""
        state = beginning.state
        refuse_unfiltered(state.config.name, state.file_format)
        files = FilterFiles(
            state.storage,
            beginning.table.storage,
            state.file_format,
            beginning.pending,
            record_schema(state.config.version),
            base=True,
        )
        added: dict[str, dict[str, int]] = {}
        for file in view.parsed(view.list_data(state.storage)):
            committed = state.timeline.contains_or_before_start(file.instant)
            if isinstance(file, BaseFile) and committed:
                added.setdefault(file.partition_path, {})[file.name] = file.size
        return write_filters(state.engine, files, added, FILTER_GROUPS.read(state.options))

    def deltas(self, work: Work) -> Sequence[Delta]:
        """What goes with its files; what comes is long, and tasks write it."""
        removed: Mapping[str, Sequence[str]] = work.files.removed
        gone = [
            filter_key(path, name)
            for path, names in removed.items()
            for name in names
            if not name.startswith(".")
        ]
        groups = work.groups(self.name)
        if not gone or not groups:
            return ()
        keys = pa.array(sorted(gone), pa.string())
        numbers = group_of(keys, groups)
        lost = [keys.filter(pa.array(numbers == number)) for number in range(groups)]
        return [
            Delta(self.name, group_id(self.name, n), deleted=some) for n, some in enumerate(lost)
        ]

    def of_files(self, work: Work) -> tuple[WriteStat, ...]:
        engine, groups, begun = work.change.engine, work.groups(self.name), work.begun
        if engine is None or not groups or not work.files.added:
            return ()
        files = FilterFiles(
            work.change.storage,
            work.table.storage,
            work.file_format(),
            begun.pending,
            begun.schema_text,
            base=False,
            places=begun.places_of(self.name),
        )
        return write_filters(engine, files, work.files.added, groups)

    def merged(
        self, storage: Storage, slice_: FileSlice, schema_text: str
    ) -> Iterator[pa.RecordBatch]:
        return filters_merged(storage, slice_, schema_text)
