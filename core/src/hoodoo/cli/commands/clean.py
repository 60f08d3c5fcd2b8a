"""``hoodoo clean``: delete files that nobody needs any more."""

from __future__ import annotations

from typing import Annotated

import typer

from hoodoo.cli import given, show


def add(app: typer.Typer) -> None:
    app.command("clean")(clean)


def clean(
    path: given.Path,
    policy: Annotated[
        str | None, typer.Option(help="by_commits, by_versions, by_hours or one of a plugin.")
    ] = None,
    options: given.Options = None,
    as_json: given.Json = False,
) -> None:
    """Delete the files that neither readers of the recent past nor a savepoint need."""
    done = given.opened(path, options).clean(policy)
    line = "Nothing to clean."
    if done.instant:
        line = f"Clean {done.instant}: {show.count(len(done.files), 'file')} deleted."
        if done.kept:
            line += f" {show.count(len(done.kept), 'file')} are needed meanwhile, and stay."
    given.answer(done, as_json, line)
