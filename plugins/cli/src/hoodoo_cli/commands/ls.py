"""``hoodoo ls``: the tables of a place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from hoodoo_cli.toolkit import arguments, many, show

if TYPE_CHECKING:
    from hoodoo_cli.tables_below import TableBelow

_SHORT = {"COPY_ON_WRITE": "cow", "MERGE_ON_READ": "mor"}


def ls(
    place: Annotated[
        str, typer.Argument(help="A folder, a prefix, a catalog, or a file of paths.")
    ],
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """List the tables of a folder, a prefix, a catalog, or a file of paths, a line for each.

    Exit code 1 says that something could not be read; its line says what.

    Example: hoodoo ls s3://bucket/lake
    """
    given = arguments.pairs(options)
    with show.waiting("listing"):
        seen = sorted(many.tables_of(place, given), key=lambda table: table.name)
    if as_json:
        show.put_json([_fields(table) for table in seen])
    else:
        _print(place, seen)
    if any(table.error for table in seen):
        raise typer.Exit(1)


def _fields(table: TableBelow) -> dict[str, Any]:
    config, last = table.config, table.last
    return {
        "path": table.path,
        "name": table.name,
        "table": config.name if config is not None else None,
        "type": config.table_type if config is not None else None,
        "version": config.version if config is not None else None,
        "last": last.requested if last is not None else None,
        "completed": last.completed if last is not None else None,
        "action": last.action if last is not None else None,
        "pending": table.pending,
        "is_table": table.is_table,
        "is_backup": table.is_backup,
        "state": table.state,
        "error": str(table.error) if table.error is not None else None,
    }


def _print(place: str, seen: list[TableBelow]) -> None:
    out = show.console()
    if not seen:
        show.say(out, f"{place}: there are no tables.", "dim")
        return
    found = show.grid(
        "table",
        "type",
        "version",
        "last commit",
        "pending",
        "",
        right=("version", "pending"),
        fold=("table",),
    )
    for table in seen:
        config = table.config
        found.add_row(
            show.text(table.name or ".", "" if table.is_table else "dim"),
            show.text(_SHORT.get(config.table_type, "") if config is not None else ""),
            show.text(config.version if config is not None else ""),
            show.text(table.last.requested if table.last is not None else ""),
            show.text(show.amount(table.pending)),
            show.text(table.state if table.error else "backup" * table.is_backup, "yellow"),
        )
    show.put(out, found)
    tables = sum(table.is_table for table in seen)
    show.say(out, show.count(tables, "table"), "dim")
    for table in seen:
        if table.error is not None:
            show.say(out, f"{table.state}: {table.error}", "yellow")
