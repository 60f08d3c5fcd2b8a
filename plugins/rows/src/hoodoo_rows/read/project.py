"""Project: the rows of one file in the shape of the table, filtered, cut to the wanted columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import UnsupportedTableError
from hoodoo.model.meta import COMMIT_TIME

from hoodoo_rows.read.spec import RowSpec, let_through
from hoodoo_rows.write.widen import widened


def columns_in(file: pa.Schema, spec: RowSpec) -> list[str]:
    """The physical columns that are read from the file."""
    there = set(file.names) - spec.hidden
    return [name for name in spec.schema.names if name in there]


def pushed_filter(file: pa.Schema, spec: RowSpec) -> pc.Expression | None:
    """The filter, if the file's own statistics may judge it; else None.

    They may where every column that the filter reads is in the file with the table's type: a column
    added later is null here, and a widened one has statistics of its old type.
    """
    if spec.where is None:
        return None
    if not spec.hidden.isdisjoint(spec.where_columns):
        return None
    for name in spec.where_columns:
        at = file.get_field_index(name)
        if at < 0 or file.field(at).type != spec.schema.field(name).type:
            return None
    return spec.where


def shaped(batches: Iterable[pa.RecordBatch], spec: RowSpec, path: str) -> Iterator[pa.RecordBatch]:
    """``batches`` of the file ``path`` -> batches of ``spec.out_schema``; empty ones are left out.

    UnsupportedTableError for rows without a commit time where ``spec`` needs one.
    """
    columns = list(spec.columns)
    for batch in batches:
        rows = widened(batch, spec.schema, path)
        if spec.where is not None:
            rows = let_through(rows, spec.where)
        if spec.timed:
            _check_times(rows, path)
        if rows.num_rows:
            # select keeps the number of rows even where there are no columns.
            yield rows if rows.schema.names == columns else rows.select(columns)


def _check_times(rows: pa.RecordBatch, path: str) -> None:
    times = rows.column(COMMIT_TIME)
    if times.null_count or pc.any(pc.equal(times, "")).as_py():
        raise UnsupportedTableError(
            f"rows of {path}",
            "have no commit time: another engine wrote them, and it stores no commit time in "
            "tables with virtual keys",
            "compare two snapshots (table.read with as_of), or read the whole table.",
        )
