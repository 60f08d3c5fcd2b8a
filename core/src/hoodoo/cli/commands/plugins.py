"""``hoodoo plugins``: what is installed, and which distribution it comes from."""

from __future__ import annotations

import json
from typing import Annotated

import attrs
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hoodoo.kernel.report import Row, report

COLUMNS = ("family", "name", "aliases", "distribution", "version", "summary")


def add(app: typer.Typer) -> None:
    app.command("plugins")(plugins)


def plugins(
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list instead.")] = False,
) -> None:
    """List the installed plugins (with --json: all their aliases, Java class names too)."""
    rows = report()
    if as_json:
        typer.echo(json.dumps([attrs.asdict(row) for row in rows], indent=2))
    else:
        _print(rows)


def _print(rows: list[Row]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in COLUMNS:
        # Names are what is looked for and copied: only aliases and summaries are folded.
        table.add_column(column, overflow="fold", no_wrap=column not in ("aliases", "summary"))
    for row in rows:
        # Short aliases only; Java class names and ids stand in the JSON list.
        aliases = ", ".join(alias for alias in row.aliases if 0 < len(alias) <= 24)
        # Text, because square brackets in plain strings would be read as markup.
        table.add_row(
            *map(Text, (row.family, row.name, aliases, row.distribution, row.version, row.summary))
        )
    Console().print(table)
