"""``hoodoo rebuild-index``, ``drop-index`` and ``compact-metadata``: the metadata table, rebuilt,
without a part, and compacted."""

from __future__ import annotations

from typing import Annotated

import typer
from hoodoo_cli.toolkit import arguments, show


def rebuild_index(
    path: arguments.Path,
    name: Annotated[
        str | None,
        typer.Argument(
            help="A partition of the metadata table, such as record_index; by default all."
        ),
    ] = None,
    buckets: Annotated[
        int | None,
        typer.Option(help="File groups of a record index, or first buckets of a growing one."),
    ] = None,
    hash: Annotated[str | None, typer.Option(help="The hash of a growing record index.")] = None,
    scaling: Annotated[
        str | None, typer.Option(help="How it grows: file_groups or bucket_groups.")
    ] = None,
    cap: Annotated[
        int | None, typer.Option(help="Entries in a file group of a bucket of it.")
    ] = None,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Rebuild the metadata table from the table's files, or one partition of it. Writers can
    continue.

    Example: hoodoo rebuild-index trips record_index
    """
    made = arguments.opened(path, options).rebuild_index(
        name, buckets=buckets, hash=hash, scaling=scaling, cap=cap
    )
    line = f"Rebuilt: {', '.join(made)}."
    arguments.answer({"partitions": made}, as_json, line)


def drop_index(
    path: arguments.Path,
    name: Annotated[
        str, typer.Argument(help="A partition of the metadata table, such as bloom_filters.")
    ],
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Drop a partition of the metadata table, or the index that it holds. Writers can continue.

    Example: hoodoo drop-index trips bloom_filters
    """
    dropped = arguments.opened(path, options).drop_index(name)
    arguments.answer({"partitions": dropped}, as_json, f"Dropped: {', '.join(dropped)}.")


def compact_metadata(
    path: arguments.Path, options: arguments.Options = None, as_json: arguments.Json = False
) -> None:
    """Merge the log files of the metadata table into new base files. Writes do this automatically
    from time to time.

    Example: hoodoo compact-metadata trips
    """
    done = arguments.opened(path, options).compact_metadata()
    line = (
        f"{show.count(len(done), 'compaction')} of the metadata table."
        if done
        else "Nothing to compact."
    )
    arguments.answer({"instants": done}, as_json, line)
