"""``hoodoo rollback``: undo failed writes, or the newest one."""

from __future__ import annotations

from typing import Annotated

import typer

from hoodoo_cli.toolkit import arguments, show


def rollback(
    path: arguments.Path,
    instant: Annotated[
        str | None,
        typer.Argument(help="A pending instant, or the newest completed write."),
    ] = None,
    yes: arguments.Yes = False,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Undo failed writes; or undo INSTANT, permanently.

    Without an instant, it undoes writes whose writers have died. With an instant, it first asks for
    confirmation.

    Example: hoodoo rollback trips
    """
    table = arguments.opened(path, options)
    if instant is None:
        undone = table.rollback()
        if as_json:
            show.put_json({"undone": list(undone)})
        else:
            line = f"Undone: {', '.join(undone)}." if undone else "Nothing to undo."
            show.say(show.console(), line)
        return
    table.check_rollback(instant)  # before the question
    arguments.ask(f"Undo {instant} of {table.config.name} permanently?", yes)
    done = table.rollback(instant)
    line = (
        f"Rollback {done.rollback} of {done.instant}: {show.count(len(done.files), 'file')} "
        "deleted."
    )
    arguments.answer(done, as_json, line)
