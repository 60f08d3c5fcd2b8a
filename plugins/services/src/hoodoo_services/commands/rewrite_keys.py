"""``hoodoo rewrite-keys``: existing files no longer store record keys; or keys are stored again."""

from __future__ import annotations

from typing import Annotated

import typer
from hoodoo_cli.toolkit import arguments, show


def rewrite_keys(
    path: arguments.Path,
    stored: Annotated[
        bool,
        typer.Option(
            "--stored",
            help="Go back to stored keys; needs a table whose rows still store all meta columns.",
        ),
    ] = False,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Rewrite the files that still store record keys, so that the keys take no space (virtual
    keys).

    If the keys are not virtual yet, it first does what hoodoo enable-virtual-keys does, and you can
    return to stored keys (--stored) only on the conditions that its help names. You can read and
    write the table during this time. If the command was interrupted, run it again: it continues.

    Exit code 1: some files still store keys, for example those of a pending compaction. Run it
    again later.

    Example: hoodoo rewrite-keys trips

    Example: hoodoo rewrite-keys trips --stored
    """
    table = arguments.opened(path, options)
    with show.progress() as told:
        done = table.rewrite_keys(virtual=not stored, progress=told)
    if stored:
        line = f"The record keys of {table.config.name} are stored ones."
    else:
        groups, commits = (
            show.count(done.groups, "file group"),
            show.count(len(done.instants), "commit"),
        )
        line = f"{groups} rewritten in {commits}." if done.groups else "Nothing to rewrite."
        if done.left:
            line += f" {show.count(len(done.left), 'file group')} still store keys: run it again."
    arguments.answer(done, as_json, line)
    raise typer.Exit(1 if done.left else 0)
