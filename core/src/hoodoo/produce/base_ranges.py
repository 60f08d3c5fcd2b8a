"""Base ranges: what a base file holds in columns, in whatever format it is.

The footers of plain Parquet files are read here; of other files their format says what it knows, and that
may be nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from attrs import field, frozen

from hoodoo.errors import PluginError
from hoodoo.files.parquet.ranges import file_ranges, footer_columns, footer_keys, read_footer
from hoodoo.hookspecs.file_format import (
    BaseFileFormat,
    ColumnBounds,
    HasColumnRanges,
    is_plain_parquet,
    key_range,
)
from hoodoo.model.column_range import ColumnRange
from hoodoo.model.range_values import is_comparable, raw_of
from hoodoo.storage.api import Storage


@frozen
class BaseRanges:
    """Of one file: ``rows``, the least and the greatest record key (``keys``), the paths of the ``columns``
    that it has, and the ``ranges`` by column of those whose ranges are known. Those may be without bounds
    (:attr:`~hoodoo.model.column_range.ColumnRange.is_known`)."""

    rows: int
    keys: tuple[str, str] | None = None
    columns: frozenset[str] = frozenset()
    ranges: Mapping[str, ColumnRange] = field(factory=dict)


def base_ranges(
    storage: Storage,
    file_format: BaseFileFormat,
    path: str,
    columns: Sequence[str],
) -> BaseRanges:
    """What the base file ``path`` holds in ``columns``.

    Raises CorruptTableError for a file that is missing or damaged, PluginError for a format that answers
    what can't be.
    """
    if is_plain_parquet(file_format):
        return _of_parquet(storage, path, columns)
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


def _of_parquet(storage: Storage, path: str, columns: Sequence[str]) -> BaseRanges:
    footer = read_footer(storage, path)
    found = file_ranges(footer, columns, path.rpartition("/")[2])
    ranges = {one.column: one for one in found}
    return BaseRanges(footer.num_rows, footer_keys(footer), footer_columns(footer), ranges)


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
            "Answer Arrow scalars of the type that the file has, or None where no bound is known.",
        ) from error
    if not 0 <= bounds.nulls <= rows:
        raise PluginError(
            obj,
            f"counted {bounds.nulls} nulls among {rows} rows of column {column}.",
            "Count the nulls of the whole file.",
        )
    sizes = (bounds.stored_bytes, bounds.raw_bytes)
    return ColumnRange(column, name, least, greatest, kind, rows, bounds.nulls, *sizes)
