"""``hoodoo sql``: statements over tables."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, Any

import pyarrow as pa
import sqlglot
import typer
from hoodoo.errors import ConfigError
from hoodoo_cli.toolkit import arguments, rows
from hoodoo_cli.toolkit.data_files import open_data
from hoodoo_rows.api import Commit
from sqlglot import exp
from sqlglot.tokens import TokenType

from hoodoo_statements.sql import sql as run
from hoodoo_statements.sql import tree_of
from hoodoo_statements.text.dialect import DIALECT

_FILES = (".parquet", ".csv", ".jsonl", ".ndjson", ".arrow")


def sql(
    statement: Annotated[
        str,
        typer.Argument(help="SQL; several statements with ; between; - reads the standard input."),
    ],
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=]TABLE...",
            help="Tables, or data files to read from. The name is by default that of the folder or "
            "file.",
        ),
    ] = None,
    output: arguments.Output = None,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Run SQL over tables: SELECT, INSERT INTO, UPDATE, DELETE FROM, MERGE INTO, ALTER TABLE.

    With --json, several statements give one list: of each its rows, or its commit.

    Example: hoodoo sql "SELECT max(fare) FROM trips" trips
    """
    form = rows.form_of(output, as_json)
    text = sys.stdin.read() if statement == "-" else statement
    statements = list(_statements(text))
    if not statements:
        raise ConfigError("statement", "is empty.", "Write SQL, such as SELECT * FROM trips.")
    trees = [tree_of(one) for one in statements]  # none runs where another can't be read
    queries = sum(isinstance(tree, exp.Query) for tree in trees)
    if form not in rows.FORMS and queries > 1:
        raise ConfigError(
            f"--output {form}",
            f"is one file, and there are {queries} queries.",
            "Give one query for each file.",
        )
    known = _tables(tables or [], options)
    listed = form == "json" and len(statements) > 1  # one document all the same
    for n, one in enumerate(statements):
        if listed:
            typer.echo("," if n else "[")
        found = _answer(one, known)
        if isinstance(found, pa.Table):
            rows.put_rows(
                found.schema, found.to_batches(), output, as_json, arguments.pairs(options)
            )
        elif isinstance(found, Commit):
            arguments.answer(found, form == "json", _line(found))
    if listed:
        typer.echo("]")


def _answer(statement: str, known: dict[str, Any]) -> Any:
    try:
        return run(statement, tables=known)
    except ConfigError as error:
        if not error.rule.startswith("is not among tables="):
            raise
        name = error.obj.removeprefix("table ")
        raise ConfigError(
            error.obj,
            f"is not among the tables of the command ({', '.join(known) or 'none'}).",
            f'Name it behind the statement: hoodoo sql "..." {name}=PATH.',
        ) from None


def _tables(given: list[str], options: list[str] | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in given:
        name, equals, path = one.partition("=")
        if not equals or not name.isidentifier():
            path = one
            name = one.rstrip("/").rpartition("/")[2]
            name = name.partition(".")[0] if one.endswith(_FILES) else name
        if name in found:
            raise ConfigError(f"table {name}", "is given twice.", "Name each: NAME=PATH.")
        if path.endswith(_FILES):
            data = open_data(path, arguments.pairs(options))
            found[name] = pa.Table.from_batches(list(data.batches()), data.schema)
        else:
            found[name] = arguments.opened(path, options)
    return found


def _statements(text: str) -> Iterator[str]:
    """The statements of a text, which semicolons separate, as they are written."""
    try:
        tokens = sqlglot.tokenize(text, read=DIALECT)
    except sqlglot.errors.SqlglotError:
        yield text  # which names the fault
        return
    start, any_token = 0, False
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            if any_token:
                yield text[start : token.start]
            start, any_token = token.end + 1, False
        else:
            any_token = True
    if any_token:
        yield text[start:]


def _line(done: Commit) -> str:
    if not done.instant:
        return "There was nothing to change."
    counts = (("inserted", done.inserted), ("updated", done.updated), ("deleted", done.deleted))
    parts = ", ".join(f"{number:,} {what}" for what, number in counts if number)
    return f"{done.operation} {done.instant}: {parts or 'no rows'}."
