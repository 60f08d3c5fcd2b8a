"""``hoodoo rewrite-keys``: existing files stop to store record keys, or keys become stored ones again."""

from __future__ import annotations

from typing import Annotated

import typer
from hoodoo_cli.toolkit import arguments, show


def rewrite_keys(
    path: arguments.Path,
    stored: Annotated[bool, typer.Option("--stored", help="Store the keys again.")] = False,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Rewrite the files that store record keys although these are virtual; where they are not yet, they become so.

    The table can be read and written meanwhile, and a run that was cut short is begun again. Exit code 1: files are
    left that store them, for example those of a pending compaction or clustering.
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
