"""``hoodoo upgrade`` and ``hoodoo downgrade``: a table gets another table version of Hudi."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from attrs import asdict
from hoodoo_cli.toolkit import arguments

from hoodoo_versions.outcome import VersionChange

_To = Annotated[int, typer.Option("--to", help="The table version: 6, 8 or 9.")]
_Dry = Annotated[bool, typer.Option("--dry-run", help="Change nothing; show what would be done.")]


def upgrade(
    path: arguments.Path,
    to: _To = 9,
    dry_run: _Dry = False,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Give a table a newer table version of Hudi. No row changes.

    Readers can continue; stop the writers of other engines first. If the command was interrupted,
    run it again. Run it once more later: it deletes the timeline of the old version.

    Example: hoodoo upgrade trips --to 9 --dry-run
    """
    table = arguments.opened(path, options)
    _answer(table.upgrade(to, dry_run=dry_run), dry_run, as_json)


def downgrade(
    path: arguments.Path,
    to: _To = 6,
    dry_run: _Dry = False,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Give a table an older table version of Hudi. No row changes.

    Indexes that the older version does not have are dropped: --dry-run says which.

    Example: hoodoo downgrade trips --to 6 --dry-run
    """
    table = arguments.opened(path, options)
    _answer(table.downgrade(to, dry_run=dry_run), dry_run, as_json)


def _answer(found: VersionChange, dry_run: bool, as_json: bool) -> None:
    said: dict[str, Any] = asdict(found)
    if not found.steps:
        arguments.answer(said, as_json, f"The table has version {found.after}.")
        return
    first = "Would do:" if dry_run else f"The table has version {found.after} now. Done:"
    lines = [first, *(f"  {n}. {step}" for n, step in enumerate(found.steps, 1))]
    lines += ["Lost:", *(f"  {one}" for one in found.lost)] if found.lost else []
    arguments.answer(said, as_json, "\n".join(lines))
