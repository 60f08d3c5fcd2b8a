"""``hoodoo diff``: the difference between two times of a table."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from hoodoo_cli.toolkit import arguments, show
from hoodoo_cli.toolkit.values import cell, plain
from rich.console import Console

from hoodoo_history.between import CHANGED, KINDS, Difference, difference

_STYLES = {"added": "green", "changed": "yellow", "removed": "red"}
_SIGNS = {"added": "+", "changed": "~", "removed": "-"}


def diff(
    path: arguments.Path,
    since: Annotated[
        str, typer.Argument(help="An instant, a time, a tag, the number of a commit, or earliest.")
    ],
    until: Annotated[
        str | None, typer.Argument(help="Another one, later; by default now.", show_default=False)
    ] = None,
    where: arguments.Where = None,
    number: Annotated[
        int, typer.Option("--number", "-n", help="The number of rows to show.", min=0)
    ] = 10,
    snapshots: Annotated[
        bool,
        typer.Option("--snapshots", help="Compare two snapshots instead of reading changes."),
    ] = False,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Show which rows were added, changed and removed between two times.

    Example: hoodoo diff trips 2026-01-01T00:00:00Z
    """
    table = arguments.opened(path, options)
    with show.waiting("comparing"):
        found = difference(table.handle, since, until, where, number, snapshots)
    if as_json:
        show.put_json(
            {**found.counts, "by": found.by, "rows": [plain(dict(row)) for row in found.rows]}
        )
        return
    out = show.console()
    counts = ", ".join(f"{found.counts[kind]:,} {kind}" for kind in KINDS)
    show.say(out, f"{table.config.name}: {counts}.", "bold")
    _print(out, found, (*table.config.record_key_fields, *table.config.partition_fields))
    left = sum(found.counts.values()) - len(found.rows)
    if left and number:
        show.say(out, f"... and {left:,} more (--number shows more)", "dim")


def _print(out: Console, found: Difference, keys: tuple[str, ...]) -> None:
    """A line for each row; of one that changed, what identifies it and the columns that changed."""
    for row in found.rows:
        kind = row["change"]
        before, after = plain(row["before"]), plain(row["after"])
        show.say(out, f"{_SIGNS[kind]} {_values(kind, before, after, keys)}", _STYLES[kind])


def _values(kind: str, before: Any, after: Any, keys: tuple[str, ...]) -> str:
    if kind != CHANGED or before is None:
        row = after if after is not None else before
        return ", ".join(f"{name}={cell(value, 60)}" for name, value in row.items())
    own = [f"{name}={cell(after[name], 60)}" for name in keys if name in after]
    changed = [
        f"{name}: {cell(before.get(name), 60)} -> {cell(value, 60)}"
        for name, value in after.items()
        if before.get(name) != value
    ]
    return ", ".join(own + changed)
