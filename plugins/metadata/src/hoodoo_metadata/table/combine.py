"""Combine: all entries of one file group as a base file holds them, however its partition merges
values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.model.column_range import ColumnRange
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage
from hoodoo_rows.api import StoredFiles

from hoodoo_metadata.hfile import ENTRIES
from hoodoo_metadata.partitions.column_stats.ranges import decode_ranges, encode_range
from hoodoo_metadata.partitions.files.deltas import entries
from hoodoo_metadata.partitions.files.rows import (
    ALL_PARTITIONS,
    FileChanges,
    decode_files,
    encode_files,
    encode_partitions,
    merge_files,
)
from hoodoo_metadata.table.keys import are_of_partitions
from hoodoo_metadata.table.slice import Layer, layers, merged


def files_merged(storage: Storage, slice_: FileSlice) -> Iterator[pa.RecordBatch]:
    """ENTRIES of a file group of ``files``, ascending; nothing of what is deleted."""
    yield from entries(_files(layers(storage, slice_))).to_batches()


def ranges_merged(storage: Storage, slice_: FileSlice) -> Iterator[pa.RecordBatch]:
    """The same of ``partition_stats``."""
    yield from entries(_ranges(layers(storage, slice_))).to_batches()


def newest_merged(
    storage: Storage, slice_: FileSlice, schema_text: str, deleted: bool = False
) -> Iterator[pa.RecordBatch]:
    """The same where the newest value of a key counts, as values of ``schema_text``. ``deleted``:
    with deleted entries, whose value is empty."""
    found = layers(storage, slice_)
    yield from merged([layer.coded(schema_text) for layer in found], deleted=deleted)


def with_ranges_merged(
    storage: Storage, slice_: FileSlice, schema_text: str
) -> Iterator[pa.RecordBatch]:
    """The same of an expression index: of what is said of files the newest counts, of what is said
    of a partition path all."""
    found = layers(storage, slice_)
    newest = pa.Table.from_batches(
        merged([layer.coded(schema_text) for layer in found]), ENTRIES
    ).combine_chunks()
    of_partitions = are_of_partitions(newest.column("key"))
    whole = entries(_ranges(found, are_of_partitions))
    rows = pa.concat_tables([newest.filter(pc.invert(of_partitions)), whole])
    yield from rows.sort_by("key").to_batches()


def file_changes(found: Sequence[Layer], wanted: pa.Array | None = None) -> dict[str, FileChanges]:
    """Key -> what the layers of a slice of ``files``, the newest first, say together. ``wanted``:
    keys."""
    changes: dict[str, FileChanges] = {}
    for layer in reversed(found):
        rows = layer.all() if wanted is None else layer.get(wanted)
        for row in rows.to_pylist():
            key = row["key"].decode()
            if row["value"] is None:
                changes.pop(key, None)
                continue
            newer = decode_files(row["value"], layer.schema_text or None)
            older = changes.get(key)
            changes[key] = newer if older is None else merge_files(older, newer)
    return changes


def _files(found: Sequence[Layer]) -> dict[str, bytes]:
    return {
        key: encode_partitions(c.added) if key == ALL_PARTITIONS else encode_files(c.added)
        for key, c in file_changes(found).items()
    }


def _ranges(
    found: Sequence[Layer], which: Callable[[pa.Array], pa.Array] | None = None
) -> dict[str, bytes]:
    """What each partition holds, by all that was ever told of it. ``which``: of which keys."""
    ranges: dict[str, ColumnRange] = {}
    for layer in reversed(found):
        rows = layer.all()
        if which is not None:
            rows = rows.filter(which(rows.column("key")))
        for row in rows.to_pylist():
            key = row["key"].decode()
            if row["value"] is None:
                ranges.pop(key, None)
                continue
            (newer,) = decode_ranges([row["value"]], layer.schema_text or None)
            ranges[key] = StoredFiles.merged_ranges(ranges[key], newer) if key in ranges else newer
    return {key: encode_range(r) for key, r in ranges.items() if not r.is_deleted}
