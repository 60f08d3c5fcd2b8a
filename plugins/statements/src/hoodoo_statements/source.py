"""Source: what is merged into a table, as one Arrow table with the types that the table would give
its columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import DataError, SchemaError
from hoodoo.hookspecs.engine import Engine, Task
from hoodoo.model.meta import META_COLUMNS
from hoodoo.table.handle import TableHandle
from hoodoo.table.table import Table
from hoodoo_rows.api import ArrivingRows
from hoodoo_rows.model.conform import conform

from hoodoo_statements.options import SOURCE_LIMIT


@frozen
class Normal:
    """Step: rows as they come -> rows of ``out_schema``, which has their columns. DataError past
    ``limit`` bytes."""

    out_schema: pa.Schema
    limit: int

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        size = 0
        for batch in batches:
            rows = conform(batch.select(self.out_schema.names), self.out_schema)
            size += rows.nbytes
            if size > self.limit:
                raise DataError(
                    "the source of a merge",
                    f"is larger than {self.limit} bytes, and each task holds it in memory.",
                    "Merge it in parts, use table.upsert for whole rows, or raise "
                    f"{SOURCE_LIMIT.key}.",
                )
            yield rows


def source_rows(table: TableHandle, source: Any, engine: Engine) -> pa.Table:
    """All rows of ``source``: whatever a write takes, another table, or a scan. Evaluated once."""
    if isinstance(source, Table):  # a DataFrame of Spark Connect has an attribute of any name
        source = source.read()
    schema = table.schema
    stream = engine.source(ArrivingRows.known_data(source, schema))
    names = stream.schema.names
    lower = [n.lower() for n in names if n not in META_COLUMNS]
    twice = sorted({n for n in lower if lower.count(n) > 1})
    if twice:
        raise SchemaError(
            "the source of a merge",
            f"has columns that differ in case alone: {', '.join(twice)}.",
            "Rename one.",
        )
    arriving = ArrivingRows.schema(stream.schema, schema, table.options)
    limit = SOURCE_LIMIT.read(table.options)
    rows = engine.collect(engine.map(stream, Normal(arriving, limit)))
    if rows.nbytes > limit:
        next(Normal(arriving, 0)(iter(rows.to_batches()), Task()))
    return rows
