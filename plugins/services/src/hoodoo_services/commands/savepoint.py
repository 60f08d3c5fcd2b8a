"""``hoodoo savepoint``: keep an instant, list what is kept, or keep one no longer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from hoodoo_cli.toolkit import arguments, show

if TYPE_CHECKING:
    from hoodoo_services.savepoints import Savepoint


def savepoint(
    path: arguments.Path,
    instant: Annotated[
        str | None, typer.Argument(help="The write to protect; by default the newest.")
    ] = None,
    comment: Annotated[str, typer.Option(help="The reason, which is stored.")] = "",
    user: Annotated[str, typer.Option(help="Your name, which is stored.")] = "",
    listing: Annotated[bool, typer.Option("--list", help="List the savepoints.")] = False,
    delete: Annotated[
        bool, typer.Option("--delete", help="Delete the savepoint of INSTANT, and its tags.")
    ] = False,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Protect a write and its files from clean and archive; also list and delete savepoints.

    Example: hoodoo savepoint trips --comment "before the big delete"
    """
    table = arguments.opened(path, options)
    if listing:
        _print(table.savepoints(), as_json)
        return
    if delete:
        if instant is None:
            raise typer.BadParameter("--delete needs the instant of the savepoint.")
        table.delete_savepoint(instant)
    else:
        instant = table.savepoint(instant, comment, user)
    if as_json:
        show.put_json({"instant": instant, "deleted": delete})
    else:
        show.say(show.console(), f"Savepoint {instant}{' deleted' if delete else ''}.")


def _print(found: tuple[Savepoint, ...], as_json: bool) -> None:
    if as_json:
        keys = ("instant", "user", "comment", "made")
        show.put_json([{**{k: getattr(s, k) for k in keys}, "files": len(s.files)} for s in found])
        return
    out = show.console()
    if not found:
        show.say(out, "There are no savepoints.", "dim")
        return
    names = ["instant", "files", "user", "comment"]
    if not any(one.user for one in found):
        names.remove("user")
    grid = show.grid(*names, right=("files",), fold=("comment",))
    for one in found:
        cells = {"files": len(one.files)}
        grid.add_row(*(show.text(cells.get(n, getattr(one, n))) for n in names))
    show.put(out, grid)
