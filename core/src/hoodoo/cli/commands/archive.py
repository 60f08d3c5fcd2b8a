"""``hoodoo archive``: shorten the active timeline."""

from __future__ import annotations

import typer

from hoodoo.cli import given, show


def add(app: typer.Typer) -> None:
    app.command("archive")(archive)


def archive(path: given.Path, options: given.Options = None, as_json: given.Json = False) -> None:
    """Move old instants from the active timeline into the archived one."""
    done = given.opened(path, options).archive()
    line = "Nothing to archive."
    if done.instants:
        line = f"{show.count(len(done.instants), 'instant')} archived."
    if done.held:
        line += f" Others have to stay: {done.held}."
    given.answer(done, as_json, line)
