"""Ranges of columns from the files themselves: the footers of base files, the rows of log files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from attrs import evolve

from hoodoo.errors import ConfigError
from hoodoo.metadata.column_stats.ranges import ColumnRange, partition_range
from hoodoo.metadata.column_stats.value_types import Raw, is_stored, raw_of
from hoodoo.model.meta import COMMIT_TIME, META_COLUMNS, PARTITION_PATH, RECORD_KEY
from hoodoo.options.metadata import RANGE_COLUMNS, RANGES_MOST

# Of the meta columns these are indexed whatever is set, in this order.
META_INDEXED = (COMMIT_TIME, PARTITION_PATH, RECORD_KEY)
_OPERATION = "_hoodie_operation"


def indexed_columns(
    schema: pa.Schema, settings: Mapping[str, str], version: int = 9, meta: bool = True
) -> list[str]:
    """The columns of a table whose ranges are kept: those that ``settings`` name, else the first 32 of a
    plain type; in front of them three meta columns if rows have such (``meta``).

    Raises ConfigError for a named column that the table doesn't have. Source:
    ``HoodieTableMetadataUtil.getColumnsToIndex``.
    """
    named = RANGE_COLUMNS.given(settings) or ()
    own = [f for f in schema if f.name not in META_COLUMNS and f.name != _OPERATION]
    if named:
        fields = [_named(schema, name) for name in named if name not in META_COLUMNS]
        chosen = [name for name, kind in fields if is_stored(kind, version)]
    else:
        most = RANGES_MOST.read(settings)
        chosen = [f.name for f in own if is_stored(f.type, version)][:most]
    return [*(META_INDEXED if meta else ()), *chosen]


def _named(schema: pa.Schema, name: str) -> tuple[str, pa.DataType]:
    """A column, or a field of one: ``outer.inner``."""
    fields: pa.Schema | pa.StructType = schema
    kind: pa.DataType | None = None
    for part in name.split("."):
        at = fields.get_field_index(part) if fields is not None else -1
        if at < 0:
            raise ConfigError(
                f"option {RANGE_COLUMNS.key}={name}",
                "the table has no such column.",
                f"Name some of {', '.join(f.name for f in schema if f.name not in META_COLUMNS)}.",
            )
        kind = fields.field(at).type
        fields = kind if pa.types.is_struct(kind) else None
    return name, kind


def file_ranges(
    metadata: pq.FileMetaData, columns: Sequence[str], file_name: str, version: int = 9
) -> list[ColumnRange]:
    """What a Parquet file holds in those of ``columns`` that it has, from its footer, in their order. Of a
    file without rows nothing is said.

    A column of the footer without least and greatest value in some row group is not
    :attr:`~hoodoo.metadata.column_stats.ranges.ColumnRange.is_known`: Arrow leaves them out where one is long.
    Source: ``ParquetUtils.readColumnStatsFromMetadata``.
    """
    if metadata.num_rows == 0:
        return []
    kinds = _leaf_kinds(metadata)
    places = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
    made = []
    for column in columns:
        kind = kinds.get(column)
        if kind is None or not is_stored(kind, version) or column not in places:
            continue
        if metadata.schema.column(places[column]).physical_type == "INT96":
            continue  # there is no order of such values that all writers agree on
        groups = list(_groups(metadata, places[column], column, kind, file_name))
        made.append(evolve(partition_range(groups, file_name, False), of_partition=False))
    return made


def footer_columns(metadata: pq.FileMetaData) -> frozenset[str]:
    """The paths of the columns that a Parquet file has, those without ranges included."""
    tops = {metadata.schema.column(i).path.split(".")[0] for i in range(metadata.num_columns)}
    return frozenset({*tops, *_leaf_kinds(metadata)})


def _leaf_kinds(metadata: pq.FileMetaData) -> dict[str, pa.DataType]:
    """The types of the columns, and of the fields of structs, by path."""
    kinds: dict[str, pa.DataType] = {}

    def add(prefix: str, fields: list[pa.Field]) -> None:
        for field in fields:
            kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
            if pa.types.is_struct(kind):
                add(f"{prefix}{field.name}.", [kind.field(i) for i in range(kind.num_fields)])
            else:
                kinds[prefix + field.name] = kind

    add("", list(metadata.schema.to_arrow_schema()))
    return kinds


def _groups(
    metadata: pq.FileMetaData, place: int, column: str, kind: pa.DataType, file_name: str
) -> Iterator[ColumnRange]:
    for number in range(metadata.num_row_groups):
        chunk = metadata.row_group(number).column(place)
        stats = chunk.statistics
        least = greatest = None
        nulls = 0
        if stats is not None:
            nulls = stats.null_count if stats.has_null_count else 0
            if stats.has_min_max:
                least, greatest = _raw(stats.min_raw, kind), _raw(stats.max_raw, kind)
        yield ColumnRange(
            column,
            file_name,
            least,
            greatest,
            kind,
            chunk.num_values,
            nulls,
            chunk.total_compressed_size,
            chunk.total_uncompressed_size,
        )


def _raw(stored: Raw, kind: pa.DataType) -> Raw:
    """What a footer stores, in the form of a bound."""
    if not isinstance(stored, bytes):
        return stored
    if pa.types.is_decimal(kind):
        return int.from_bytes(stored, "big", signed=True)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return stored.decode()
    return stored


def row_ranges(rows: pa.Table, columns: Sequence[str], file_name: str) -> list[ColumnRange]:
    """What rows hold in those of ``columns`` that they have: what is said of a log file. Sizes are 0, as
    Hudi's: blocks of rows have none for a column. No rows (a log file of deletes) have no type either.
    """
    made = []
    for column in columns:
        try:
            values = rows.column(column) if "." not in column else _inner(rows, column)
        except KeyError:
            continue
        if not len(values):
            made.append(ColumnRange(column, file_name))
            continue
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        ends = pc.min_max(values)
        least, greatest = (raw_of(ends[end]) for end in ("min", "max"))
        made.append(
            ColumnRange(
                column, file_name, least, greatest, values.type, len(values), values.null_count
            )
        )
    return made


def _inner(rows: pa.Table, path: str) -> pa.ChunkedArray:
    first, *rest = path.split(".")
    values = rows.column(first)
    for name in rest:
        values = pc.struct_field(values, name)
    return values
