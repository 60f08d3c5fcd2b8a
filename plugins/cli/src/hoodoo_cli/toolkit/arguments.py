"""What the commands are given: arguments that several of them have, and the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import attrs
import typer
from hoodoo.errors import ConfigError

from hoodoo_cli.toolkit import show

if TYPE_CHECKING:  # help and lists of plugins need no table
    from hoodoo.table.table import Table

Path = Annotated[str, typer.Argument(help="The table's directory or URI.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="KEY=VALUE", help="An option; may be repeated."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
Where = Annotated[
    str | None,
    typer.Option(metavar="SQL", help="Only rows for which this condition in SQL is true."),
]
AsOf = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="The rows at this instant, at an ISO 8601 time with a zone, at the end of a day, or "
        "of a commit by its number: 1 is the first, -1 the newest.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns", "-c", metavar="A,B", help="Only these columns, in this order; may be repeated."
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        metavar="FORM",
        help="table, csv, json, jsonl, or a file that ends with .parquet, .csv, .jsonl or .arrow.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", "-f", metavar="FORMAT", help="parquet, csv, jsonl or arrow; by default by name."
    ),
]


def opened(path: str, options: list[str] | None = None) -> Table:
    """The table. Raises ConfigError for an option without a value, and what ``hoodoo.open``
    raises."""
    import hoodoo

    return hoodoo.open(path, pairs(options))


def pairs(options: list[str] | None) -> dict[str, str]:
    """Options by their keys. ConfigError for one without a value, and for one that is
    given twice with different values."""
    given: dict[str, str] = {}
    for option in options or ():
        key, equals, value = option.partition("=")
        if not equals:
            raise ConfigError(f"option {option!r}", "has no value", "write it as KEY=VALUE.")
        if given.setdefault(key.strip(), value.strip()) != value.strip():
            raise ConfigError(
                f"option {key.strip()}", "is given twice, with different values", "give it once."
            )
    return given


def names(given: list[str] | None) -> list[str]:
    """Columns that are given one by one, or with commas between."""
    parts = (part.strip() for one in given or () for part in one.split(","))
    return [part for part in parts if part]


def answer(value: Any, as_json: bool, line: str) -> None:
    """What a service did: the value that its method returned, or a line about it."""
    if as_json:
        show.put_json(value if isinstance(value, dict) else attrs.asdict(value))
    else:
        show.say(show.console(), line)


def ask(question: str, yes: bool) -> None:
    """Ends the command, with exit code 1, unless somebody agrees."""
    if not yes:
        typer.confirm(question, abort=True, err=True)
