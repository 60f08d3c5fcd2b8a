"""Project: the rows of one file in the shape of the table, filtered, cut to the wanted columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from hoodoo.model.schema_widen import widened
from hoodoo.read.spec import RowSpec


def columns_in(file: pa.Schema, spec: RowSpec) -> list[str]:
    """The physical columns that the file has."""
    there = set(file.names)
    return [name for name in spec.schema.names if name in there]


def pushed_filter(file: pa.Schema, spec: RowSpec) -> pc.Expression | None:
    """The filter, if the file's own statistics may judge it; else None.

    They may where every column that the filter reads is in the file with the table's type: a column
    added later is null here, and a widened one has statistics of its old type.
    """
    if spec.where is None:
        return None
    for name in spec.where_columns:
        at = file.get_field_index(name)
        if at < 0 or file.field(at).type != spec.schema.field(name).type:
            return None
    return spec.where


def shaped(batches: Iterable[pa.RecordBatch], spec: RowSpec, path: str) -> Iterator[pa.RecordBatch]:
    """``batches`` of the file ``path`` -> batches of ``spec.out_schema``; empty ones are left out."""
    columns = list(spec.columns)
    for batch in batches:
        rows = widened(batch, spec.schema, path)
        if spec.where is not None:
            rows = rows.filter(spec.where)
        if rows.num_rows:
            # select keeps the number of rows even where there are no columns.
            yield rows if rows.schema.names == columns else rows.select(columns)
