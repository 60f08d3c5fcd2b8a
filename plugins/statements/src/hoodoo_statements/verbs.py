"""Methods of :class:`hoodoo.Table` for statements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hoodoo.hookspecs.engine import Engine
from hoodoo.table.handle import TableHandle
from hoodoo.timeline.batches import Batch
from hoodoo.write.commit import Commit

from hoodoo_statements.builder import MergeBuilder


def update(
    table: TableHandle,
    set: Mapping[str, Any],
    where: Any = None,
    *,
    engine: str | Engine | None = None,
    batch: Batch | None = None,
) -> Commit:
    """Columns of the rows that ``where`` is true of get other values: all rows where nothing is said.

    ``set``: column -> expression: SQL as text, a Column of Spark, a pyarrow expression, or a value that is no text.
    ``where``: SQL, a Column, or a pyarrow expression. One commit; none, with an empty instant, where no row is
    changed. Raises ConfigError, SchemaError and DataError.
    """
    found: Commit = table.run("update", values=set, where=where, engine=engine, batch=batch)
    return found


def merge(
    table: TableHandle,
    source: Any,
    on: Any = None,
    *,
    engine: str | Engine | None = None,
    batch: Batch | None = None,
) -> MergeBuilder:
    """Merge ``source``, rows as a write takes them, another table or a scan: add clauses, then ``execute()``.

    ``on`` says which rows belong together: the name of a column that both have, a list of them, or a condition in SQL
    over ``target.*`` and ``source.*``; the columns of the record key where nothing is said.
    """
    return MergeBuilder(table, source, on, engine, batch)
