"""Column range: what a file, or a partition, holds in a column."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from attrs import evolve, frozen

from hoodoo.model.range_values import Raw, promoted, typed, wider


@frozen
class ColumnRange:
    """What is in ``column`` of a file, or, if ``of_partition``, of all files of a partition.

    ``name``: the file's, or the partition path. ``least`` and ``greatest`` without their type,
    which is ``kind``: see :mod:`hoodoo.model.range_values`; None where there is no value, or it
    isn't known. ``values`` counts rows, nulls included. ``size`` and ``raw_size`` are bytes in the
    file and before compression; 0 in log files. ``is_tight``: all existing files were read, so
    earlier ranges do not count. ``is_deleted``: the file, or the partition, was deleted.
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
