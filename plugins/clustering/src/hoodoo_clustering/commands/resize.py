"""``hoodoo resize-buckets``: other numbers of buckets for a table with a bucket index."""

from __future__ import annotations

from typing import Annotated

import typer
from hoodoo_cli.toolkit import arguments, show


def resize_buckets(
    path: arguments.Path,
    buckets: Annotated[
        int | None, typer.Option(help="Buckets of each partition path, or of those without a rule.")
    ] = None,
    expressions: Annotated[
        str | None,
        typer.Option(metavar="REGEX,NUMBER;...", help="Rules by partition path; the first counts."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing; show what would be rewritten.")
    ] = False,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Give the partition paths of a table other numbers of buckets; no row changes.

    The table has a bucket index. Readers and writers can continue. If the command was interrupted,
    run it again.

    Example: hoodoo resize-buckets trips --buckets 8 --dry-run
    """
    table = arguments.opened(path, options)
    found = table.resize_buckets(buckets, expressions=expressions, dry_run=dry_run)
    what = (
        f"{show.count(found.files, 'file group')} ({show.size(found.bytes)}) in "
        f"{show.count(len(found.partitions), 'partition path')}"
    )
    if found.before == found.after:
        line = "The table has these numbers of buckets."
    elif dry_run:
        line = f"Would rewrite {what}."
    elif not found.instant:
        line = "Another process did the same meanwhile."
    else:
        line = f"Resize {found.instant}: {what} rewritten."
    arguments.answer(found, as_json, line)
