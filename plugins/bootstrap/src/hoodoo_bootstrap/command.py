"""``hoodoo bootstrap``: a table over a folder of Parquet files, which stay where they are."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from hoodoo_cli.toolkit import arguments, new_table, show

from hoodoo_bootstrap.options import FULL_RECORD, METADATA_ONLY
from hoodoo_bootstrap.plan import BootstrapPlan
from hoodoo_bootstrap.run import bootstrap as run
from hoodoo_bootstrap.run import plan_bootstrap


def bootstrap(
    source: Annotated[str, typer.Argument(help="A folder of Parquet files; it is only read.")],
    table: Annotated[str, typer.Argument(help="The directory or URI of the new table.")],
    key: Annotated[
        list[str] | None,
        typer.Option(
            "--key",
            "--record-key",
            "-k",
            metavar="A,B",
            help="The columns that identify a row; may be repeated.",
        ),
    ] = None,
    partition_by: new_table.Partition = None,
    mode: Annotated[
        str | None,
        typer.Option(help="METADATA_ONLY (the default): files stay. FULL_RECORD: rows are copied."),
    ] = None,
    regex: Annotated[
        str | None,
        typer.Option(help="Partition paths that match have the mode, all others the other one."),
    ] = None,
    ordering: new_table.Ordering = None,
    table_type: new_table.Type = None,
    table_version: new_table.Version = None,
    index: new_table.Index = None,
    name: new_table.Name = None,
    engine: Annotated[str | None, typer.Option(help="What runs it: local or spark.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing; show what would be done.")
    ] = False,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Make a table of a folder of Parquet files without copying them.

    The table needs the files from then on: do not change or delete them. If the command was
    interrupted, run it again.

    Example: hoodoo bootstrap parquet_trips trips --key id
    """
    how: dict[str, Any] = {
        "partition_by": arguments.names(partition_by) if partition_by else None,
        "mode": mode,
        "regex": regex,
        "engine": engine,
        "options": arguments.pairs(options),
    }
    if dry_run:
        plan = plan_bootstrap(source, **how)
        arguments.answer(_json(plan), as_json, _text(plan))
        return
    with show.waiting("bootstrapping"):
        made = run(
            source,
            table,
            record_key=arguments.names(key),
            ordering=arguments.names(ordering),
            table_type=new_table.type_of(table_type),
            table_version=table_version,
            index=index,
            name=name,
            **how,
        )
    new_table.answer(made, as_json)


def _json(plan: BootstrapPlan) -> dict[str, Any]:
    modes = {
        mode: {
            "files": plan.files[mode],
            "partitions": plan.partitions[mode],
            "rows": plan.rows[mode],
            "bytes": plan.bytes[mode],
            "estimated_bytes": plan.estimated_bytes[mode],
        }
        for mode in (METADATA_ONLY, FULL_RECORD)
    }
    columns = {field.name: str(field.type) for field in plan.columns}
    return {"source": plan.source, "partition_by": plan.partition_by, "columns": columns, **modes}


def _text(plan: BootstrapPlan) -> str:
    parts = ", ".join(plan.partition_by) or "nothing"
    lines = [f"Source {plan.source}: {len(plan.columns)} columns, partitioned by {parts}."]
    for mode in (METADATA_ONLY, FULL_RECORD):
        if plan.files[mode]:
            lines.append(
                f"{mode}: {show.count(plan.rows[mode], 'row')} in "
                f"{show.count(plan.files[mode], 'file')} of "
                f"{show.count(plan.partitions[mode], 'partition')}, {show.size(plan.bytes[mode])}; "
                f"about {show.size(plan.estimated_bytes[mode])} would be written."
            )
    return "\n".join([*lines, "Nothing was changed."])
