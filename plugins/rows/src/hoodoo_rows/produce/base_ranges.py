"""Base ranges: what a base file holds in columns, in whatever format it is.

Its format says what it knows, and that may be nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from attrs import evolve
from hoodoo.errors import PluginError
from hoodoo.hookspecs.file_format import (
    BaseFileFormat,
    BaseRanges,
    ColumnBounds,
    HasBaseRanges,
    HasColumnRanges,
    key_range,
)
from hoodoo.model.column_range import ColumnRange
from hoodoo.model.range_values import Raw, is_comparable, promoted, raw_of, typed, wider
from hoodoo.storage.api import Storage

from hoodoo_rows.merge.virtual import VirtualKeys


def base_ranges(
    storage: Storage, file_format: BaseFileFormat, path: str, columns: Sequence[str]
) -> BaseRanges:
    """What the base file ``path`` holds in ``columns``.

    Raises CorruptTableError for a file that is missing or damaged, PluginError for a format that
    answers what can't be."""
    stored = file_format.inner if isinstance(file_format, VirtualKeys) else file_format
    if isinstance(stored, HasBaseRanges):
        return stored.base_ranges(storage, path, columns)
    with file_format.reader(storage, path) as reader:
        rows, keys, schema = reader.num_rows, key_range(reader), reader.schema
    there = dict(_leaves("", schema))
    ranges = {}
    if rows and isinstance(file_format, HasColumnRanges):
        wanted = [c for c in columns if c in there and is_comparable(there[c])]
        found = file_format.column_ranges(storage, path, wanted)
        name = path.rpartition("/")[2]
        for column in wanted:
            if column in found:
                whose = file_format.__class__.__name__
                ranges[column] = _range(whose, column, name, found[column], there[column], rows)
    return BaseRanges(rows, keys, frozenset(there), ranges)


def _leaves(prefix: str, fields: pa.Schema | pa.StructType) -> list[tuple[str, pa.DataType]]:
    found: list[tuple[str, pa.DataType]] = []
    for one in (fields.field(i) for i in range(len(fields))):
        if pa.types.is_struct(one.type):
            found += _leaves(f"{prefix}{one.name}.", one.type)
        else:
            found.append((prefix + one.name, one.type))
    return found


def _range(
    whose: str, column: str, name: str, bounds: ColumnBounds, kind: pa.DataType, rows: int
) -> ColumnRange:
    obj = f"column_ranges of the file format {whose}"
    ends = (bounds.least, bounds.greatest)
    try:
        least, greatest = (None if end is None else raw_of(end.cast(kind)) for end in ends)
    except (pa.ArrowException, AttributeError, TypeError) as error:
        raise PluginError(
            obj,
            f"answered {bounds!r} for column {column} of type {kind} ({error}).",
            "Return Arrow scalars of the type that the column has in the file, or None for a bound "
            "that is not known.",
        ) from error
    if not 0 <= bounds.nulls <= rows:
        raise PluginError(
            obj,
            f"counted {bounds.nulls} nulls among {rows} rows of column {column}.",
            "Return the number of nulls in the whole file.",
        )
    sizes = (bounds.stored_bytes, bounds.raw_bytes)
    return ColumnRange(column, name, least, greatest, kind, rows, bounds.nulls, *sizes)


def range_table(ranges: Sequence[ColumnRange], kind: pa.DataType) -> pa.Table:
    """``ranges`` of one column, whose type is ``kind`` now, as columns ``name``, ``least``,
    ``greatest`` (of that type), ``values``, ``nulls``. Where bounds are null in spite of ``nulls <
    values``, nothing can be ruled out."""
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
    """What two values of one key say together. Source:
    ``HoodieTableMetadataUtil.mergeColumnStatsRecords``; other than there, an ``older`` or ``newer``
    that knows no bounds makes the answer know none."""
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
