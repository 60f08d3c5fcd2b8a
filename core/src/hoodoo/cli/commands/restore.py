"""``hoodoo restore``: go back to an instant, for good."""

from __future__ import annotations

from typing import Annotated

import typer

from hoodoo.cli import given, show


def add(app: typer.Typer) -> None:
    app.command("restore")(restore)


def restore(
    path: given.Path,
    instant: Annotated[str, typer.Argument(help="A savepoint or completed write.")],
    yes: given.Yes = False,
    options: given.Options = None,
    as_json: given.Json = False,
) -> None:
    """Undo everything after INSTANT, for good. Stop other writers first."""
    table = given.opened(path, options)
    undone = table.check_restore(instant)  # before anybody is asked
    now = show.count(len(undone), "instant")
    given.ask(f"Undo everything in {table.config.name} after {instant} ({now} now), for good?", yes)
    done = table.restore(instant)
    line = f"Nothing came after {instant}."
    if done.restore:
        line = (
            f"Restore {done.restore}: {show.count(len(done.undone), 'instant')} undone, "
            f"{show.count(len(done.files), 'file')} deleted. The table is at {done.point}."
        )
    given.answer(done, as_json, line)
