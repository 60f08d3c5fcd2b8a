"""``hoodoo create``: a new table without rows."""

from __future__ import annotations

import os
from typing import Annotated

import pyarrow as pa
import typer
from hoodoo.errors import ConfigError
from hoodoo.table.settings import arrow_schema as schema_of

from hoodoo_cli.toolkit import arguments, new_table
from hoodoo_cli.toolkit.data_files import open_data


def create(
    path: arguments.Path,
    columns: Annotated[
        str | None,
        typer.Option(
            "--schema",
            metavar="COLUMNS",
            help="Names and types, 'id bigint, city string', or the path of an Avro schema "
            "(.avsc).",
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="A data file with these columns."),
    ] = None,
    record_key: new_table.Key = None,
    partition_by: new_table.Partition = None,
    ordering: new_table.Ordering = None,
    table_type: new_table.Type = None,
    table_version: new_table.Version = None,
    index: new_table.Index = None,
    name: new_table.Name = None,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Create a table without rows. Without a record key, keys are generated.

    Example: hoodoo create trips --schema "id bigint, city string" -k id
    """
    if (columns is None) == (source is None):
        raise ConfigError(
            f"table {path}", "needs its columns.", "Give either --schema COLUMNS or --from FILE."
        )
    wanted = new_table.NewTable(
        record_key, partition_by, ordering, table_type, table_version, index, name
    )
    if source is not None:
        schema = open_data(source, arguments.pairs(options)).schema
    else:
        schema = _schema(str(columns))
    table = wanted.create(path, schema, options)
    config = table.config
    made = {
        "path": table.path,
        "name": config.name,
        "type": config.table_type,
        "version": config.version,
    }
    kind = config.table_type.lower().replace("_", " ")
    arguments.answer(made, as_json, f"Created {config.name}: {kind}, version {config.version}.")


def _schema(text: str) -> pa.Schema:
    if not text.endswith(".avsc"):
        return schema_of(text)
    from hoodoo.model.schema.avro import arrow_schema

    if not os.path.isfile(text):
        raise ConfigError(f"file {text}", "does not exist.", "Give the path of an Avro schema.")
    try:
        with open(text, encoding="utf-8") as file:
            schema = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"file {text}", f"can't be read: {error}.", "Give the path of an Avro schema."
        ) from error
    return arrow_schema(schema, f"file {text}")
