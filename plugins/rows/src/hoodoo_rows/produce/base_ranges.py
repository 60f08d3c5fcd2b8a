"""Base ranges: what a base file holds in columns, in whatever format it is.

Its format says what it knows, and that may be nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
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
from hoodoo.model.range_values import is_comparable, raw_of
from hoodoo.storage.api import Storage

from hoodoo_rows.merge.virtual import VirtualKeys


def base_ranges(
    storage: Storage, file_format: BaseFileFormat, path: str, columns: Sequence[str]
) -> BaseRanges:
    """What the base file ``path`` holds in ``columns``.

    Raises CorruptTableError for a file that is missing or damaged, PluginError for a format that answers
    what can't be.
    """
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
            "Return Arrow scalars of the type that the column has in the file, or None for a bound that is not known.",
        ) from error
    if not 0 <= bounds.nulls <= rows:
        raise PluginError(
            obj,
            f"counted {bounds.nulls} nulls among {rows} rows of column {column}.",
            "Return the number of nulls in the whole file.",
        )
    sizes = (bounds.stored_bytes, bounds.raw_bytes)
    return ColumnRange(column, name, least, greatest, kind, rows, bounds.nulls, *sizes)
