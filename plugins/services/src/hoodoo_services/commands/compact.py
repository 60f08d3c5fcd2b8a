"""``hoodoo compact``: make base files of log files."""

from __future__ import annotations

from typing import Annotated

import typer
from hoodoo_cli.toolkit import arguments, show


def compact(
    path: arguments.Path,
    strategy: Annotated[
        str | None, typer.Option(help="Which file groups: log_size or one of a plugin.")
    ] = None,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Merge the log files of a merge-on-read table into new base files.

    Example: hoodoo compact trips
    """
    done = arguments.opened(path, options).compact(strategy)
    line = "Nothing to compact."
    if done.instant:
        line = f"Compaction {done.instant}: {show.count(len(done.files), 'base file')} written."
    arguments.answer(done, as_json, line)
