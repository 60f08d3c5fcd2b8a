"""``hoodoo retention``: drop the partitions that are too old."""

from __future__ import annotations

from typing import Annotated

import typer
from hoodoo_cli.toolkit import arguments, show


def retention(
    path: arguments.Path,
    days: Annotated[
        int | None, typer.Option(help="Older ones are dropped; else the options say it.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list them.")] = False,
    yes: arguments.Yes = False,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Drop the partitions that are older than some days. Their files stay until the table is
    cleaned."""
    table = arguments.opened(path, options)
    found = table.run("retention", days=days, dry_run=True)
    if found.partitions and not dry_run:
        arguments.ask(f"Drop {show.count(len(found.partitions), 'partition')} of {path}?", yes)
        found = table.run("retention", days=days)
    lines = [*found.partitions, "Nothing is too old."][: len(found.partitions) or 1]
    if found.instant:
        lines.append(
            f"Commit {found.instant}: {show.count(len(found.partitions), 'partition')} dropped."
        )
    if found.left:
        lines.append(f"{show.count(len(found.left), 'partition')} more: run it again.")
    arguments.answer(found, as_json, "\n".join(lines))
