"""``hoodoo compare-indexes``: do two indexes find keys in the same places?"""

from __future__ import annotations

from typing import Annotated

import typer

from hoodoo_cli.toolkit import arguments

_SHOWN = 20


def compare_indexes(
    path: arguments.Path,
    first: Annotated[str, typer.Argument(help="An index, such as record_index.")],
    second: Annotated[str, typer.Argument(help="Another one, such as global_bloom.")],
    since: Annotated[
        str | None, typer.Option(help="Only keys that commits after this point wrote.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Only keys that commits up to this point wrote.")
    ] = None,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Look keys up in two indexes and show where they differ.

    Exit code 1: they differ, or one has entries of keys that the table does not have.

    Example: hoodoo compare-indexes trips record_index simple
    """
    found = arguments.opened(path, options).compare_indexes(first, second, since, until)
    rows = found.differences.slice(0, _SHOWN).to_pylist()
    lines = [str(found)]
    for row in rows:
        who = (first, second)[row["found_by"]]
        place = f"{row['file_id']} of {row['partition_path']!r}"
        lines.append(f"only {who}: {row['record_key']!r} in {place}")
    old = found.stale.slice(0, _SHOWN).to_pylist()
    for row in old:
        who = (first, second)[row["found_by"]]
        lines.append(
            f"stale in {who}: {row['record_key']!r} in {row['file_id']} of "
            f"{row['partition_path']!r}"
        )
    result = {"same": found.same, "found": found.found, "differences": rows, "stale": old}
    arguments.answer(result, as_json, "\n".join(lines))
    raise typer.Exit(0 if found.same and not old else 1)
