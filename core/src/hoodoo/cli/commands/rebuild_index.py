"""``hoodoo rebuild-index`` and ``hoodoo compact-metadata``: the metadata table, made anew and compacted."""

from __future__ import annotations

from typing import Annotated

import typer

from hoodoo.cli import given, show


def add(app: typer.Typer) -> None:
    app.command("rebuild-index")(rebuild_index)
    app.command("compact-metadata")(compact_metadata)


def rebuild_index(
    path: given.Path,
    name: Annotated[
        str | None,
        typer.Argument(
            help="A partition of the metadata table, such as record_index; by default all."
        ),
    ] = None,
    options: given.Options = None,
    as_json: given.Json = False,
) -> None:
    """Make the metadata table anew from the table's files, or one partition of it. Writers may go on."""
    made = given.opened(path, options).rebuild_index(name)
    line = f"Made anew: {', '.join(made)}."
    given.answer({"partitions": made}, as_json, line)


def compact_metadata(
    path: given.Path, options: given.Options = None, as_json: given.Json = False
) -> None:
    """Make base files of the log files of the metadata table. Writes do it by themselves, now and then."""
    done = given.opened(path, options).compact_metadata()
    line = (
        f"{show.count(len(done), 'compaction')} of the metadata table."
        if done
        else "Nothing to compact."
    )
    given.answer({"instants": done}, as_json, line)
