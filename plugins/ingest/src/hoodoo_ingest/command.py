"""``hoodoo ingest``: feed a table as a configuration file says."""

from __future__ import annotations

import json
import signal
import threading
from types import FrameType
from typing import Annotated, Any

import typer
from hoodoo_cli.toolkit import arguments, show

from hoodoo_ingest.config import read_config
from hoodoo_ingest.run import Ingestion, Round

_SHOWN = 5  # names of files


def ingest(
    config: Annotated[str, typer.Argument(help="The configuration, in TOML.", show_default=False)],
    once: Annotated[bool, typer.Option("--once", help="One round, then end.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing; show what the next round would read.")
    ] = False,
    as_json: arguments.Json = False,
) -> None:
    """Feed a table from files or Kafka, as a configuration file says.

    Each round reads what is new and writes it in one commit, which has the checkpoint, too. Run it
    again to continue, also after a crash. Ctrl-C or SIGTERM ends it after the round.

    Example: hoodoo ingest rides.toml --once
    """
    ingestion = Ingestion(read_config(config))
    if dry_run:
        _plan(ingestion, as_json)
        return
    if threading.current_thread() is threading.main_thread():
        _stop_at_signals(ingestion)
    console, done = show.console(), 0
    rounds = ingestion.rounds(once=once)
    while True:
        with show.waiting("ingesting"):
            one = next(rounds, None)
        if one is None:
            break
        done += 1
        if as_json:
            typer.echo(json.dumps(_json(one)))
        else:
            show.say(console, _line(one))
    if not done and not as_json:
        show.say(console, "Nothing is new.")


def _stop_at_signals(ingestion: Ingestion) -> None:
    def stop(number: int, frame: FrameType | None) -> None:
        ingestion.stop()
        # A second signal ends the process at once: the next one goes on where it was.
        signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)


def _plan(ingestion: Ingestion, as_json: bool) -> None:
    table, checkpoint, portion = ingestion.next()
    there = "is there" if table is not None else "would be created"
    lines = [f"Table {ingestion.config.path} {there}; its last round is {checkpoint.round}."]
    found: dict[str, Any] = {
        "table": ingestion.config.path,
        "exists": table is not None,
        "round": checkpoint.round,
        "position": checkpoint.position.hudi if checkpoint.position else None,
        "count": portion.count if portion else 0,
        "size": portion.size if portion else 0,
        "names": list(portion.names) if portion else [],
        "more": bool(portion and portion.more),
    }
    if portion is None:
        lines.append("Nothing is new.")
    else:
        size = "" if portion.size is None else f" ({show.size(portion.size)})"
        rest = "; more is left for later rounds" if portion.more else ""
        lines.append(
            f"The next round would read {show.count(portion.count, portion.what)}{size}{rest}:"
        )
        lines += portion.names[:_SHOWN]
        lines += ["..."] if len(portion.names) > _SHOWN else []
    arguments.answer(found, as_json, "\n".join([*lines, "Nothing was changed."]))


def _json(one: Round) -> dict[str, Any]:
    return {
        "round": one.number,
        "instant": one.commit.instant,
        "read": one.count,
        "inserted": one.commit.inserted,
        "updated": one.commit.updated,
        "deleted": one.commit.deleted,
        "bad_rows": one.bad_rows,
        "bad_file": one.bad_file,
        "position": one.position,
        "seconds": round(one.seconds, 3),
    }


def _line(one: Round) -> str:
    commit = one.commit
    bad = "" if not one.bad_rows else f"; {show.count(one.bad_rows, 'bad row')} in {one.bad_file}"
    return (
        f"Round {one.number} ({commit.instant}): {show.count(one.count, one.what)}, "
        f"{commit.inserted} inserted, {commit.updated} updated, {commit.deleted} deleted "
        f"in {one.seconds:.1f} s{bad}"
    )
