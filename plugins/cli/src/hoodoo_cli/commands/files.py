"""``hoodoo files``: the files of a table, by partition and file group."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from hoodoo_cli.reports import plain
from hoodoo_cli.toolkit import arguments, show

if TYPE_CHECKING:
    from hoodoo_cli.reports.files import SliceRow

_NUMBERS = ("base file", "logs", "log size")
_ROWS = 100


def files(
    path: arguments.Path,
    partition: Annotated[
        str | None,
        typer.Option(help="Only this partition path, and the paths below it."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also older slices and replaced file groups.")
    ] = False,
    as_of: Annotated[
        str | None,
        typer.Option(help="The slices at this instant, or at an ISO 8601 time with a zone."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            help="The number of slices; 0 for all. By default 100, and all in JSON.", min=0
        ),
    ] = None,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """List the file slices of a table.

    Example: hoodoo files trips --partition oslo
    """
    table = arguments.opened(path, options)
    rows = table.report("files", partition=partition, as_of=as_of, every=every)
    if as_json:
        show.put_json(plain.of_files(rows[: limit or None]))
        return
    limit = _ROWS if limit is None else limit
    out = show.console()
    if not rows:
        where = f" in partition {partition}" if partition else ""
        show.say(out, f"{table.config.name}: there are no files{where}.", "dim")
        return
    _print(out, rows[: limit or None])
    _sum(out, rows, limit)


def _print(out: Console, rows: tuple[SliceRow, ...]) -> None:
    names = ["file group", "instant", "base file"]
    logs = any(row.log_files for row in rows)
    old = any(not row.newest for row in rows)
    names += ["logs", "log size"] if logs else []
    names += [""] if old else []
    found = show.grid(*names, right=_NUMBERS, fold=("file group",))
    for partition, group in groupby(rows, key=lambda row: row.partition):
        if partition:
            found.add_row(show.text(f"{partition}/", "bold cyan"))
        before = ""
        for row in group:
            style = "" if row.newest else "dim"
            cells = [
                row.file_id if row.file_id != before else "",
                row.instant,
                show.size(row.base_bytes) if row.base_file else "-",
            ]
            before = row.file_id
            if logs:
                cells += [show.amount(len(row.log_files))]
                cells += [show.size(row.log_bytes) if row.log_files else ""]
            if old:
                cells += [_mark(row)]
            found.add_row(*(show.text(cell, style) for cell in cells))
    show.put(out, found)


def _mark(row: SliceRow) -> str:
    if row.replaced_by:
        return "replaced"
    return "" if row.newest else "older"


def _sum(out: Console, rows: tuple[SliceRow, ...], limit: int) -> None:
    if limit and len(rows) > limit:
        show.say(out, f"... and {len(rows) - limit:,} more (--limit 0 shows all)", "dim")
    groups = len({(row.partition, row.file_id) for row in rows})
    paths = len({row.partition for row in rows})
    parts = [show.count(len(rows), "file slice"), show.count(groups, "file group")]
    if paths > 1 or rows[0].partition:
        parts.append(show.count(paths, "partition"))
    total = show.size(sum(row.bytes for row in rows))
    show.say(out, f"{', '.join(parts)}; {total}", "dim")
