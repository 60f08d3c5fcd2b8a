"""``hoodoo erase``: rows go from all files of a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer
from hoodoo import Table
from hoodoo_cli.toolkit import arguments, show


def _keys(table: Table, texts: list[str]) -> pa.Array:
    """``texts`` as values of the key column."""
    fields = table.config.record_key_fields
    found = pa.array(texts)
    return found.cast(table.schema.field(fields[0]).type) if len(fields) == 1 else found


def erase(
    path: arguments.Path,
    where: arguments.Where = None,
    key: Annotated[
        list[str] | None, typer.Option(help="A record key of one column; may be repeated.")
    ] = None,
    look_for: Annotated[
        list[str] | None,
        typer.Option(help="Another text that the proof looks for; may be repeated."),
    ] = None,
    prove: Annotated[
        bool, typer.Option("--prove", help="Look through all files for the keys afterwards.")
    ] = False,
    report: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the report of the proof there.")
    ] = None,
    sign_with: Annotated[
        str | None, typer.Option(metavar="FILE", help="The file's bytes sign the report.")
    ] = None,
    drop_savepoints: Annotated[
        bool, typer.Option("--drop-savepoints", help="Delete all savepoints first.")
    ] = False,
    yes: arguments.Yes = False,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Delete rows, and all older files that may hold them. Earlier states cannot be read
    afterwards.

    If the command was interrupted, run it again. With --prove it ends with exit code 1 if a file
    still has one of the keys.

    Example: hoodoo erase trips --where "rider = 'r-42'" --prove
    """
    table = arguments.opened(path, options)
    arguments.ask("Delete these rows, and all earlier states of the table?", yes)
    key_bytes = None if sign_with is None else Path(sign_with).read_bytes()
    done = table.erase(
        where,
        keys=_keys(table, key) if key else None,
        look_for=look_for or (),
        prove=key_bytes or prove or report is not None,
        drop_savepoints=drop_savepoints,
    )
    if report is not None:
        Path(report).write_text(json.dumps(done.report, indent=2) + "\n", "utf-8")
    lines = [f"{show.count(done.deleted, 'row')} deleted, {show.count(done.keys, 'key')} erased."]
    if done.savepoints:
        lines.append(f"Savepoints deleted: {', '.join(done.savepoints)}.")
    if done.report is not None:
        files = done.report["files"]
        lines.append(f"Looked through {show.count(len(files), 'file')}.")
        for one in done.report["found"]:
            lines.append(f"FOUND in {one['path']} ({one['where']}): {one['reason']}")
        for one in done.report["unread"]:
            lines.append(f"NOT READ: {one['path']} ({one['reason']})")
        if done.proven:
            lines.append("No file has any of the keys.")
    arguments.answer(done, as_json, "\n".join(lines))
    if done.proven is False:
        raise typer.Exit(1)
