"""``hoodoo doctor``: does what Hoodoo needs work here?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.padding import Padding

from hoodoo_cli.reports.examination import Examination, examine
from hoodoo_cli.toolkit import arguments, many, show

if TYPE_CHECKING:
    from hoodoo_cli.tables_below import TableBelow


def doctor(
    path: Annotated[
        str | None,
        typer.Argument(
            help="The directory or URI of a table, which is checked, too; or a folder, a prefix, a "
            "catalog, or a file of paths: then each table there.",
            show_default=False,
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The engine that you want to use: local, or spark."),
    ] = None,
    probe: Annotated[
        bool, typer.Option(help="Write a small file to the table, and delete it.")
    ] = True,
    at_once: many.AtOnce = 4,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Find out what is wrong with this environment, or with tables and the access to them, and how
    to fix it.

    Exit code 1: something is wrong.

    Example: hoodoo doctor trips --engine spark
    """
    given = arguments.pairs(options)
    tables = None if path is None else many.several(path, given)
    if tables is not None:
        raise typer.Exit(_many(tables, given, engine, probe, at_once, as_json))
    found = examine(path, given, engine, probe)
    if as_json:
        show.put_json(found.to_dict())
    else:
        _print(found)
    raise typer.Exit(0 if found.ok else 1)


def _many(
    tables: Sequence[TableBelow],
    options: Mapping[str, str],
    engine: str | None,
    probe: bool,
    at_once: int,
    as_json: bool,
) -> int:
    """The environment is examined once."""
    here = examine(None, options, engine)

    def work(table: TableBelow) -> Examination:
        return examine(table.path, options, engine, probe, environment=False).without(here)

    asked = many.all_of(tables, work, at_once)
    if as_json:
        answers = [one.to_dict(Examination.to_dict) for one in asked]
        show.put_json({"environment": here.to_dict(), "tables": answers})
    else:
        show.say(show.console(), "The environment:", "dim")
        _print(here)
        many.put_verdicts(asked, lambda found: found.findings)
    return 0 if here.ok and many.is_well(asked, lambda found: found.ok) else 1


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
