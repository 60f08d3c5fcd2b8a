"""Methods of :class:`hoodoo.Table` for statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def alter(
    table: TableHandle,
    add: Any = None,
    *,
    widen: Mapping[str, Any] | None = None,
    nullable: str | Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
    drop: str | Sequence[str] = (),
    reorder: str | Sequence[str] = (),
    comments: Mapping[str, str] | None = None,
    engine: str | Engine | None = None,
) -> Commit:
    """Change the table's schema in one commit that has no rows; files from before are read as they are.

    ``add``: columns, or fields within them (``"place.zone"``, ``"stops.element.zone"``, ``"by.value.zone"``), -> types:
    pyarrow's, or Spark's by name (``"bigint"``, ``"decimal(9, 2)"``, ``"array<string>"``); they come last, and are null in rows from before. ``widen``: types that grow: int to bigint,
    float or double, float to double, decimals in precision. ``nullable``: columns that take nulls from now on.
    ``rename``, ``drop``, ``reorder`` and ``comments`` are refused: they need Hudi's schema evolution on read.

    Raises SchemaError, ConfigError. The instant of the commit is empty where all is so already.
    """
    found: Commit = table.run(
        "alter", add=add, widen=widen, nullable=nullable, rename=rename, drop=drop, reorder=reorder,
        comments=comments, engine=engine,
    )  # fmt: skip
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
