"""``hoodoo switch-index``: the table gets another index, once it is proven to know where all rows
lie."""

from __future__ import annotations

from typing import Annotated

import typer

from hoodoo_cli.toolkit import arguments


def switch_index(
    path: arguments.Path,
    index: Annotated[str, typer.Argument(help="The new index, such as record_index.")],
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Give the table another index, for all writers.

    It first looks all keys up in the new index. If a key is not where the index needs it, it prints
    the differences and changes nothing. Writers can continue.

    Example: hoodoo switch-index trips record_index
    """
    table = arguments.opened(path, options)
    found = table.switch_index(index)
    line = f"The index of {table.config.name} is now {index}; it finds all keys: {found.found[0]}."
    arguments.answer({"index": index, "keys": found.found[0]}, as_json, line)
