"""Reads of a table: scans of its rows, and queries of the types that plugins bring."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.calls import refuse_options
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.answers import plain
from hoodoo.kernel.resolve import resolve
from hoodoo.table.handle import TableHandle

from hoodoo_rows.of_table import warn_of_stored_keys
from hoodoo_rows.read.plan import ScanPlan, plan_scan
from hoodoo_rows.read.query import Query, planned
from hoodoo_rows.read.scan import Scan


@frozen
class SnapshotQuery:
    """The query type ``snapshot``: the rows of the table as they are at one instant."""

    @classmethod
    def from_settings(cls, settings: Settings) -> SnapshotQuery:
        """The query type, which is the same for all ``settings``."""
        return cls()

    def plan(
        self,
        source: ReadSource,
        columns: Sequence[str] | None = None,
        where: Any = None,
        as_of: str | date | int | None = None,
        mode: str = "snapshot",
        meta: bool = False,
    ) -> ScanPlan:
        """The slices that :func:`read` with these arguments would read."""
        return plan_scan(source, columns, where, as_of, mode, meta=bool(meta))


def by_keys(plan: ScanPlan) -> ScanPlan:
    """``plan``, which merges log files by record keys."""
    return plan if plan.rule is None else evolve(plan, rule=evolve(plan.rule, by_rows=False))


def read(
    table: TableHandle,
    columns: Sequence[str] | None = None,
    where: Any = None,
    as_of: str | date | int | None = None,
    mode: str = "snapshot",
    meta: bool = False,
) -> Scan:
    """A lazy scan of the newest rows, or of the rows at the time ``as_of`` (inclusive): an
    instant, a datetime, a date (its end), ISO 8601 text with a zone, or the number of a commit: 1
    is the first, -1 the newest, 0 none. A rollback or restore changes numbers; instants stay.

    ``columns`` are by default the table's own columns. ``meta`` adds Hudi's ``_hoodie_*`` columns
    after them; ``columns`` may also name these. ``where`` is a pyarrow compute expression over all
    columns or, with hoodoo-statements, a condition in SQL or a Spark Column. Raises SchemaError for
    unknown columns, and ConfigError for an invalid time.
    """
    scan = table.plan_read(
        lambda source: Scan.of(
            source, columns=columns, where=where, as_of=as_of, mode=mode, meta=bool(meta)
        )
    )
    warn_of_stored_keys(table, scan.plan.slices)
    return scan


def to_arrow(
    table: TableHandle,
    columns: Sequence[str] | None = None,
    where: Any = None,
    as_of: str | date | int | None = None,
) -> pa.Table:
    """All rows in memory, as a pyarrow Table. The arguments are those of ``read``."""
    return read(table, columns, where, as_of).to_arrow()


def __arrow_c_stream__(table: TableHandle, requested_schema: object | None = None) -> object:
    """All rows, by Arrow's PyCapsule interface: ``polars.DataFrame(trips)``,
    ``duckdb.sql("FROM trips")``, ``pyarrow.table(trips)``."""
    return read(table).__arrow_c_stream__(requested_schema)


def count(table: TableHandle, where: Any = None, as_of: str | date | int | None = None) -> int:
    """The number of rows. Without ``where``, only the footers of files are read. The arguments are
    those of ``read``."""
    return read(table, None, where, as_of).count()


def head(
    table: TableHandle,
    n: int = 10,
    columns: Sequence[str] | None = None,
    where: Any = None,
    as_of: str | date | int | None = None,
) -> pa.Table:
    """The first ``n`` rows, in memory, as a pyarrow Table. Reads only as much of the files as
    necessary. Rows have no order of their own. The other arguments are those of ``read``."""
    return read(table, columns, where, as_of).head(n)


def query(table: TableHandle, name: str, /, **arguments: Any) -> Scan | Query:
    """A lazy read of the query type ``name``. hoodoo-history provides ``incremental`` and
    ``changes``. ``arguments`` are those of the query type.

    Raises PluginError if no plugin provides the query type, and CallError for unknown arguments.
    """
    found = resolve("query_type", name, table.settings).instance
    refuse_options(f"table.query({name!r}", plain(found).plan, 1, arguments)
    return table.plan_read(lambda source: planned(source, found.plan(source, **arguments)))
