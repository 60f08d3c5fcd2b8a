"""``hoodoo history``: what happened to one record key."""

from __future__ import annotations

from typing import Annotated, Any

import attrs
import typer
from hoodoo.errors import SchemaError
from hoodoo_cli.toolkit import arguments, show
from hoodoo_cli.toolkit.values import cell, plain
from rich.console import Console

from hoodoo_history.one_key import Event, key_history

_STYLES = {
    "inserted": "green",
    "updated": "yellow",
    "written": "yellow",
    "deleted": "red",
    "rewritten": "dim",
}

_ROWS = 20


def history(
    path: arguments.Path,
    key: Annotated[
        str,
        typer.Argument(help="The record key; of several columns a:1,b:2, as Hudi stores it."),
    ],
    columns: arguments.Columns = None,
    limit: Annotated[
        int | None,
        typer.Option(
            help="The number of events, the newest; 0 for all. By default 20, and all in JSON.",
            min=0,
        ),
    ] = None,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Show what happened to one record key: commits, files, values before and after. Exit code 1:
    nothing is known of the key.

    Example: hoodoo history trips 17
    """
    table = arguments.opened(path, options)
    wanted = set(arguments.names(columns) or table.schema.names)
    unknown = sorted(wanted - set(table.schema.names))
    if unknown:
        raise SchemaError(
            f"column {', '.join(unknown)}",
            "is not in the table.",
            f"It has {', '.join(table.schema.names)}.",
        )
    with show.waiting("reading"):
        found = key_history(table.handle, key)
    most = _ROWS if limit is None and not as_json else limit
    events = found.events[-most:] if most else found.events
    if as_json:
        rows = [_plain(event, wanted) for event in events]
        show.put_json({"key": key, "events": rows, "unread_commits": found.unread})
    else:
        _print(show.console(), key, events, len(found.events), found.unread, wanted)
    raise typer.Exit(0 if found.events else 1)


def _plain(event: Event, wanted: set[str]) -> dict[str, Any]:
    row: dict[str, Any] = plain(attrs.asdict(event))
    for side in ("before", "after"):
        if row[side] is not None:
            row[side] = {name: value for name, value in row[side].items() if name in wanted}
    return row


def _print(
    out: Console, key: str, events: tuple[Event, ...], total: int, unread: int, wanted: set[str]
) -> None:
    if not total:
        show.say(out, f"No commit of the timeline has a row with the key {key}.", "dim")
    if len(events) < total:
        show.say(out, f"{total - len(events):,} older events (--limit 0 shows all)", "dim")
    for event in events:
        said = (event.instant, event.action, event.operation, event.what)
        line = "  ".join(filter(None, said))
        show.say(out, line, _STYLES[event.what])
        if event.file:
            where = f"{event.partition}/{event.file}" if event.partition else event.file
            show.say(out, f"  {where}", "dim")
        for text in _values(_plain(event, wanted)):
            show.say(out, f"  {text}")
    if unread:
        show.say(
            out, f"{show.count(unread, 'commit')} can't be read: a clean has deleted files.", "dim"
        )


def _values(event: dict[str, Any]) -> list[str]:
    """The row; of an update the values that changed."""
    before, after = event["before"], event["after"]
    if before is None or after is None:
        row = after if after is not None else before
        return [", ".join(f"{name}={cell(value, 80)}" for name, value in (row or {}).items())]
    return [
        f"{name}: {cell(before.get(name), 80)} -> {cell(value, 80)}"
        for name, value in after.items()
        if before.get(name) != value
    ]
