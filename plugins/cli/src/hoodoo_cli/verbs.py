"""Calls of their own for reports: they become methods of :class:`hoodoo.Table`."""

from __future__ import annotations

from attrs import evolve
from hoodoo.errors import CallError, HoodooError, PluginError
from hoodoo.model.findings import Finding, Progress, Report, silent
from hoodoo.table.call_action import installed_action
from hoodoo.table.handle import TableHandle
from hoodoo.table.running import report

from hoodoo_cli.reports.figures import TableStats
from hoodoo_cli.reports.verify.kinds import in_order


def stats(table: TableHandle, progress: Progress = silent) -> TableStats:
    """The size of the files, how much of it is old, and the cost of the writes; see docs/command-line.md.
    ``progress`` gets step, done and total."""
    try:
        cleanable = installed_action(table, "clean").cleanable(table)
    except HoodooError:
        cleanable = None  # a table that is only read, a policy that is not installed
    found: TableStats = report(table, "stats", cleanable=cleanable, progress=progress)
    return found


def verify(
    table: TableHandle,
    *,
    quick: bool = False,
    keys: bool = True,
    sample: int | None = None,
    progress: Progress = silent,
) -> Report:
    """Check whether the table is correct: properties, timeline, files, their bytes, record keys. Changes nothing.
    ``quick`` opens no data file, and ``keys=False`` reads no rows. With ``sample``, only the record keys of some file
    slices are read, and this number of keys is looked up in the table's index."""
    try:
        in_table = table.plugins().index.is_global
    except HoodooError:
        in_table = False  # no plugin for this table's index
    whole = keys and sample is None
    found: Report = report(
        table, "verify", quick=quick, keys=whole, in_table=in_table, progress=progress
    )
    return found if sample is None or quick else _with_sample(table, found, sample)


def _with_sample(table: TableHandle, found: Report, sample: int) -> Report:
    try:
        asked = table.run("check_index", sample=sample)
    except (CallError, PluginError):
        raise
    except HoodooError as error:
        unasked = (Finding("index.keys", error.obj, error.rule.rstrip("."), error.fix),)
        return evolve(found, findings=in_order((*found.findings, *unasked)))
    findings: tuple[Finding, ...] = ()
    if not asked.same:
        row = asked.differences.slice(0, 1).to_pylist()[0]
        said = "is not found" if row["found_by"] == 0 else "is said to lie"
        rule = (
            f"of {asked.found[0]} record keys it says of {asked.differences.num_rows} otherwise than the files; "
            f"for example {row['record_key']!r} {said} in {row['file_id']} of {row['partition_path']!r}"
        )
        fix = "hoodoo rebuild-index rebuilds it; hoodoo verify without --sample looks at all keys."
        findings = (Finding("index.keys", "the table's index", rule, fix),)
    checked = evolve(found.checked, keys=found.checked.keys + asked.found[0])
    return evolve(found, findings=in_order((*found.findings, *findings)), checked=checked)
