"""``hoodoo head``: some rows of a table."""

from __future__ import annotations

from typing import Annotated

import typer

from hoodoo_cli.toolkit import arguments, rows


def head(
    path: arguments.Path,
    number: Annotated[int, typer.Option("--number", "-n", help="The number of rows.", min=0)] = 10,
    columns: arguments.Columns = None,
    where: arguments.Where = None,
    as_of: arguments.AsOf = None,
    meta: Annotated[
        bool, typer.Option("--meta", help="Also the _hoodie_* columns of Hudi.")
    ] = False,
    output: arguments.Output = None,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Print some rows of a table. Reads only as much of its files as it needs.

    Example: hoodoo head trips -n 5 --columns id,city --where "fare > 10"
    """
    rows.form_of(output, as_json)  # errors of arguments come before anything is read
    table = arguments.opened(path, options)
    scan = table.read(columns=arguments.names(columns) or None, where=where, as_of=as_of, meta=meta)
    found = scan.head(number)
    rows.put_rows(found.schema, found.to_batches(), output, as_json, arguments.pairs(options))
