"""``hoodoo export``: rows of a table into a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated

import pyarrow as pa
import typer
from hoodoo.errors import ConfigError
from hoodoo_rows.api import ArrivingRows

from hoodoo_cli.toolkit import arguments, show
from hoodoo_cli.toolkit.data_files import STANDARD, kind_of
from hoodoo_cli.toolkit.written_files import write_rows


def export(
    path: arguments.Path,
    file: Annotated[
        str,
        typer.Argument(
            help="A file that ends with .parquet, .csv, .jsonl or .arrow; - is the standard output."
        ),
    ],
    columns: arguments.Columns = None,
    where: arguments.Where = None,
    as_of: arguments.AsOf = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Only rows that commits after this time wrote."),
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="And up to this time; by default now.")
    ] = None,
    meta: Annotated[
        bool, typer.Option("--meta", help="Also the _hoodie_* columns of Hudi.")
    ] = False,
    kind: arguments.Format = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the file if it exists.")
    ] = False,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Write the rows of a table to a file, batch by batch, so that a large table needs little
    memory.

    Example: hoodoo export trips oslo.parquet --where "city = 'oslo'"
    """
    kind_of(file, kind)
    if until is not None and since is None:
        raise ConfigError("--until", "needs --since.", "Give both, or --as-of for one time.")
    if since is not None and as_of is not None:
        raise ConfigError("--since", "can't be used with --as-of.", "Use --until instead.")
    if as_json and file == STANDARD:
        raise ConfigError("--json", "would be in the output, too.", "Leave it out.")
    table = arguments.opened(path, options)
    if file != STANDARD and ArrivingRows.overlap(table.path, file):
        raise ConfigError(
            f"file {file}",
            f"would lie in the table {table.path}, whose folder is for files of its own.",
            "Choose a place elsewhere.",
        )
    names = arguments.names(columns) or None
    if since is not None:
        scan = table.incremental(since, until, columns=names, where=where, meta=meta)
    else:
        scan = table.read(columns=names, where=where, as_of=as_of, meta=meta)
    with show.counter("writing") as count:
        batches = _counted(scan.to_batches(), count)
        rows = write_rows(
            file, scan.schema, batches, arguments.pairs(options), kind, overwrite=overwrite
        )
    if file != STANDARD:
        done = {"file": file, "rows": rows, "instant": scan.plan.instant}
        arguments.answer(done, as_json, f"{show.count(rows, 'row')} in {file}.")


def _counted(
    batches: Iterable[pa.RecordBatch], count: Callable[[int], None]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        count(batch.num_rows)
        yield batch
