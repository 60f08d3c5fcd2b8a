"""``hoodoo schema``: the columns of a table."""

from __future__ import annotations

from typing import Annotated, Any

import pyarrow as pa
import typer
from hoodoo.model.schema import logical

from hoodoo_cli.toolkit import arguments, show


def schema(
    path: arguments.Path,
    as_of: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="The columns at this instant, or ISO 8601 time."),
    ] = None,
    meta: Annotated[
        bool, typer.Option("--meta", help="Also the _hoodie_* columns of Hudi.")
    ] = False,
    avro: Annotated[
        bool, typer.Option("--avro", help="Print the Avro schema that Hudi stores.")
    ] = False,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Show the columns of a table: types, and which are the record key, the partition and the
    ordering.

    Example: hoodoo schema trips
    """
    table = arguments.opened(path, options)
    own = table.schema if as_of is None else table.read(as_of=as_of).schema
    if avro:
        from hoodoo.model.schema.avro import avro_text

        typer.echo(avro_text(own, table.config.name))
        return
    found = table.read(as_of=as_of, meta=True).schema if meta else own
    config = table.config
    roles = {
        "key": config.record_key_fields,
        "partition": config.partition_fields,
        "ordering": config.ordering_fields,
    }
    rows = [_row(field, roles) for field in found]
    if as_json:
        result = {
            "table": config.name,
            "columns": rows,
            "record_key": list(config.record_key_fields),
            "partition_by": list(config.partition_fields),
            "ordering": list(config.ordering_fields),
        }
        show.put_json(result)
        return
    grid = show.grid("column", "type", "role", fold=("type",))
    for row in rows:
        kind = row["type"] + ("" if row["nullable"] else " not null")
        cells = (row["name"], kind, ", ".join(row["roles"]))
        grid.add_row(*(show.text(cell) for cell in cells))
    show.put(show.console(), grid)


def _row(field: pa.Field, roles: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    return {
        "name": field.name,
        "type": logical.text_of(field.type) or str(field.type),
        "nullable": field.nullable,
        "roles": [role for role, names in roles.items() if field.name in names],
    }
