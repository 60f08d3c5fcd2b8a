"""Ranges of columns as the footers of Parquet files say them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import evolve
from hoodoo.errors import CorruptTableError
from hoodoo.model.column_range import ColumnRange
from hoodoo.model.range_values import Raw, is_comparable
from hoodoo.storage.api import Storage, open_named
from hoodoo_rows.api import StoredFiles

from hoodoo_formats.record_keys import MAX_KEY, MIN_KEY


def read_footer(storage: Storage, path: str) -> pq.FileMetaData:
    """What the base file ``path`` says without its rows. Raises CorruptTableError for one that is
    missing or damaged."""
    obj = f"base file {path}"
    try:
        with open_named(storage, path, obj) as opened:
            return pq.read_metadata(opened)
    except (pa.ArrowException, OSError) as error:
        raise CorruptTableError(
            obj,
            f"its footer can't be read ({error}).",
            "If a cleaner removed it while you were looking, look again.",
        ) from error


def footer_keys(metadata: pq.FileMetaData) -> tuple[str, str] | None:
    """The least and the greatest record key that the footer names."""
    footer = metadata.metadata or {}
    ends = [footer.get(name.encode()) for name in (MIN_KEY, MAX_KEY)]
    low, high = (None if end is None else end.decode("utf-8", "replace") for end in ends)
    return None if low is None or high is None else (low, high)


def file_ranges(
    metadata: pq.FileMetaData, columns: Sequence[str], file_name: str
) -> list[ColumnRange]:
    """What a Parquet file holds in those of ``columns`` that it has, from its footer, in their
    order. Of a file without rows nothing is said.

    A column of the footer without least and greatest value in some row group is not
    :attr:`~hoodoo.model.column_range.ColumnRange.is_known`: Arrow leaves them out where one is
    long. Source: ``ParquetUtils.readColumnStatsFromMetadata``.
    """
    if metadata.num_rows == 0:
        return []
    kinds = _leaf_kinds(metadata)
    places = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
    made = []
    for column in columns:
        kind = kinds.get(column)
        if kind is None or not is_comparable(kind) or column not in places:
            continue
        if metadata.schema.column(places[column]).physical_type == "INT96":
            continue  # there is no order of such values that all writers agree on
        groups = list(_groups(metadata, places[column], column, kind, file_name))
        made.append(
            evolve(StoredFiles.partition_range(groups, file_name, False), of_partition=False)
        )
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
