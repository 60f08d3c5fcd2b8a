"""Bounds: the least and greatest values of columns in file slices, without reading a row.

Participants of the table may know them, as its metadata table does where it keeps ranges of
columns; what they do not know, base files say, as far as their format does. What is merged from log
files is not known: a log file may hold less than the base file's least value, or delete it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.model.column_range import ColumnRange
from hoodoo.model.filegroup import BaseFile, FileSlice
from hoodoo.model.meta import META_COLUMNS, RECORD_KEY
from hoodoo.participants.of_table import Participants
from hoodoo.storage.api import Storage
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_rows.api import Batches, StoredFiles

from hoodoo_clustering.hookspecs.clustering import Bounds, Clusterable

_AT_ONCE = 16
# Fewer files are opened as fast as participants are asked.
_FEW = 4


@frozen
class Known:
    """What is known of a base file. ``rows``: None if nobody has counted them."""

    ranges: dict[str, ColumnRange] = field(factory=dict)
    rows: int | None = None


def with_bounds(
    snapshot: Snapshot,
    file_format: BaseFileFormat,
    schema: pa.Schema,
    slices: Sequence[FileSlice],
    columns: Sequence[str],
    use_metadata: bool = True,
    more: Sequence[str] = (),
) -> list[Clusterable]:
    """``slices``, in their order, with the bounds of ``columns`` (fields of structs:
    ``outer.inner``) and the rows; None where that is not known. ``schema``: the table's own columns
    now. No columns: nothing is read. ``more``: columns for whose sake alone no file is opened.

    Raises CorruptTableError for a base file that is missing or damaged, or a metadata table that
    is."""
    names = tuple(dict.fromkeys((*columns, *more)))
    kinds = {name: kind for name in names if (kind := kind_of(schema, name)) is not None}
    bases = [s.base_file for s in slices if s.base_file is not None and not s.row_logs]
    unknown: dict[str, Bounds] = dict.fromkeys(names)
    if not kinds or not bases:
        return [Clusterable(s, unknown) for s in slices]
    found: list[Known | None] = [None] * len(bases)
    if use_metadata and len(bases) >= _FEW:
        found = _told(snapshot, bases, list(kinds))
    needed = kinds.keys() & set(columns)
    silent = [n for n, one in enumerate(found) if needed and _lacks(one, needed)]
    read = _found(snapshot.storage, file_format, [bases[n] for n in silent], list(kinds))
    for n, one in zip(silent, read, strict=True):
        found[n] = one
    by_column = {name: _typed(found, name, kind) for name, kind in kinds.items()}
    rows = [None if one is None else one.rows for one in found]
    known = zip(zip(*by_column.values(), strict=True), rows, strict=True)
    made = []
    for slice_ in slices:
        if slice_.base_file is None or slice_.row_logs:
            made.append(Clusterable(slice_, unknown))
            continue
        ends, count = next(known)
        bounds = dict(zip(by_column, ends, strict=True))
        made.append(Clusterable(slice_, {**unknown, **bounds}, count))
    return made


def kind_of(schema: pa.Schema, column: str) -> pa.DataType | None:
    """The type of a column, or of a field of one; None if there is none such."""
    if column in META_COLUMNS:
        return pa.string()
    first, *rest = column.split(".")
    if first not in schema.names:
        return None
    kind = schema.field(first).type
    for part in rest:
        at = kind.get_field_index(part) if pa.types.is_struct(kind) else -1
        if at < 0:
            return None
        kind = kind.field(at).type
    return None if pa.types.is_nested(kind) else kind


def _told(
    snapshot: Snapshot, bases: Sequence[BaseFile], columns: Sequence[str]
) -> list[Known | None]:
    """What participants of the table know of each; None of files that they do not know."""
    participants = Participants.of_table(snapshot.config)
    known = participants.column_ranges(snapshot.storage, snapshot.timeline, bases, columns)
    told = map(known.get, bases)
    return [
        Known(ranges, next(iter(ranges.values())).values) if ranges else None for ranges in told
    ]


def _lacks(found: Known | None, needed: Collection[str]) -> bool:
    return found is None or not all(name in found.ranges for name in needed)


def _found(
    storage: Storage, file_format: BaseFileFormat, bases: Sequence[BaseFile], columns: Sequence[str]
) -> list[Known]:
    """What the files say, several read at a time."""
    todo = [partial(_looked, storage, file_format, base, columns) for base in bases]
    return list(Batches.in_order(todo, min(_AT_ONCE, len(todo)))) if todo else []


def _looked(
    storage: Storage, file_format: BaseFileFormat, base: BaseFile, columns: Sequence[str]
) -> Iterator[Known]:
    found = StoredFiles.ranges(storage, file_format, base.path, columns)
    ranges = dict(found.ranges)
    if RECORD_KEY in columns and found.keys is not None:
        # Exact, where statistics may have been left out.
        ranges[RECORD_KEY] = ColumnRange(
            RECORD_KEY, base.name, *found.keys, pa.string(), found.rows
        )
    yield Known(ranges, found.rows)


def _typed(found: Sequence[Known | None], column: str, kind: pa.DataType) -> list[Bounds]:
    """The bounds of ``column`` in each file, as values of the type that it has now."""
    made: list[Bounds] = [None] * len(found)
    held = [(n, one.ranges.get(column)) for n, one in enumerate(found) if one is not None]
    said = [(n, one) for n, one in held if one is not None and one.is_known]
    if not said:
        return made
    try:
        table = StoredFiles.range_table([r for _, r in said], kind)
    except (pa.ArrowException, TypeError, OverflowError):  # the column has another type now
        return made
    ends = [_values(table.column(name)) for name in ("least", "greatest")]
    for (n, _), low, high in zip(said, *ends, strict=True):
        if low is not None and high is not None and low <= high:  # NaN is neither
            made[n] = low, high
    return made


def _values(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    if pa.types.is_time(column.type) and column.type == pa.time64("ns"):
        column = pc.cast(column, pa.time64("us"), safe=False)
    return column.to_pylist()
