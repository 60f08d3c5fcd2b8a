"""``hoodoo convert``: Parquet, Delta Lake and Iceberg tables become Hudi tables."""

from __future__ import annotations

from typing import Annotated

import typer
from hoodoo.errors import ConfigError
from hoodoo_cli.toolkit import arguments, new_table, show

from hoodoo_frames.convert.call import convert as run


def convert(
    source: Annotated[
        str, typer.Argument(help="A directory of Parquet files, a Delta Lake or an Iceberg table.")
    ],
    to: Annotated[
        str | None,
        typer.Argument(help="The new table; by default the path of the source, and _hudi."),
    ] = None,
    record_key: new_table.Key = None,
    generated: Annotated[
        bool, typer.Option("--generated-keys", help="The new table has no record key.")
    ] = False,
    partition_by: new_table.Partition = None,
    ordering: new_table.Ordering = None,
    as_of: Annotated[
        str | None,
        typer.Option(help="A version of a Delta Lake table, or the id of an Iceberg snapshot."),
    ] = None,
    table_type: new_table.Type = None,
    table_version: new_table.Version = None,
    index: new_table.Index = None,
    name: new_table.Name = None,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Copy a directory of Parquet files, a Delta Lake table or an Iceberg table into a new table.

    The source is only read.

    Example: hoodoo convert parquet_trips trips --record-key id
    """
    keys = arguments.names(record_key)
    if not keys and not generated:
        raise ConfigError(
            f"source {source}",
            "does not show which columns identify a row.",
            "Give --record-key COLUMN, or --generated-keys.",
        )
    with show.waiting("copying"):
        made = run(
            source,
            to,
            record_key=keys,
            partition_by=arguments.names(partition_by) if partition_by else None,
            as_of=int(as_of) if as_of is not None and as_of.isdigit() else as_of,
            options=arguments.pairs(options),
            ordering=arguments.names(ordering),
            table_type=new_table.type_of(table_type),
            table_version=table_version,
            index=index,
            name=name,
        )
    new_table.answer(made, as_json)
