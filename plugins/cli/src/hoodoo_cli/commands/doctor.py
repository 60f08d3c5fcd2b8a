"""``hoodoo doctor``: does what Hoodoo needs work here?"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.padding import Padding

from hoodoo_cli.reports.examination import Examination, examine
from hoodoo_cli.toolkit import arguments, show


def doctor(
    path: Annotated[
        str | None,
        typer.Argument(
            help="The directory or URI of a table, which is checked, too.", show_default=False
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The engine that you want to use: local, or spark."),
    ] = None,
    probe: Annotated[
        bool, typer.Option(help="Write a small file to the table, and delete it.")
    ] = True,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Find out what is wrong with this environment, or with a table and the access to it, and how
    to fix it.

    Exit code 1: something is wrong.

    Example: hoodoo doctor trips --engine spark
    """
    found = examine(path, arguments.pairs(options), engine, probe)
    if as_json:
        show.put_json(found.to_dict())
    else:
        _print(found)
    raise typer.Exit(0 if found.ok else 1)


def _print(found: Examination) -> None:
    out = show.console()
    for finding in found.findings:
        show.say(out, finding.kind, "bold red")
        out.print(Padding(show.text(finding.obj), (0, 0, 0, 2), expand=False))
        out.print(Padding(show.text(f"{finding.rule}.", "dim"), (0, 0, 0, 4), expand=False))
        out.print(Padding(show.text(f"Fix: {finding.fix}"), (0, 0, 0, 2), expand=False))
        show.say(out)
    for reason in found.skipped:
        show.say(out, f"skipped  {reason}", "yellow")
    for note in found.notes:
        show.say(out, f"note     {note}", "dim")
    if found.ok:
        show.say(out, "Nothing wrong is found.", "green")
    else:
        show.say(out, f"{show.count(len(found.findings), 'finding')}.", "bold red")
