"""``hoodoo switch-index``: the table gets another index, once it is proven to know where all rows lie."""

from __future__ import annotations

from typing import Annotated

import typer

from hoodoo.cli import given


def add(app: typer.Typer) -> None:
    app.command("switch-index")(switch_index)


def switch_index(
    path: given.Path,
    index: Annotated[str, typer.Argument(help="The new one, such as record_index.")],
    options: given.Options = None,
    as_json: given.Json = False,
) -> None:
    """Give the table another index, for all writers. Says what differs, and changes nothing, where rows are not
    as the index needs them. Writers may go on."""
    table = given.opened(path, options)
    found = table.switch_index(index)
    line = f"The index of {table.config.name} is now {index}; it knows where all {found.found[0]} keys lie."
    given.answer({"index": index, "keys": found.found[0]}, as_json, line)
