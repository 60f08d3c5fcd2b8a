"""Partitions ``column_stats`` and ``partition_stats``: what a file, or a partition, holds in a
column."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from hoodoo.errors import CorruptTableError
from hoodoo.model.column_range import ColumnRange

from hoodoo_metadata.partitions.column_stats.value_types import unwrapped, wrapping
from hoodoo_metadata.partitions.column_stats.values import read_ranges
from hoodoo_metadata.table.schema import COLUMN_RANGE, FIX, PARTITION_RANGE, decode_row, encode_row

# Fewer values are decoded one by one.
_MANY = 128


def gone(column: str, name: str, of_partition: bool = False) -> ColumnRange:
    """What says that a file, or a partition, is no longer there: Hudi's stub, which counts -1."""
    counts = (-1, -1, -1, -1)
    return ColumnRange(column, name, None, None, None, *counts, of_partition, is_deleted=True)


def encode_range(found: ColumnRange, version: int = 9) -> bytes:
    """The value that says so in a table of ``version``. Source:
    ``HoodieMetadataPayload.createColumnStatsRecord``, ``.createPartitionStatsRecords``."""
    how = wrapping(found.kind, version)
    stats: dict[str, Any] = {
        "fileName": found.name,
        "columnName": found.column,
        "minValue": how.wrap(found.least),
        "maxValue": how.wrap(found.greatest),
        "valueCount": found.values,
        "nullCount": found.nulls,
        "totalSize": found.size,
        "totalUncompressedSize": found.raw_size,
        "isDeleted": found.is_deleted,
        "isTightBound": found.is_tight,
        "valueType": how.info,
    }
    kind = PARTITION_RANGE if found.of_partition else COLUMN_RANGE
    return encode_row({"type": kind, "ColumnStatsMetadata": stats})


def decode_ranges(values: Iterable[Any], schema_text: str | None = None) -> list[ColumnRange]:
    """What ``values`` (bytes, or a binary array without nulls) say. ``schema_text``: what they were
    written with; None: that of version 9. Raises CorruptTableError."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.Array):
        found = read_ranges(values, schema_text) if len(values) >= _MANY else None
        if found is not None:
            return found
        values = values.to_pylist()
    return [_decoded(value, schema_text) for value in values]


def _decoded(value: bytes, schema_text: str | None) -> ColumnRange:
    row = decode_row(value, schema_text)
    stats = row.get("ColumnStatsMetadata")
    if stats is None:
        raise CorruptTableError(
            "metadata table, partition column_stats",
            f"holds a row of type {row.get('type')} that says nothing of a column.",
            FIX,
        )
    info = stats.get("valueType")
    least, kind = unwrapped(stats["minValue"], info)
    greatest, also = unwrapped(stats["maxValue"], info)
    return ColumnRange(
        stats["columnName"],
        stats["fileName"],
        least,
        greatest,
        kind if kind is not None else also,
        stats["valueCount"] or 0,
        stats["nullCount"] or 0,
        stats["totalSize"] or 0,
        stats["totalUncompressedSize"] or 0,
        row["type"] == PARTITION_RANGE,
        stats.get("isTightBound", False),
        stats["isDeleted"],
    )
