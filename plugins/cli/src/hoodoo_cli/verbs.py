"""Calls of their own for reports: they become methods of :class:`hoodoo.Table`."""

from __future__ import annotations

from hoodoo.errors import HoodooError
from hoodoo.model.findings import Progress, Report, silent
from hoodoo.table.call_action import installed_action
from hoodoo.table.handle import TableHandle
from hoodoo.table.running import report

from hoodoo_cli.reports.figures import TableStats


def stats(table: TableHandle, progress: Progress = silent) -> TableStats:
    """How large the files are, how much of them is old, what writing has cost; see
    docs/command-line.md. ``progress`` gets step, done and total."""
    try:
        cleanable = installed_action(table, "clean").cleanable(table)
    except HoodooError:
        cleanable = None  # a table that is only read, a policy that is not installed
    found: TableStats = report(table, "stats", cleanable=cleanable, progress=progress)
    return found


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
