"""``hoodoo restore``: go back to an instant, for good."""

from __future__ import annotations

from typing import Annotated

import typer
from hoodoo_cli.toolkit import arguments, show


def restore(
    path: arguments.Path,
    instant: Annotated[str, typer.Argument(help="A savepoint or completed write.")],
    yes: arguments.Yes = False,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Undo everything after INSTANT, permanently. Stop other writers first.

    It first asks for confirmation. The instant is a savepoint or a completed write; it stays.

    Example: hoodoo restore trips 20260101093000000
    """
    table = arguments.opened(path, options)
    undone = table.check_restore(instant)  # before anybody is asked
    now = show.count(len(undone), "instant")
    arguments.ask(
        f"Undo everything in {table.config.name} after {instant} ({now} now), for good?", yes
    )
    done = table.restore(instant)
    line = f"Nothing came after {instant}."
    if done.restore:
        line = (
            f"Restore {done.restore}: {show.count(len(done.undone), 'instant')} undone, "
            f"{show.count(len(done.files), 'file')} deleted. The table is at {done.point}."
        )
    arguments.answer(done, as_json, line)
