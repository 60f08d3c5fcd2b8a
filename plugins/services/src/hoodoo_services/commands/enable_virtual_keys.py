"""``hoodoo enable-virtual-keys``: new files store no record keys."""

from __future__ import annotations

from typing import Annotated

import typer
from hoodoo.model.meta import COMMIT_TIME
from hoodoo_cli.toolkit import arguments, show


def enable_virtual_keys(
    path: arguments.Path,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help=f"A meta column that rows still store; may be repeated; {COMMIT_TIME} if you give "
            "none.",
        ),
    ] = None,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Stop storing record keys in new files: readers make them from the columns of each row
    (RFC-21).

    Existing files do not change; hoodoo rewrite-keys rewrites them. If the keys are already
    virtual, nothing changes. The command is refused if a stored key differs from the key that the
    columns of its row give.

    You can return to stored keys only as long as all rows store all five meta columns: give --keep
    for each of them.

    Example: hoodoo enable-virtual-keys trips

    Example: hoodoo enable-virtual-keys trips --keep _hoodie_commit_time
    """
    table = arguments.opened(path, options)
    with show.progress() as told:
        told("enable", 0, 1)
        table.enable_virtual_keys((COMMIT_TIME,) if keep is None else keep)
        told("enable", 1, 1)
    kept = sorted(table.config.filled_meta)
    line = (
        f"The record keys of {table.config.name} are virtual. Meta columns that rows store: "
        f"{', '.join(kept) or 'none'}."
    )
    arguments.answer({"virtual": True, "kept": kept}, as_json, line)
