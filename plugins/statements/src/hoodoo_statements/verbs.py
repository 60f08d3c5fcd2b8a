"""Methods of :class:`hoodoo.Table` for statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hoodoo.calls import is_a_call
from hoodoo.hookspecs.engine import Engine
from hoodoo.table.handle import TableHandle
from hoodoo.timeline.batches import Batch
from hoodoo_rows.api import Commit

from hoodoo_statements.builder import MergeBuilder


def update(
    table: TableHandle,
    set: Mapping[str, Any],
    where: Any = None,
    *,
    engine: str | Engine | None = None,
    batch: Batch | None = None,
) -> Commit:
    """Change columns of the rows for which ``where`` is true; without ``where``, of all rows.

    ``set`` maps columns to expressions: SQL as text, a Spark Column, a pyarrow expression, or a
    value that is not text. ``where`` is SQL, a Column, or a pyarrow expression. This is one commit.
    If no row changes, there is no commit, and the instant is empty. Raises ConfigError, SchemaError
    and DataError."""
    found: Commit = table.run("update", values=set, where=where, engine=engine, batch=batch)
    return found


def alter(
    table: TableHandle,
    add: Any = None,
    *,
    widen: Mapping[str, Any] | None = None,
    nullable: str | Sequence[str] | None = None,
    rename: Mapping[str, str] | None = None,
    drop: str | Sequence[str] | None = None,
    reorder: str | Sequence[str] | None = None,
    comments: Mapping[str, str] | None = None,
    engine: str | Engine | None = None,
) -> Commit:
    """Change the table's schema in one commit without rows. Existing files are not rewritten.

    ``add`` maps columns, or fields within them (``"place.zone"``, ``"stops.element.zone"``,
    ``"by.value.zone"``), to types: pyarrow types, or Spark's names of types (``"bigint"``,
    ``"decimal(9, 2)"``, ``"array<string>"``). They are null in existing rows. ``widen`` maps
    columns to wider types: int to bigint, float or double; float to double; decimals in precision.
    ``nullable`` names columns that accept nulls from now on. ``rename`` maps columns, and fields
    within them, to new names; ``drop`` takes some away; those of ``reorder`` come first. Other
    readers need ``hoodie.schema.on.read.enable=true`` from then on. Columns of the key, the
    partition path, the ordering and of indexes are refused; so are ``comments``.

    Raises SchemaError and ConfigError. If nothing has to change, the instant of the commit is
    empty."""
    found: Commit = table.run(
        "alter",
        add=add,
        widen=widen,
        nullable=nullable or (),
        rename=rename,
        drop=drop or (),
        reorder=reorder or (),
        comments=comments,
        engine=engine,
    )
    return found


# An object in deltalake.
is_a_call(alter, "add_columns", "add_constraint", "add_feature", "set_table_properties")


def merge(
    table: TableHandle,
    source: Any,
    on: Any = None,
    *,
    engine: str | Engine | None = None,
    batch: Batch | None = None,
) -> MergeBuilder:
    """Merge ``source`` into the table: add clauses, then call ``execute()``. ``source`` is any data
    that a write accepts, another table, or a scan.

    ``on`` says which rows match: the name of a column that both sides have, a list of such names,
    or a condition in SQL over ``target.*`` and ``source.*``. The default is the columns of the
    record key."""
    return MergeBuilder(table, source, on, engine, batch)
