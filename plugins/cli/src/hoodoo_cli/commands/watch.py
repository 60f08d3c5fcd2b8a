"""``hoodoo watch``: the timeline of a table, live."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated, Any

import attrs
import typer
from rich.live import Live

from hoodoo_cli.commands.timeline import fitting
from hoodoo_cli.toolkit import arguments, show

if TYPE_CHECKING:
    from hoodoo.table.table import Table

    from hoodoo_cli.reports.timeline import TimelineRow


def watch(
    path: arguments.Path,
    every: Annotated[float, typer.Option(help="Seconds between two looks.", min=0.05)] = 2.0,
    seconds: Annotated[
        float | None,
        typer.Option("--for", metavar="SECONDS", help="End after this time.", min=0),
    ] = None,
    limit: Annotated[int, typer.Option(help="The number of instants at first.", min=1)] = 10,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Show the timeline of a table while it changes. Ctrl-C ends it, or --for SECONDS.

    To a pipe it prints a line for each change.

    Example: hoodoo watch trips --for 60
    """
    table = arguments.opened(path, options)
    ends = None if seconds is None else time.monotonic() + seconds
    out = show.console()
    try:
        if out.is_terminal and not as_json:
            _live(table, limit, every, ends)
        else:
            _lines(table, limit, every, ends, as_json)
    except KeyboardInterrupt:
        pass


def _live(table: Table, limit: int, every: float, ends: float | None) -> None:
    out = show.console()
    with Live(console=out, auto_refresh=False) as screen:
        for rows in _changes(table, limit, every, ends):
            if rows:
                screen.update(fitting(out, rows), refresh=True)
            else:
                screen.update(show.text("nothing has been written yet", "dim"), refresh=True)


def _lines(table: Table, limit: int, every: float, ends: float | None, as_json: bool) -> None:
    """Each state of an instant once, the oldest first."""
    seen: set[tuple[str, str, str]] = set()
    for rows in _changes(table, limit, every, ends):
        for row in reversed(rows):
            state = (row.requested, row.action, row.state)
            if state not in seen:
                seen.add(state)
                typer.echo(json.dumps(attrs.asdict(row)) if as_json else _line(row))


def _changes(table: Table, limit: int, every: float, ends: float | None) -> Any:
    """The newest rows of the timeline, at first and whenever it has changed."""
    shown: Any = None
    while True:
        now = table.timeline().instants
        if now != shown:
            new = len(set(now) - set(shown)) if shown is not None else 0
            yield table.report("timeline", limit=max(limit, new)).rows
            shown = now
        left = every if ends is None else min(every, ends - time.monotonic())
        if left <= 0:
            return
        time.sleep(left)


def _line(row: TimelineRow) -> str:
    counts = (("inserted", row.inserted), ("updated", row.updated), ("deleted", row.deleted))
    parts = [f"{number:,} {what}" for what, number in counts if number]
    if row.unmerged:
        parts.append(f"{row.unmerged:,} not merged yet")
    text = f"{row.requested}  {row.action}  {row.state}"
    for more in (row.operation, ", ".join(parts), row.detail):
        text += f"  {more}" if more else ""
    return text
