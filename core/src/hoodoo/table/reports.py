"""Reports on a table: what is said of it without changing anything."""

from __future__ import annotations

from typing import Any

from hoodoo.errors import HoodooError
from hoodoo.kernel.resolve import resolve
from hoodoo.model.findings import Progress, Report, silent
from hoodoo.table.call_action import installed_action
from hoodoo.table.handle import TableHandle


def report(table: TableHandle, name: str, /, **arguments: Any) -> Any:
    """What the report ``name`` says of the table now; changes nothing. hoodoo-cli brings ``timeline``,
    ``files``, ``stats``, ``layout`` and ``verify``; ``arguments`` are those of the report.

    Raises PluginError where no plugin offers it.
    """
    reporter = resolve("report", name, table.settings).instance
    return reporter.report(table.source(), **arguments)


def stats(table: TableHandle, progress: Progress = silent) -> Any:
    """How large the files are, how much of them is old, what writing has cost; see
    docs/command-line.md. ``progress`` gets step, done and total."""
    try:
        cleanable = installed_action(table, "clean").cleanable(table)
    except HoodooError:
        cleanable = None  # a table that is only read, a policy that is not installed
    return report(table, "stats", cleanable=cleanable, progress=progress)


def verify(
    table: TableHandle, *, quick: bool = False, keys: bool = True, progress: Progress = silent
) -> Report:
    """Look whether all is right: properties, timeline, files, their bytes, record keys; changes
    nothing. ``quick`` opens no data file, ``keys=False`` reads no rows."""
    try:
        in_table = table.plugins().index.is_global
    except HoodooError:
        in_table = False  # no plugin for this table's index
    found: Report = report(
        table, "verify", quick=quick, keys=keys, in_table=in_table, progress=progress
    )
    return found
