"""Tables that commands create: their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import pyarrow as pa
import typer
from attrs import frozen

from hoodoo_cli.toolkit import arguments, show

if TYPE_CHECKING:
    from hoodoo.table.table import Table

_TYPES = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}

Key = Annotated[
    list[str] | None,
    typer.Option(
        "--record-key",
        "-k",
        metavar="A,B",
        help="The columns that identify a row; may be repeated.",
    ),
]
Partition = Annotated[
    list[str] | None,
    typer.Option("--partition-by", metavar="A,B", help="The columns of the partition path."),
]
Ordering = Annotated[
    list[str] | None,
    typer.Option(
        "--ordering", metavar="A,B", help="The columns that decide which of two rows is newer."
    ),
]
Type = Annotated[
    str | None,
    typer.Option("--type", "--table-type", help="cow (copy on write, the default) or mor."),
]
Version = Annotated[
    int | None, typer.Option("--version", "--table-version", help="9 (the default), 8 or 6.")
]
Index = Annotated[str | None, typer.Option("--index", help="The index, such as record_index.")]
Name = Annotated[str | None, typer.Option("--name", help="The name; by default the folder's.")]


def type_of(given: str | None) -> str | None:
    """Hudi's name of a table type, for which ``cow`` and ``mor`` are short."""
    return _TYPES.get((given or "").lower(), given)


def answer(made: Table, as_json: bool) -> None:
    """Say which table was created, and how many rows it has."""
    rows = made.read().count()
    line = f"Created {made.config.name} at {made.path}: {show.count(rows, 'row')}."
    arguments.answer({"path": made.path, "name": made.config.name, "rows": rows}, as_json, line)


@frozen
class NewTable:
    """The arguments of a table that is created."""

    record_key: list[str] | None = None
    partition_by: list[str] | None = None
    ordering: list[str] | None = None
    table_type: str | None = None
    table_version: int | None = None
    index: str | None = None
    name: str | None = None

    def create(self, path: str, schema: pa.Schema, options: list[str] | None) -> Table:
        """Create the table; raises what ``hoodoo.create`` raises."""
        import hoodoo

        return hoodoo.create(
            path,
            schema,
            name=self.name,
            record_key=arguments.names(self.record_key) or None,
            partition_by=arguments.names(self.partition_by),
            ordering=arguments.names(self.ordering),
            table_type=type_of(self.table_type),
            table_version=self.table_version,
            index=self.index,
            options=arguments.pairs(options),
        )
