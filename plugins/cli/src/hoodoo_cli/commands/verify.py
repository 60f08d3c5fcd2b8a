"""``hoodoo verify``: is a table correct, or each of many?"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Annotated, Any

import typer
from hoodoo.model.findings import Finding, Progress, Report, silent
from rich.console import Console
from rich.padding import Padding

from hoodoo_cli.reports.verify.kinds import KINDS
from hoodoo_cli.toolkit import arguments, many, show

_SHOWN = 20  # findings of one kind
_AT_ONCE = 2  # of many tables: what reads all rows keeps a processor busy


def verify(
    path: many.PathOrPlace,
    quick: Annotated[
        bool, typer.Option("--quick", help="Check timeline and listings only; open no data file.")
    ] = False,
    keys: Annotated[
        bool, typer.Option(help="Read record keys and meta columns: all rows of the table.")
    ] = True,
    sample: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Look up N record keys of some file slices in the index of the table, instead of "
            "reading all.",
        ),
    ] = None,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Check whether a table is correct, or each of many. Changes nothing. Exit code 1: one is not,
    or can't be read.

    Example: hoodoo verify trips --quick

    Example: hoodoo verify s3://bucket/lake --quick --json
    """
    given = arguments.pairs(options)

    def check(where: str, progress: Progress = silent) -> Report:
        return _report(where, given, quick=quick, keys=keys, sample=sample, progress=progress)

    tables = many.several(path, given)
    if tables is not None:
        asked = many.all_of(tables, lambda table: check(table.path), _AT_ONCE)
        if as_json:
            show.put_json([one.to_dict(Report.to_dict) for one in asked])
        else:
            many.put_verdicts(asked, lambda report: report.findings)
        raise typer.Exit(0 if many.is_well(asked, lambda report: report.ok) else 1)
    with show.progress() as report_progress:
        report = check(path, report_progress)
    if as_json:
        show.put_json(report.to_dict())
    else:
        _print(show.console(), report, quick)
    raise typer.Exit(0 if report.ok else 1)


def _report(path: str, options: Mapping[str, str], **how: Any) -> Report:
    import hoodoo
    from hoodoo.table.settings import open_storage, typed_options

    from hoodoo_cli.reports.verify.properties import check_properties
    from hoodoo_cli.reports.verify.run import unopened

    storage = open_storage(path, typed_options(options))
    config, findings = check_properties(storage)
    if config is None:
        return unopened(storage.root, findings)
    return hoodoo.open(path, dict(options)).verify(**how)


def _print(out: Console, report: Report, quick: bool) -> None:
    for kind, found in groupby(report.findings, key=lambda finding: finding.kind):
        _print_kind(out, kind, list(found))
    for one in report.pending:
        line = f"pending  {one.requested} {one.action} {one.state}, for {show.age(one.age)}"
        show.say(out, line, "yellow")
    for note in report.notes:
        show.say(out, f"note     {note}", "dim")
    for reason in report.skipped:
        show.say(out, f"skipped  {reason}", "yellow")
    if report.ok:
        show.say(out, f"{report.table}: nothing wrong is found.", "green")
    else:
        number = show.count(len(report.findings), "finding")
        show.say(out, f"{report.table}: {number}.", "bold red")
    show.say(out, f"looked at {_checked(report, quick)}", "dim")


def _print_kind(out: Console, kind: str, found: list[Finding]) -> None:
    show.say(out, f"{kind}: {KINDS[kind]}", "bold red")
    for finding in found[:_SHOWN]:
        out.print(Padding(show.text(finding.obj), (0, 0, 0, 2), expand=False))
        out.print(Padding(show.text(f"{finding.rule}.", "dim"), (0, 0, 0, 4), expand=False))
    if len(found) > _SHOWN:
        show.say(out, f"  ... and {len(found) - _SHOWN:,} more (--json has all)", "dim")
    for fix in dict.fromkeys(finding.fix for finding in found if finding.fix):
        out.print(Padding(show.text(f"Fix: {fix}"), (0, 0, 0, 2), expand=False))
    show.say(out)


def _checked(report: Report, quick: bool) -> str:
    checked = report.checked
    parts = [show.count(checked.instants, "instant"), show.count(checked.files, "file")]
    if not quick:
        parts.append(show.count(checked.base_files, "footer"))
        parts.append(show.count(checked.log_files, "log file"))
        parts.append(show.count(checked.keys, "record key"))
    return ", ".join(parts)
