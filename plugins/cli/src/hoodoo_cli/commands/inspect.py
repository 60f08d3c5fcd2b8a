"""``hoodoo inspect``: what is in one file of a table."""

from __future__ import annotations

from typing import Annotated, Any

import attrs
import typer
from hoodoo.errors import ConfigError
from rich.console import Console

from hoodoo_cli.hookspecs.inspector import HEAD, Inspected
from hoodoo_cli.toolkit import arguments, show
from hoodoo_cli.toolkit.places import located, missing
from hoodoo_cli.toolkit.values import cell

_WIDTHS = (80, 40, 24, 16, 12)
_LONG = 2_000  # characters of a value in a terminal; --json has all


def inspect(
    file: Annotated[str, typer.Argument(help="The path or URI of the file.", show_default=False)],
    rows: Annotated[int, typer.Option("--rows", "-n", help="The number of rows.", min=0)] = 5,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Show what is in a file of a table: log file, HFile, base file, timeline file. Changes
    nothing.

    Example: hoodoo inspect trips/.hoodie/hoodie.properties
    """
    found = inspected(file, arguments.pairs(options), rows)
    if as_json:
        show.put_json({"file": file, **attrs.asdict(found)})
        return
    _print(show.console(), file, found)


def inspected(file: str, options: dict[str, str], rows: int) -> Inspected:
    """The result of the first inspector that accepts the file. ConfigError if none does, or there
    is no such file."""
    from hoodoo.hookspecs import Settings
    from hoodoo.kernel.registry import kernel
    from hoodoo.kernel.resolve import resolve

    storage, name = located(file, options)
    try:
        with storage.open(name) as opened:
            head = opened.read(HEAD)
    except (FileNotFoundError, IsADirectoryError):
        raise missing(file) from None
    for offer in sorted(kernel().offers("inspector"), key=lambda offer: offer.name):
        one = resolve("inspector", offer.name, Settings(options=options)).instance
        if one.accepts(name, head):
            found: Inspected = one.inspect(storage, name, rows)
            return found
    known = "; ".join(o.registration.summary for o in kernel().offers("inspector"))
    raise ConfigError(f"file {file}", "is of a kind that no plugin can decode.", f"Known: {known}.")


def _print(out: Console, file: str, found: Inspected) -> None:
    facts = {name: value for name, value in found.facts.items() if value not in (None, "", {}, [])}
    every = {"file": file, "kind": found.kind, **facts}
    show.put(out, show.pairs({name: cell(value, _LONG) for name, value in every.items()}))
    for title, rows in found.parts.items():
        show.say(out)
        show.say(out, title, "bold")
        _rows(out, [dict(row) for row in rows])


def _text(value: Any, most: int) -> str:
    return "" if value is None else cell(value, most)


def _rows(out: Console, rows: list[dict[str, Any]]) -> None:
    """A line for each, or a block for each where lines are too long."""
    if not rows:
        show.say(out, "none", "dim")
        return
    names = list(dict.fromkeys(name for row in rows for name in row))
    names = [name for name in names if any(row.get(name) not in (None, "") for row in rows)]
    if len(names) == 2:  # names and values
        show.put(out, show.pairs({cell(r[names[0]]): cell(r[names[1]], _LONG) for r in rows}, ""))
        return
    numbers = [n for n in names if all(isinstance(r.get(n), (int, type(None))) for r in rows)]
    for most in _WIDTHS:
        grid = show.grid(*names, right=numbers)
        for row in rows:
            cells = [row.get(name) for name in names]
            widths = [_LONG, *[most] * len(cells)]  # what identifies a row is not cut
            grid.add_row(*(show.text(_text(v, w)) for v, w in zip(cells, widths, strict=False)))
        if show.room(out, grid) >= 0:
            show.put(out, grid)
            return
    for number, row in enumerate(rows):
        if number:
            show.say(out)
        there = {name: cell(row[name], _LONG) for name in names if row.get(name) is not None}
        show.put(out, show.pairs(there))
