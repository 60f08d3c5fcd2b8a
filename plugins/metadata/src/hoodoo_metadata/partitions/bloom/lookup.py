"""Lookup of filters: what ``bloom_filters`` has of base files, by their names."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen
from hoodoo.hookspecs.file_format import StoredFilter
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.log_files import LogFiles, log_files
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.payload import pack_slices, unpack_slices
from hoodoo.storage.api import Storage
from hoodoo.timeline.timeline import Timeline

from hoodoo_metadata.partitions.bloom.rows import FilterRow, decode_filter
from hoodoo_metadata.table.below import Below
from hoodoo_metadata.table.counted_blocks import CountedBlocks
from hoodoo_metadata.table.keys import filter_key
from hoodoo_metadata.table.layout import BLOOM_FILTERS, group_of
from hoodoo_metadata.table.metadata_table import FOLDER, MetadataTable
from hoodoo_metadata.table.slice import Layer, layers, newest

# Filters that are in memory at a time: each may be half a megabyte.
_AT_ONCE = 16


@frozen
class MetadataFilters:
    """See :class:`hoodoo_standard.hookspecs.key_filters.KeyFilters`. Files have names of their own:
    what is said of one stays true, whatever happens to the table."""

    # For the task: it reads the log files of the metadata table.
    logs: LogFiles = field(factory=log_files, eq=False, repr=False)

    @classmethod
    def from_settings(cls, settings: Settings) -> MetadataFilters:
        return cls()

    def find(self, storage: Storage, timeline: Timeline) -> bytes | None:
        if BLOOM_FILTERS not in timeline.config.metadata_partitions:
            return None
        table = MetadataTable.open(storage, timeline)
        groups = table.slices(BLOOM_FILTERS)
        blocks = None if table.blocks is None else table.blocks.packed()
        return json.dumps([pack_slices(groups).decode(), blocks]).encode() if groups else None

    def read(self, storage: Storage, found: bytes, paths: Sequence[str]) -> Iterator[StoredFilter]:
        of_key = {filter_key(*_named(path)): path for path in paths}
        groups, packed = json.loads(found)
        blocks = None if packed is None else CountedBlocks.unpacked(packed)
        metadata = Below(storage, FOLDER, blocks)
        for key, row in filter_rows(metadata, unpack_slices(groups.encode()), list(of_key)):
            yield StoredFilter(of_key[key], row.kind, row.content)


def filter_rows(
    metadata: Storage, groups: Sequence[FileSlice], wanted: Sequence[str]
) -> Iterator[tuple[str, FilterRow]]:
    """What the file ``groups`` have of the keys ``wanted``, in the order of the groups.
    ``metadata`` is the metadata table's store."""
    keys = pa.array(wanted, pa.string())
    numbers = group_of(keys, len(groups))
    for number, group in enumerate(groups):
        mine = keys.filter(pa.array(numbers == number)).cast(pa.binary())
        if len(mine):
            yield from _rows(layers(metadata, group), mine)


def _rows(found: Sequence[Layer], keys: pa.Array) -> Iterator[tuple[str, FilterRow]]:
    """Each layer may be of a schema of its own."""
    for start in range(0, len(keys), _AT_ONCE):
        left = keys.slice(start, _AT_ONCE)
        for layer in found:
            if not len(left):
                break
            part = layer.get(left)
            for entry in part.to_pylist():
                if entry["value"] is not None:
                    row = decode_filter(entry["value"], layer.schema_text or None)
                    if not row.is_deleted:
                        yield entry["key"].decode(), row
            left = left.filter(
                pc.invert(pc.is_in(left, value_set=part.column("key").combine_chunks()))
            )


def filters_merged(
    storage: Storage, slice_: FileSlice, schema_text: str
) -> Iterator[pa.RecordBatch]:
    """ENTRIES of a file group, ascending, a few at a time: first all keys, then their values."""
    found = layers(storage, slice_, schema_text)
    every = [pa.array([], pa.binary())]
    for layer in found:
        if layer.hfile is not None:
            every += [batch.column(0) for batch in layer.scan()]
    keys = pc.unique(pa.chunked_array(every, pa.binary()))
    keys = keys.take(pc.sort_indices(keys))
    for start in range(0, len(keys), _AT_ONCE):
        some = newest(found, keys.slice(start, _AT_ONCE))
        gone = [decode_filter(v, schema_text).is_deleted for v in some.column("value").to_pylist()]
        yield from some.filter(pc.invert(pa.array(gone, pa.bool_()))).sort_by("key").to_batches()


def _named(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    return folder, name
