"""``hoodoo rewrite``: existing files are written again with other options, such as another
codec."""

from __future__ import annotations

from typing import Annotated

import typer
from hoodoo_cli.toolkit import arguments, show


def rewrite(
    path: arguments.Path,
    where: Annotated[
        str | None,
        typer.Option(
            metavar="SQL", help="Only files that may have rows for which this condition is true."
        ),
    ] = None,
    partition: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="Only this partition path; may be repeated."),
    ] = None,
    evolved: Annotated[
        bool,
        typer.Option("--evolved", help="Only files whose columns are not those of the table now."),
    ] = False,
    virtual_keys: Annotated[
        bool,
        typer.Option(
            "--virtual-keys", help="Make the record keys virtual; only files that store them."
        ),
    ] = False,
    target_file_size: Annotated[
        int | None,
        typer.Option(metavar="BYTES", help="Cluster the partition paths into larger files first."),
    ] = None,
    again: Annotated[
        bool,
        typer.Option("--again", help="Also the files that an earlier call has rewritten."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing, and show what would be rewritten.")
    ] = False,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Write existing base files again, with the options that are given. These are another
    codec, other row groups, pages or bloom filters. No row changes.

    You can read and write the table during this time. If the command was interrupted, run it again:
    it continues. Log files are compacted.

    Exit code 1: other writers kept some file groups from being rewritten. Run it again later.

    Example: hoodoo rewrite trips -o hoodie.parquet.compression.codec=zstd

    Example: hoodoo rewrite trips --evolved --dry-run
    """
    table = arguments.opened(path)
    with show.progress() as told:
        done = table.rewrite(
            arguments.pairs(options),
            where,
            partition,
            evolved=evolved,
            virtual_keys=virtual_keys,
            target_file_size=target_file_size,
            again=again,
            dry_run=dry_run,
            progress=told,
        )
    said = "rewritten" if done.done else "to rewrite"
    line = f"{show.count(done.groups, 'file group')} {said}, {show.size(done.bytes)} before."
    if not done.groups:
        line = "Nothing to rewrite."
    if done.left:
        line += f" {show.count(len(done.left), 'file group')} left: run it again."
    arguments.answer(done, as_json, line)
    raise typer.Exit(1 if done.left else 0)
