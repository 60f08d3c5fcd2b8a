"""``hoodoo clean``: delete files that nobody needs any more."""

from __future__ import annotations

from typing import Annotated

import typer
from hoodoo_cli.toolkit import arguments, show


def clean(
    path: arguments.Path,
    policy: Annotated[
        str | None, typer.Option(help="by_commits, by_versions, by_hours or one of a plugin.")
    ] = None,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Delete the files that neither readers of the recent past nor a savepoint need.

    Example: hoodoo clean trips -o hoodie.clean.commits.retained=5
    """
    done = arguments.opened(path, options).clean(policy)
    line = "Nothing to clean."
    if done.instant:
        line = f"Clean {done.instant}: {show.count(len(done.files), 'file')} deleted."
        if done.kept:
            line += f" {show.count(len(done.kept), 'file')} are needed again, and stay."
    arguments.answer(done, as_json, line)
