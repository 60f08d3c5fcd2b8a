"""Replaced: the keys that the record index says are in file groups which a commit replaces.

Asked of the index where files don't tell. In a table that is merged on read by ordering columns nobody knows, when
a row is written that is marked as deleted, whether a stored row outlasts it: so the index is not told, and may
know keys that no file holds any more. When their file group goes they have to go, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.model.filegroup import FileSlice
from hoodoo.produce.key_changes import INDEX_ROWS

from hoodoo_metadata.record_index.locations import decode_locations
from hoodoo_metadata.schema import record_schema
from hoodoo_metadata.slice import layers, merged
from hoodoo_metadata.table import MetadataTable


def told_rows(
    table: MetadataTable, partition: str, gone: Sequence[FileSlice], first: int = 0
) -> pa.Table:
    """INDEX_ROWS, deleted, of the keys in the file groups of ``gone``, numbered from ``first`` on. Reads the whole
    index in ``partition``, one batch of entries at a time. Raises CorruptTableError."""
    found = [
        batch for slice_ in table.slices(partition) for batch in _in(table, slice_, gone, first)
    ]
    return pa.Table.from_batches(found, INDEX_ROWS)


def _in(
    table: MetadataTable, bucket: FileSlice, gone: Sequence[FileSlice], first: int
) -> Iterator[pa.RecordBatch]:
    text = record_schema(table.data.config.version)
    groups = pa.array([f"{s.partition_path}\0{s.file_id}" for s in gone], pa.string())
    for batch in merged(layers(table.storage, bucket, text)):
        path, file_id, _millis = decode_locations(batch.column("value"), text)
        at = pc.index_in(pc.binary_join_element_wise(path, file_id, "\0"), value_set=groups)
        mine = pc.is_valid(at)
        keys = batch.column("key").filter(mine).cast(pa.string())
        number = pc.add(at.filter(mine).cast(pa.int64()), first)
        deleted = pa.repeat(pa.scalar(True), len(keys))
        yield pa.record_batch([keys, number, deleted], schema=INDEX_ROWS)
