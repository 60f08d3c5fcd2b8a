"""``hoodoo plugins``: what is installed, and which distribution it comes from."""

from __future__ import annotations

import difflib
import json
from itertools import groupby
from operator import attrgetter
from typing import Annotated

import attrs
import typer
from hoodoo.errors import ConfigError
from hoodoo.model.brief import cut
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hoodoo_cli.commands.installed import Row, report
from hoodoo_cli.toolkit import show


def plugins(
    what: Annotated[
        str | None,
        typer.Argument(metavar="FAMILY|NAME", help="Show all of this family, or of this plugin."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the installed plugins, a line each; of a family or a plugin also its other names and
    options.

    Example: hoodoo plugins index
    """
    rows = report()
    if what is not None:
        rows = _matching(rows, what)
    if as_json:
        typer.echo(json.dumps([attrs.asdict(row) for row in rows], indent=2))
    elif what is not None:
        _describe(rows)
    else:
        _print(rows)


def _matching(rows: list[Row], what: str) -> list[Row]:
    wanted = what.casefold()
    found = [row for row in rows if row.family == wanted.replace(" ", "_").replace("-", "_")]
    found = found or [
        row for row in rows if wanted in (name.casefold() for name in (row.name, *row.aliases))
    ]
    if not found:
        families = dict.fromkeys(row.family for row in rows)
        near = difflib.get_close_matches(wanted, [*families, *(row.name for row in rows)], n=3)
        hint = f"Did you mean {' or '.join(near)}? " if near else ""
        raise ConfigError(
            f"plugins {what!r}",
            "no family and no installed plugin has that name.",
            f"{hint}Families: {', '.join(families)}.",
        )
    return found


def _print(rows: list[Row]) -> None:
    """A line for each, under its family; what does not fit on it ends with dots."""
    out = show.console()
    name = max((len(row.name) for row in rows), default=0)
    whose = max((len(row.distribution) for row in rows), default=0)
    room = max(20, out.width - name - whose - 6)
    for family, members in groupby(rows, attrgetter("family")):
        # Text, because square brackets in plain strings would be read as markup.
        out.print(Text(family, style="bold"))
        grid = Table(box=None, pad_edge=False, show_header=False)
        grid.add_column(no_wrap=True, min_width=name + 2)
        grid.add_column(no_wrap=True, min_width=whose)
        grid.add_column(no_wrap=True)
        for row in members:
            grid.add_row(
                Text(f"  {row.name}"), Text(row.distribution, "dim"), Text(cut(row.summary, room))
            )
        out.print(grid)
    show.say(out, "More of one: hoodoo plugins FAMILY, or hoodoo plugins NAME.", "dim")


def _describe(rows: list[Row]) -> None:
    out: Console = show.console()
    for number, row in enumerate(rows):
        if number:
            out.print()
        out.print(Text.assemble((row.name, "bold"), f"  {row.family}"))
        grid = Table(box=None, pad_edge=False, show_header=False)
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for title, text in (
            ("what", row.summary),
            ("from", f"{row.distribution} {row.version}"),
            ("also", "\n".join(alias for alias in row.aliases if alias)),
            ("options", "\n".join(row.options)),
        ):
            if text:
                grid.add_row(Text(f"  {title}", "dim"), Text(text))
        out.print(grid)
