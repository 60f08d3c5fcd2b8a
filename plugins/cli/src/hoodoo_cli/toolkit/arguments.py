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
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="KEY=VALUE", help="An option; may be given again."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")]


def opened(path: str, options: list[str] | None = None) -> Table:
    """The table. Raises ConfigError for an option without a value, and what ``hoodoo.open`` raises."""
    import hoodoo

    return hoodoo.open(path, pairs(options))


def pairs(options: list[str] | None) -> dict[str, str]:
    """Options by their keys. ConfigError for one without a value, and for one given twice."""
    given: dict[str, str] = {}
    for option in options or ():
        key, equals, value = option.partition("=")
        if not equals:
            raise ConfigError(f"option {option!r}", "has no value", "write it as KEY=VALUE.")
        if given.setdefault(key.strip(), value.strip()) != value.strip():
            raise ConfigError(
                f"option {key.strip()}", "is given twice, with different values", "say it once."
            )
    return given


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
