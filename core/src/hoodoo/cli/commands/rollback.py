"""``hoodoo rollback``: undo failed writes, or the newest one."""

from __future__ import annotations

from typing import Annotated

import typer

from hoodoo.cli import given, show


def add(app: typer.Typer) -> None:
    app.command("rollback")(rollback)


def rollback(
    path: given.Path,
    instant: Annotated[
        str | None,
        typer.Argument(help="A pending instant, or the newest completed write."),
    ] = None,
    yes: given.Yes = False,
    options: given.Options = None,
    as_json: given.Json = False,
) -> None:
    """Undo what writers that died have left; or INSTANT, for good."""
    table = given.opened(path, options)
    if instant is None:
        undone = table.rollback()
        if as_json:
            show.put_json({"undone": list(undone)})
        else:
            line = f"Undone: {', '.join(undone)}." if undone else "Nothing to undo."
            show.say(show.console(), line)
        return
    table.check_rollback(instant)  # before anybody is asked
    given.ask(f"Undo {instant} of {table.config.name}, for good?", yes)
    done = table.rollback(instant)
    line = f"Rollback {done.rollback} of {done.instant}: {show.count(len(done.files), 'file')} deleted."
    given.answer(done, as_json, line)
