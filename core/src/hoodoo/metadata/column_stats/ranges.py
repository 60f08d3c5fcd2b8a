"""Partitions ``column_stats`` and ``partition_stats``: what a file, or a partition, holds in a column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
from attrs import evolve, frozen

from hoodoo.errors import CorruptTableError
from hoodoo.metadata.column_stats.value_types import (
    Raw,
    promoted,
    typed,
    unwrapped,
    wider,
    wrapping,
)
from hoodoo.metadata.schema import COLUMN_RANGE, PARTITION_RANGE, decode_row, encode_row


@frozen
class ColumnRange:
    """What is in ``column`` of a file, or, if ``of_partition``, of all files of a partition.

    ``name``: the file's, or the partition path. ``least`` and ``greatest`` without their type, which is
    ``kind``: see :mod:`hoodoo.metadata.column_stats.value_types`; None where there is no value, or it isn't known.
    ``values`` counts rows, nulls included. ``size`` and ``raw_size`` are bytes in the file and before
    compression; 0 in log files. ``is_tight``: the files that are there were all looked at, so what was
    said before does not count. ``is_deleted``: the file, or the partition, is gone.
    """

    column: str
    name: str
    least: Raw | None = None
    greatest: Raw | None = None
    kind: pa.DataType | None = None
    values: int = 0
    nulls: int = 0
    size: int = 0
    raw_size: int = 0
    of_partition: bool = False
    is_tight: bool = False
    is_deleted: bool = False

    @property
    def is_known(self) -> bool:
        """Whether each value that is not null lies between ``least`` and ``greatest``. Where it isn't,
        nothing can be ruled out; Hudi's readers would take the column for null throughout."""
        return (self.least is not None and self.greatest is not None) or self.nulls >= self.values

    @property
    def minimum(self) -> pa.Scalar:
        """``least`` as a value of type ``kind``."""
        return typed([self.least], self.kind or pa.null())[0]

    @property
    def maximum(self) -> pa.Scalar:
        """``greatest`` as a value of type ``kind``."""
        return typed([self.greatest], self.kind or pa.null())[0]


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
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        values = values.to_pylist()
    return [_decoded(value, schema_text) for value in values]


def _decoded(value: bytes, schema_text: str | None) -> ColumnRange:
    row = decode_row(value, schema_text)
    stats = row.get("ColumnStatsMetadata")
    if stats is None:
        raise CorruptTableError(
            "metadata table, partition column_stats",
            f"holds a row of type {row.get('type')} that says nothing of a column.",
            "Make the metadata table anew: hoodoo rebuild-index.",
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


def range_table(ranges: Sequence[ColumnRange], kind: pa.DataType) -> pa.Table:
    """``ranges`` of one column, whose type is ``kind`` now, as columns ``name``, ``least``, ``greatest``
    (of that type), ``values``, ``nulls``. Where bounds are null in spite of ``nulls < values``, nothing
    can be ruled out."""
    # Types compare slowly, and there are few.
    same = {at: held == kind for at, held in {id(r.kind): r.kind for r in ranges}.items()}
    ends = (
        [r.least if same[id(r.kind)] else promoted(r.least, r.kind, kind) for r in ranges],
        [r.greatest if same[id(r.kind)] else promoted(r.greatest, r.kind, kind) for r in ranges],
    )
    return pa.table(
        {
            "name": pa.array([r.name for r in ranges], pa.string()),
            "least": typed(ends[0], kind),
            "greatest": typed(ends[1], kind),
            "values": pa.array([r.values for r in ranges], pa.int64()),
            "nulls": pa.array([r.nulls for r in ranges], pa.int64()),
        }
    )


def merge_ranges(older: ColumnRange, newer: ColumnRange) -> ColumnRange:
    """What two values of one key say together. Source: ``HoodieTableMetadataUtil.mergeColumnStatsRecords``;
    other than there, an ``older`` or ``newer`` that knows no bounds makes the answer know none."""
    if newer.is_deleted or older.is_deleted or newer.is_tight:
        return newer
    return evolve(_joined(older, newer), name=newer.name, is_tight=newer.is_tight)


def partition_range(
    files: Sequence[ColumnRange], partition_path: str, is_tight: bool = True
) -> ColumnRange:
    """What a partition holds in a column, from what each of its files, one or more, does.

    ``is_tight``: they are all files that the partition has now.
    """
    whole = files[0]
    for found in files[1:]:
        whole = _joined(whole, found)
    return evolve(whole, name=partition_path, of_partition=True, is_tight=is_tight)


def _joined(older: ColumnRange, newer: ColumnRange) -> ColumnRange:
    """Both together, in the wider type of the two."""
    kind = wider(older.kind, newer.kind)
    least = [promoted(r.least, r.kind, kind) for r in (older, newer)]
    greatest = [promoted(r.greatest, r.kind, kind) for r in (older, newer)]
    if _unknown(older, least[0], greatest[0]) or _unknown(newer, least[1], greatest[1]):
        least = greatest = [None, None]
    return evolve(
        newer,
        least=min((raw for raw in least if raw is not None), default=None),
        greatest=max((raw for raw in greatest if raw is not None), default=None),
        kind=kind,
        values=older.values + newer.values,
        nulls=older.nulls + newer.nulls,
        size=older.size + newer.size,
        raw_size=older.raw_size + newer.raw_size,
    )


def _unknown(found: ColumnRange, least: Raw | None, greatest: Raw | None) -> bool:
    return (least is None or greatest is None) and found.nulls < found.values
