"""``hoodoo compact``: make base files of log files."""

from __future__ import annotations

from typing import Annotated

import typer

from hoodoo.cli import given, show


def add(app: typer.Typer) -> None:
    app.command("compact")(compact)


def compact(
    path: given.Path,
    strategy: Annotated[
        str | None, typer.Option(help="Which file groups: log_size or one of a plugin.")
    ] = None,
    options: given.Options = None,
    as_json: given.Json = False,
) -> None:
    """Make base files of the log files of a table that is merged on read."""
    done = given.opened(path, options).compact(strategy)
    line = "Nothing to compact."
    if done.instant:
        line = f"Compaction {done.instant}: {show.count(len(done.files), 'base file')} written."
    given.answer(done, as_json, line)
