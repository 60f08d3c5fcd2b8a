"""``hoodoo backup``, ``hoodoo restore-backup`` and ``hoodoo tag``."""

from __future__ import annotations

from typing import Annotated

import typer
from hoodoo.errors import ConfigError
from hoodoo_cli.toolkit import arguments, show


def backup(
    path: arguments.Path,
    target: Annotated[str, typer.Argument(help="Where the copy is.", show_default=False)],
    verify: Annotated[
        bool, typer.Option("--verify", help="Read all files of the copy, also older ones.")
    ] = False,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Copy a table to another place. A repeated call copies what has changed, and goes on if it was
    interrupted.

    Example: hoodoo backup trips s3://backups/trips
    """
    done = arguments.opened(path, options).backup(target, verify=verify)
    line = f"{show.count(done.copied, 'file')} copied ({show.size(done.copied_bytes)}), "
    line += f"{done.removed} removed, {done.verified} verified. "
    line += f"The copy has the write {done.point}." if done.point else "The table has no write."
    arguments.answer(done, as_json, line)


def restore_backup(
    path: Annotated[str, typer.Argument(help="Where the backup is.", show_default=False)],
    target: Annotated[str, typer.Argument(help="The new table.", show_default=False)],
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Make a new table of a backup, which stays. Indexes are built again.

    Example: hoodoo restore-backup s3://backups/trips trips
    """
    import hoodoo

    table = hoodoo.restore_backup(path, target, options=arguments.pairs(options))
    writes = table.timeline().writes()
    point = writes[-1].requested if writes else ""
    arguments.answer({"path": table.path, "point": point}, as_json, f"Restored: {table.path}.")


def tag(
    path: arguments.Path,
    name: Annotated[str | None, typer.Argument(help="The tag; without it, all are listed.")] = None,
    instant: Annotated[str | None, typer.Option(help="The write; by default the newest.")] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Delete the tag.")] = False,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Give a write a name that --as-of takes, list the names, or delete one.

    Example: hoodoo tag trips eom-11
    """
    table = arguments.opened(path, options)
    if name is None and (delete or instant):
        raise ConfigError("hoodoo tag", "needs the name of a tag.", "Give it after the table.")
    if name is not None and delete:
        table.untag(name)
    elif name is not None:
        table.tag(name, instant)
    known = table.tags()
    lines = [f"{at}  {one}" for one, at in known.items()] or ["No tags."]
    arguments.answer({"tags": known}, as_json, "\n".join(lines))
