"""``hoodoo timeline``: what happened to a table, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from hoodoo_cli.reports import plain
from hoodoo_cli.toolkit import arguments, show

if TYPE_CHECKING:
    from hoodoo_cli.reports.timeline import TimelineRow

_NUMBERS = ("took", "ins", "upd", "del", "files", "size")
# Where the terminal is too narrow, these go first.
_LEFT_OUT: tuple[tuple[str, ...], ...] = ((), ("took",), ("took", "files"))
_DETAIL = 12  # narrower than that, details are left out
_FOLDED = ("operation", "detail")
_ROWS = 20
_COLORS = {"requested": "yellow", "inflight": "yellow"}


def timeline(
    path: arguments.Path,
    limit: Annotated[
        int | None,
        typer.Option(
            help="The number of instants, the newest first; 0 for all. By default 20, and all in "
            "JSON.",
            min=0,
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Also archived instants.")] = False,
    pending: Annotated[bool, typer.Option("--pending", help="Only pending instants.")] = False,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """List what happened to a table, newest first.

    Example: hoodoo timeline trips --limit 50
    """
    table = arguments.opened(path, options)
    most = _ROWS if limit is None and not as_json else limit
    page = table.report("timeline", every=every, limit=most or None, pending=pending)
    if as_json:
        show.put_json(plain.of_timeline(page.rows))
        return
    out = show.console()
    if not page.rows:
        what = "nothing is pending" if pending else "nothing has been written yet"
        show.say(out, f"{table.config.name}: {what}.", "dim")
        return
    show.put(out, fitting(out, page.rows))
    if any(row.unmerged for row in page.rows):
        show.say(
            out, "~ as written to log files; readers merge these rows with the stored ones", "dim"
        )
    if len(page.rows) < page.total:
        older = page.total - len(page.rows)
        show.say(out, f"... and {older:,} older (--limit 0 shows all)", "dim")


def fitting(out: Console, rows: tuple[TimelineRow, ...]) -> Table:
    """As much as the terminal has room for; details may take several lines."""
    for left_out in _LEFT_OUT:
        grid = _table(rows, left_out)
        if show.room(out, grid) >= 0:
            return grid
    bare = _table(rows, (*_LEFT_OUT[-1], "detail"))
    return grid if show.room(out, bare) > _DETAIL else bare


def _table(rows: tuple[TimelineRow, ...], left_out: tuple[str, ...]) -> Table:
    """Columns that hold nothing are left out, too."""
    cells = [_cells(row) for row in rows]
    held = [n for n in cells[0] if n in ("instant", "action") or any(c[n] for c in cells)]
    names = [name for name in held if name not in left_out]
    found = show.grid(*names, right=_NUMBERS, fold=_FOLDED)
    for row, cell in zip(rows, cells, strict=True):
        style = "dim" if row.archived else _COLORS.get(row.state, "")
        found.add_row(*(show.text(cell[name], style) for name in names))
    return found


def _about(row: TimelineRow, number: int) -> str:
    return ("~" if number and row.unmerged else "") + show.amount(number)


def _cells(row: TimelineRow) -> dict[str, str]:
    state = "archived" if row.archived else "" if row.state == "completed" else row.state
    return {
        "instant": row.requested,
        "action": row.action,
        "state": state,
        "took": show.took(row.requested, row.completed),
        "operation": row.operation,
        "ins": show.amount(row.inserted),
        "upd": _about(row, row.updated),
        "del": _about(row, row.deleted),
        "files": show.amount(row.files) if row.operation else "",
        "size": show.size(row.bytes) if row.bytes else "",
        "detail": row.detail,
    }
