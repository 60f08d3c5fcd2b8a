"""Ranges of columns from the files themselves: the footers of base files, the rows of log files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import ConfigError
from hoodoo.model.column_range import ColumnRange
from hoodoo.model.config import TableConfig
from hoodoo.model.meta import COMMIT_TIME, META_COLUMNS, PARTITION_PATH, RECORD_KEY
from hoodoo.model.range_values import raw_of

from hoodoo_metadata.options import RANGE_COLUMNS, RANGES_MOST
from hoodoo_metadata.partitions.column_stats.value_types import is_stored

# Of the meta columns these are indexed whatever is set, in this order.
META_INDEXED = (COMMIT_TIME, PARTITION_PATH, RECORD_KEY)
_OPERATION = "_hoodie_operation"


def indexed_columns(
    schema: pa.Schema, settings: Mapping[str, str], version: int = 9, meta: bool = True
) -> list[str]:
    """The columns of a table whose ranges are kept: those that ``settings`` name, else the first 32
    of a plain type; in front of them three meta columns if rows have such (``meta``).

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


def columns_of(schema: pa.Schema, config: TableConfig, options: Mapping[str, str]) -> list[str]:
    """The columns whose ranges are kept of a table with the ``schema``."""
    return indexed_columns(schema, options, config.version, meta=config.populate_meta_fields)


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


def row_ranges(rows: pa.Table, columns: Sequence[str], file_name: str) -> list[ColumnRange]:
    """What rows hold in those of ``columns`` that they have: what is said of a log file. Sizes are
    0, as Hudi's: blocks of rows have none for a column. No rows (a log file of deletes) have no
    type either."""
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
