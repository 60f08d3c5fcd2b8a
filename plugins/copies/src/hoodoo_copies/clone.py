"""Clone: a new table with the properties and rows of another one."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

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

# What says something of the files or the states of one table alone.
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
    if shallow:
        raise UnsupportedTableError(
            f"shallow clone of {table.config.name}",
            "would name files of the other table, and Hudi has no paths outside of a table: a "
            "clean of either would delete files that the other one reads.",
            "Clone without shallow=True, or read the table with as_of.",
        )
    refuse_overlap(table, path)
    scan = Reads.read(table, as_of=as_of)
    said = {k: v for k, v in of_copy(table.config).items() if not k.startswith(_OF_ONE)}
    if (instant := scan.plan.instant) is not None:  # columns may have changed since the creation
        text = table.timeline().latest_schema_text(table.storage, instant)
        said.update({_SCHEMA: text} if text else {})
    init_table(open_storage(path, table.options), TableConfig(said))
    # What the properties say may have become another since the table was opened.
    given = table.options.items()
    options = {k: v for k, v in given if k not in said and not k.startswith(_OF_ONE)}
    made: Any = open_table(path, options, engine=table.default_engine)
    made.bulk_insert(scan)
    made.handle.participants.repair()
    found: Table = made
    return found
