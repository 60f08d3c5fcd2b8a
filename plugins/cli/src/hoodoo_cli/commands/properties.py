"""``hoodoo properties``: what is in the file hoodie.properties of a table."""

from __future__ import annotations

from typing import Annotated

import typer
from hoodoo.errors import ConfigError

from hoodoo_cli.toolkit import arguments, show


def properties(
    path: arguments.Path,
    key: Annotated[
        str | None, typer.Argument(help="Only the value of this key.", show_default=False)
    ] = None,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Print the properties of a table, from .hoodie/hoodie.properties.

    Example: hoodoo properties trips hoodie.table.type
    """
    table = arguments.opened(path, options)
    found = dict(sorted(table.config.properties.items()))
    if key is not None:
        if key not in found:
            raise ConfigError(
                f"property {key!r}",
                f"is not set by the table {table.config.name}.",
                "hoodoo properties without a key lists all.",
            )
        found = {key: found[key]}
    if as_json:
        show.put_json(found)
        return
    out = show.console()
    if key is not None:
        typer.echo(found[key])
        return
    for name, value in found.items():  # whole lines, also where they are long
        line = show.text(name, "bold").append(f"={value}", "not bold")
        out.print(line, highlight=False, soft_wrap=True)
