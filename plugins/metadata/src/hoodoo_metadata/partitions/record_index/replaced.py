"""Replaced: the keys that the record index says are in file groups which a commit replaces.

Asked of the index where files don't tell. In a table that is merged on read by ordering columns
nobody knows, when a row is written that is marked as deleted, whether a stored row outlasts it: so
the index is not told, and may know keys that no file holds any more. When their file group goes
they have to go, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.hookspecs.index import LOCATIONS_SCHEMA
from hoodoo.hookspecs.participant import KEY_CHANGES
from hoodoo.model.filegroup import FileSlice

from hoodoo_metadata.partitions.record_index.bucket import Bucket
from hoodoo_metadata.partitions.record_index.growing import Growing
from hoodoo_metadata.partitions.record_index.locations import decode_locations
from hoodoo_metadata.table.layout import GROWING_INDEX
from hoodoo_metadata.table.metadata_table import MetadataTable
from hoodoo_metadata.table.schema import record_schema
from hoodoo_metadata.table.slice import layers, merged


def told_rows(
    table: MetadataTable, partition: str, gone: Sequence[FileSlice], first: int = 0
) -> pa.Table:
    """KEY_CHANGES, deleted, of the keys in the file groups of ``gone``, numbered from ``first`` on.
    Reads the whole index in ``partition``, one batch of entries at a time. Raises
    CorruptTableError."""
    each = (_of_growing if partition == GROWING_INDEX else _of_groups)(table, partition)
    found = [batch for told in each for batch in _in(told, gone, first)]
    return pa.Table.from_batches(found, KEY_CHANGES)


# Batches of key, partition path and file id.
_Told = tuple[pa.Array, pa.Array, pa.Array]


def _of_groups(table: MetadataTable, partition: str) -> Iterator[_Told]:
    text = record_schema(table.data.config.version)
    for slice_ in table.slices(partition):
        for batch in merged(layers(table.storage, slice_, text)):
            path, file_id, _millis = decode_locations(batch.column("value"), text)
            yield batch.column("key").cast(pa.string()), path, file_id


def _of_growing(table: MetadataTable, partition: str) -> Iterator[_Told]:
    """A key may have entries in several file groups of its bucket: the youngest counts."""
    growing = Growing.of(table.data.config)
    for family in growing.families(table.slices(partition)):
        for told in Bucket(table.storage, family, growing=growing).entries():
            for batch in told.combine_chunks().to_batches():
                yield tuple(batch.column(name) for name in LOCATIONS_SCHEMA.names)


def _in(told: _Told, gone: Sequence[FileSlice], first: int) -> Iterator[pa.RecordBatch]:
    keys, path, file_id = told
    groups = pa.array([f"{s.partition_path}\0{s.file_id}" for s in gone], pa.string())
    at = pc.index_in(pc.binary_join_element_wise(path, file_id, "\0"), value_set=groups)
    theirs = pc.is_valid(at)
    keys = keys.filter(theirs)
    number = pc.add(at.filter(theirs).cast(pa.int64()), first)
    yield pa.record_batch([keys, number, pa.repeat(pa.scalar(True), len(keys))], schema=KEY_CHANGES)
