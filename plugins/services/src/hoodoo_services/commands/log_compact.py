"""``hoodoo log-compact``: make one log file of many."""

from __future__ import annotations

from typing import Annotated

import typer
from hoodoo_cli.toolkit import arguments, show


def log_compact(
    path: arguments.Path,
    strategy: Annotated[
        str | None, typer.Option(help="Which file slices: log_size or one of a plugin.")
    ] = None,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Merge the log files of each file slice with many of them into one. No base file is written.

    Example: hoodoo log-compact trips
    """
    done = arguments.opened(path, options).run("logcompaction", strategy=strategy)
    line = "Nothing to merge."
    if done.instant:
        line = f"Log compaction {done.instant}: {show.count(len(done.files), 'log file')} written."
    arguments.answer(done, as_json, line)
