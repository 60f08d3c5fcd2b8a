"""Known ranges: what ``column_stats`` says of columns of files, by the keys that are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import pyarrow as pa
from hoodoo.model.column_range import ColumnRange
from hoodoo.model.filegroup import BaseFile, FileSlice
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_metadata.partitions.column_stats.ranges import decode_ranges
from hoodoo_metadata.partitions.known import has_ranges
from hoodoo_metadata.table.keys import column_key
from hoodoo_metadata.table.layout import COLUMN_STATS, group_of
from hoodoo_metadata.table.metadata_table import MetadataTable
from hoodoo_metadata.table.schema import record_schema
from hoodoo_metadata.table.slice import layers, newest

What = TypeVar("What")


def ranges_of_files(
    snapshot: Snapshot, files: Sequence[BaseFile], columns: Sequence[str]
) -> dict[BaseFile, dict[str, ColumnRange]]:
    """The stored ranges of ``columns`` in each of ``files``. Files and columns without a range are
    left out."""
    if not has_ranges(snapshot.config):
        return {}
    names = {
        column_key(column, file.partition_path, file.name): (file, column)
        for file in files
        for column in columns
    }
    table = MetadataTable.open(snapshot.storage, snapshot.timeline)
    groups = table.slices(COLUMN_STATS)
    known: dict[BaseFile, dict[str, ColumnRange]] = {}
    for (file, column), found in known_ranges(table, groups, names) if groups else ():
        if not found.is_deleted:
            known.setdefault(file, {})[column] = found
    return known


def known_ranges(
    table: MetadataTable, groups: Sequence[FileSlice], asked: Mapping[str, What]
) -> Iterator[tuple[What, ColumnRange]]:
    """What is known of the keys ``asked`` (:func:`hoodoo_metadata.table.keys.column_key`), each
    with what it stands for. ``groups``: the slices of ``column_stats``, by group; those that none
    of the keys lies in are not opened."""
    keys = pa.array(asked, pa.string())
    of_key = group_of(keys, len(groups))
    text = record_schema(table.data.config.version)
    for number, group in enumerate(groups):
        mine = keys.filter(pa.array(of_key == number)).cast(pa.binary())
        if not len(mine):
            continue
        found = newest(layers(table.storage, group, text), mine)
        ranges = decode_ranges(found.column("value"))
        for key, one in zip(found.column("key").to_pylist(), ranges, strict=True):
            yield asked[key.decode()], one
