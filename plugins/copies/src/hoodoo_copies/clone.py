"""Clone: a new table with the properties and rows of another one."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any, cast

from hoodoo import Table
from hoodoo import open as open_table
from hoodoo.errors import UnsupportedTableError
from hoodoo.model.config import TableConfig
from hoodoo.table.settings import open_storage
from hoodoo.timeline.create import init_table
from hoodoo_rows.api import Reads

from hoodoo_copies.source import of_copy, refuse_overlap

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle

# Prefixes of properties that describe the files or states of one table: a clone does not get them.
_OF_ONE = (
    "hoodoo.tag.",
    "hoodoo.index.unique",
    "hoodie.table.checksum",
    "hoodoo.rewrite",
    # Names in catalogs (of hoodoo-catalogs and hoodoo-publishing).
    "hoodoo.catalogs",
    "hoodoo.open.catalogs",
)
_SCHEMA = "hoodie.table.create.schema"


def clone(table: TableHandle, path: str, as_of: str | date | int | None, shallow: bool) -> Table:
    """A new table at ``path`` with the properties of ``table``, and its rows, as of ``as_of``.

    The copy is made in tasks, and is one commit. A process that ends before this commit leaves a
    table without rows at ``path``, which the next clone refuses: remove it first.

    Raises UnsupportedTableError if ``shallow``, and CallError if one table is within the other."""
    if shallow:
        raise UnsupportedTableError(
            f"shallow clone of {table.config.name}",
            "would name files of the other table, and Hudi has no paths outside of a table: a "
            "clean of either would delete files that the other one reads.",
            "Clone without shallow=True, or read the table with as_of.",
        )
    refuse_overlap(table, path)
    scan = Reads.read(table, as_of=as_of)
    properties = {k: v for k, v in of_copy(table.config).items() if not k.startswith(_OF_ONE)}
    if (instant := scan.plan.instant) is not None:
        # Columns may have changed since the creation.
        text = table.timeline().latest_schema_text(table.storage, instant)
        properties.update({_SCHEMA: text} if text else {})
    init_table(open_storage(path, table.options), TableConfig(properties))
    # A property may have changed since the table was opened: the new value counts, not the option.
    given = table.options.items()
    options = {k: v for k, v in given if k not in properties and not k.startswith(_OF_ONE)}
    made = open_table(path, options, engine=table.default_engine)
    cast(Any, made).bulk_insert(scan)  # a verb of hoodoo-rows
    made.handle.participants.repair()
    return made
