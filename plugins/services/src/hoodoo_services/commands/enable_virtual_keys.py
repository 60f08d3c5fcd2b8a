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
            help=f"A meta column that rows store all the same; may be repeated; by default {COMMIT_TIME}.",
        ),
    ] = None,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """From now on rows do not store their record keys, which are made of their columns (RFC-21). Files that there
    are stay as they are: see rewrite-keys. Changes nothing where keys are virtual already."""
    table = arguments.opened(path, options)
    with show.progress() as told:
        told("enable", 0, 1)
        table.enable_virtual_keys((COMMIT_TIME,) if keep is None else keep)
        told("enable", 1, 1)
    kept = sorted(table.config.filled_meta)
    line = f"The record keys of {table.config.name} are virtual. Meta columns that rows store: {', '.join(kept) or 'none'}."
    arguments.answer({"virtual": True, "kept": kept}, as_json, line)
