"""``hoodoo publish``: the metadata of other formats beside a table."""

from __future__ import annotations

from typing import Annotated

import typer
from hoodoo_cli.toolkit import arguments


def publish(
    path: arguments.Path,
    formats: Annotated[
        str | None,
        typer.Option("--as", help="delta, iceberg, manifest, with commas; else the table's own."),
    ] = None,
    catalog: Annotated[
        str | None,
        typer.Option(
            "--catalog",
            help="Catalogs that show the table as the format, with commas: glue://db.t, "
            "hms://host:9083/db.t, iceberg://name/db.t of pyiceberg's configuration.",
        ),
    ] = None,
    keep: Annotated[
        bool,
        typer.Option("--keep", help='Also after each action from now on; --as "" ends it.'),
    ] = False,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Write the metadata of Delta Lake or Apache Iceberg beside a table. Nothing is copied.

    Example: hoodoo publish trips --as delta,iceberg --keep
    """
    table = arguments.opened(path, options)
    done = table.publish(
        formats, catalog=None if catalog is None else catalog.split(","), keep=keep
    )
    lines = [f"Published {one}." for one in done] or ["All is up to date."]
    arguments.answer({"published": list(done)}, as_json, "\n".join(lines))
