"""``hoodoo cluster``: rewrite small files as larger, sorted ones; show, run and cancel plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import attrs
import typer
from hoodoo.errors import ConfigError
from hoodoo_cli.toolkit import arguments, show

from hoodoo_clustering.options import LAYOUT, SORT_COLUMNS

if TYPE_CHECKING:
    from hoodoo.table.table import Table

    from hoodoo_clustering.outcome import PendingClustering


def cluster(
    path: arguments.Path,
    plan: Annotated[
        str | None,
        typer.Option(
            help="How files are grouped: size, key_range, commit_time, overlap, random, or a "
            "plugin's."
        ),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            help="How rows are laid out: linear, zorder, hilbert, combine, or a plugin's."
        ),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="A,B", help="What rows are sorted by.")
    ] = None,
    target_size: Annotated[
        int | None, typer.Option(metavar="BYTES", help="Size of the files that are made.")
    ] = None,
    partition: Annotated[
        list[str] | None, typer.Option(help="Only this partition path; may be repeated.")
    ] = None,
    schedule: Annotated[bool, typer.Option("--schedule", help="Only make a plan.")] = False,
    run: Annotated[
        str | None, typer.Option(metavar="INSTANT", help="Run this plan, or run it again.")
    ] = None,
    cancel: Annotated[str | None, typer.Option(metavar="INSTANT", help="Cancel this plan.")] = None,
    pending: Annotated[bool, typer.Option("--list", help="List the pending plans.")] = False,
    yes: arguments.Yes = False,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Rewrite small files as larger files with sorted rows; no row changes.

    Without --schedule, --run, --cancel and --list, it runs the pending plans, and then makes a new
    plan and runs it.

    Example: hoodoo cluster trips --columns city,ts
    """
    if sum((schedule, run is not None, cancel is not None, pending)) > 1:
        raise ConfigError(
            "--schedule, --run, --cancel and --list", "exclude each other.", "Give one of them."
        )
    table = arguments.opened(path, options)
    if pending:
        _list(table, as_json)
    elif cancel is not None:
        if any(
            one.instant == cancel for one in table.clusterings()
        ):  # else there is nothing to ask
            arguments.ask(f"Cancel clustering {cancel}?", yes)
        done = table.cancel_clustering(cancel)
        line = f"Clustering {cancel} is cancelled: {show.count(len(done.files), 'file')} deleted."
        arguments.answer(done, as_json, line)
    elif schedule:
        instant = table.schedule_clustering(
            plan, order, columns=columns, target_file_size=target_size, partitions=partition
        )
        line = "Nothing to cluster."
        if instant is not None:
            line = f"Clustering {instant} is planned. Run it: hoodoo cluster {path} --run {instant}"
        arguments.answer({"instant": instant}, as_json, line)
    else:
        if run is not None:
            commit = table.run_clustering(run)
        else:
            commit = table.cluster(
                plan, order, columns=columns, target_file_size=target_size, partitions=partition
            )
        line = "Nothing to cluster."
        if commit.instant:
            line = f"Clustering {commit.instant}: {show.count(len(commit.files), 'file')} written."
        arguments.answer(commit, as_json, "\n".join([line, *commit.notes]))


def _list(table: Table, as_json: bool) -> None:
    found = table.clusterings()
    if as_json:
        show.put_json([attrs.asdict(one) for one in found])
        return
    out = show.console()
    if not found:
        show.say(out, "No clustering is pending.")
        return
    grid = show.grid(
        "instant",
        "state",
        "groups",
        "files",
        "become",
        "how",
        right=("groups", "files", "become"),
        fold=("how",),
    )
    for one in found:
        grid.add_row(
            show.text(one.instant),
            show.text("running" if one.running else one.state),
            show.text(one.groups),
            show.text(one.files),
            show.text(one.outputs),
            show.text(_how(one)),
        )
    show.put(out, grid)
    show.say(
        out, "Run one: hoodoo cluster TABLE --run INSTANT; give it up: --cancel INSTANT.", "dim"
    )


def _how(one: PendingClustering) -> str:
    name = one.strategy.rpartition(".")[2]
    layout = one.params.get(LAYOUT.key, "").lower()
    columns = one.params.get(SORT_COLUMNS.key, "")
    return " ".join(filter(None, (name, layout, f"by {columns}" if columns else "")))
