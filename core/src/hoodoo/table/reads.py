"""Reads of a table: scans of what is there, and what plugins read of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from hoodoo.calls import refuse_options
from hoodoo.kernel.answers import plain
from hoodoo.kernel.resolve import resolve
from hoodoo.model.filegroup import FileSlice
from hoodoo.read.query import Query, planned
from hoodoo.read.scan import Scan
from hoodoo.table.handle import TableHandle


def file_slices(table: TableHandle, as_of: str | date | None = None) -> tuple[FileSlice, ...]:
    """The file slices that a snapshot read uses."""
    return read(table, as_of=as_of).plan.slices


def read(
    table: TableHandle,
    columns: Sequence[str] | None = None,
    where: Any = None,
    as_of: str | date | None = None,
    mode: str = "snapshot",
    meta: bool = False,
) -> Scan:
    """A lazy scan of the newest rows, or of the rows at the time ``as_of`` (inclusive).

    ``columns`` are by default the table's own columns. ``meta`` adds Hudi's ``_hoodie_*`` columns after them;
    ``columns`` may also name these. ``where`` is a pyarrow compute expression over all columns or, with
    hoodoo-statements, a condition in SQL or a Spark Column. Raises SchemaError for unknown columns, and ConfigError
    for an invalid time.
    """
    scan = table.plan_read(
        lambda source: Scan.of(
            source, columns=columns, where=where, as_of=as_of, mode=mode, meta=bool(meta)
        )
    )
    table.warn_of_stored_keys(scan.plan.slices)
    return scan


def query(table: TableHandle, name: str, /, **arguments: Any) -> Scan | Query:
    """A lazy read of the query type ``name``. hoodoo-history provides ``incremental`` and ``changes``. ``arguments``
    are those of the query type.

    Raises PluginError if no plugin provides the query type, and CallError for unknown arguments.
    """
    found = resolve("query_type", name, table.settings).instance
    refuse_options(f"table.query({name!r}", plain(found).plan, 1, arguments)
    return table.plan_read(lambda source: planned(source, found.plan(source, **arguments)))
