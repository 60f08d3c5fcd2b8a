"""``hoodoo import``: data files into a table, in one commit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import pyarrow as pa
import typer
from hoodoo.errors import ConfigError, NotATableError, SchemaError
from hoodoo_rows.api import ArrivingRows

from hoodoo_cli.toolkit import arguments, new_table, show
from hoodoo_cli.toolkit.data_file import DataFile
from hoodoo_cli.toolkit.data_files import STANDARD, open_data

_OPERATIONS = ("upsert", "insert", "bulk_insert", "append")


def import_files(
    path: arguments.Path,
    files: Annotated[
        list[str], typer.Argument(help="Data files; - is the standard input.", metavar="FILE...")
    ],
    operation: Annotated[
        str | None,
        typer.Option(
            help="upsert, insert, bulk_insert or append; by default upsert, of generated keys "
            "insert."
        ),
    ] = None,
    kind: arguments.Format = None,
    delimiter: Annotated[str, typer.Option(help="The delimiter of CSV files.")] = ",",
    add_columns: Annotated[
        bool, typer.Option("--add-columns", help="Columns that the table lacks are added to it.")
    ] = False,
    record_key: new_table.Key = None,
    generated: Annotated[
        bool, typer.Option("--generated-keys", help="Create the table without a record key.")
    ] = False,
    partition_by: new_table.Partition = None,
    ordering: new_table.Ordering = None,
    table_type: new_table.Type = None,
    table_version: new_table.Version = None,
    index: new_table.Index = None,
    name: new_table.Name = None,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Write data files into a table, in one commit. With --record-key, the table is created if
    there is none.

    The files are Parquet, CSV, JSON lines or Arrow.

    Example: hoodoo import trips new.csv --record-key id
    """
    if operation is not None and operation not in _OPERATIONS:
        raise ConfigError(
            f"operation {operation!r}", "is not known.", f"Use one of {', '.join(_OPERATIONS)}."
        )
    given = arguments.pairs(options)
    wanted = new_table.NewTable(
        record_key, partition_by, ordering, table_type, table_version, index, name
    )
    table = None
    try:
        table = arguments.opened(path, options)
    except NotATableError as error:
        if not (arguments.names(record_key) or generated):
            raise NotATableError(
                error.obj,
                error.rule,
                "Give --record-key COLUMN to create it, or --generated-keys.",
            ) from None
    known = None if table is None else table.schema
    opened = [open_data(file, given, kind, known, delimiter) for file in files]
    schema = _schema(files, opened)
    if table is None:
        for file in files:
            if file != STANDARD and ArrivingRows.overlap(path, file):
                raise ConfigError(
                    f"path {path}",
                    f"is the folder of {file}, and readers of the files there would see the rows "
                    "of the new "
                    "table.",
                    "Choose a folder of its own for the table.",
                )
        table = wanted.create(path, schema, options)
    operation = operation or ("upsert" if table.config.record_key_fields else "insert")
    total = [data.rows for data in opened]
    most = sum(n or 0 for n in total) if None not in total else None
    with show.counter("reading", most) as count:
        reader = pa.RecordBatchReader.from_batches(schema, _batches(opened, schema, count))
        commit = getattr(table, operation)(reader, add_columns=add_columns)
    line = (
        f"{commit.operation} {commit.instant}: {commit.inserted:,} inserted, {commit.updated:,} "
        "updated."
        if commit.instant
        else "There was nothing to write."
    )
    arguments.answer(commit, as_json, line)


def _schema(files: list[str], opened: list[DataFile]) -> pa.Schema:
    """The columns of all files: of the same types in each."""
    from hoodoo_rows.model.normalize import plain_schema

    first = plain_schema(opened[0].schema, check=True)
    for path, data in zip(files[1:], opened[1:], strict=True):
        found = plain_schema(data.schema, check=True)
        if set(found.names) != set(first.names):
            differing = ", ".join(sorted(set(found.names) ^ set(first.names)))
            raise SchemaError(
                f"file {path}",
                f"has other columns than {files[0]} ({differing}).",
                "Import them one after another.",
            )
        for field in found:
            if field.type != first.field(field.name).type:
                raise SchemaError(
                    f"file {path}",
                    f"has the column {field.name} as {field.type}, and {files[0]} as "
                    f"{first.field(field.name).type}.",
                    "Create the table first, with --schema; or import them one after another.",
                )
    return first


def _batches(opened: list[DataFile], schema: pa.Schema, count: Any) -> Iterator[pa.RecordBatch]:
    for data in opened:
        for batch in data.batches():
            count(batch.num_rows)
            table = pa.Table.from_batches([batch]).select(schema.names)
            yield from table.cast(schema).to_batches()
