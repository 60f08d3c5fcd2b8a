"""``hoodoo search``: the rows of a table whose vectors are nearest to a given one."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from hoodoo.errors import ConfigError
from hoodoo_cli.toolkit import arguments, rows


def search(
    path: arguments.Path,
    column: Annotated[str, typer.Argument(help="The column with vectors.", show_default=False)],
    vector: Annotated[str, typer.Option(metavar="JSON", help="The vector, such as [0.1, 0.7].")],
    k: Annotated[int, typer.Option("--k", "-k", help="The number of rows.")] = 10,
    metric: Annotated[str, typer.Option(help="l2, cosine or dot.")] = "l2",
    where: arguments.Where = None,
    columns: arguments.Columns = None,
    approximate: Annotated[
        bool,
        typer.Option("--approximate", help="Ask an index; some of the nearest may be missing."),
    ] = False,
    output: arguments.Output = None,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Print the rows whose vectors are nearest to a given one, the nearest first.

    Example: hoodoo search documents embedding --vector "[0.1, 0.7]" --k 5 --columns id
    """
    rows.form_of(output, as_json)  # errors of arguments come before anything is read
    try:
        numbers = json.loads(vector)
    except ValueError:
        raise ConfigError(
            f"option --vector {vector!r}", "is not JSON.", "Write it as [0.1, 0.7]."
        ) from None
    table = arguments.opened(path, options)
    wanted = arguments.names(columns) or None
    found = table.search(column, numbers, k, metric, where, wanted, approximate)
    rows.put_rows(found.schema, found.to_batches(), output, as_json, arguments.pairs(options))
