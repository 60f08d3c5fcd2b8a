"""``hoodoo serve``: look after tables: run what is due, until it is stopped."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Annotated

import typer
from hoodoo.errors import ConfigError
from hoodoo_cli.toolkit import arguments, show

from hoodoo_serve.health import Health, Metrics
from hoodoo_serve.serving import Serving
from hoodoo_serve.table_services import Round, TableServices

# Exit codes of --once, for schedulers.
FAILED, STANDS_BY = 1, 3


def serve(
    paths: Annotated[list[str], typer.Argument(help="Directories or URIs of tables.")],
    every: Annotated[float, typer.Option(help="Seconds between two looks at a table.")] = 60.0,
    once: Annotated[bool, typer.Option("--once", help="Look once at each table, and end.")] = False,
    at_once: Annotated[int, typer.Option(help="Tables served at the same time.")] = 4,
    engine: Annotated[str | None, typer.Option(help="local or spark.")] = None,
    port: Annotated[
        int | None,
        typer.Option(help="Answer /health and /metrics at this port of loopback; 0 for any."),
    ] = None,
    lock: Annotated[
        str, typer.Option(help="The lock of the process that leads; empty for none.")
    ] = "conditional_put",
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Look after tables: compact, cluster, clean, archive and run plans, when they are due.

    One process leads for each table; others stand by and go on where it ends. SIGTERM or Ctrl-C ends it after
    what is running. With --once the exit code is 0 if all is done, 1 if something failed, 3 if another
    process leads.
    """
    if every <= 0 or at_once < 1:
        raise ConfigError(
            "hoodoo serve", "--every and --at-once have to be greater than 0.", "Leave them away."
        )
    given = arguments.pairs(options)
    tables = [TableServices(path, given, engine, lock) for path in dict.fromkeys(paths)]
    if once:
        raise typer.Exit(_once(tables, as_json))
    metrics = Metrics()
    console = show.console()

    def seen(path: str, found: Round) -> None:
        metrics.seen(path, found)
        if any(ran.done for ran in found.ran) or found.failed:
            show.say(console, _line(path, found))

    serving = Serving(tables, every, at_once, seen)
    health = None if port is None else Health(serving, metrics, port=port)
    if threading.current_thread() is threading.main_thread():
        _stop_at_signals(serving)
    try:
        if health is not None:
            show.say(console, f"http://127.0.0.1:{health.start()}/health")
        serving.start()
        show.say(console, f"Serving {show.count(len(tables), 'table')}.")
        while not serving.wait(0.5):  # it wakes up, so that Python sees signals
            pass
    finally:
        serving.stop()
        serving.wait()
        if health is not None:
            health.stop()


def _stop_at_signals(serving: Serving) -> None:
    def stop(number: int, frame: FrameType | None) -> None:
        serving.stop()
        # A second signal ends the process at once, as it does by default: whatever ran is finished by the next.
        signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)


def _once(tables: list[TableServices], as_json: bool) -> int:
    rounds = {}
    for table in tables:
        try:
            rounds[table.path] = table.round()
        finally:
            table.close()
    if as_json:
        said = {
            path: {
                "role": found.role, "failed": list(found.failed),
                "ran": [ran.what for ran in found.ran if ran.done],
            }
            for path, found in rounds.items()
        }  # fmt: skip
        show.put_json(said)
    else:
        for path, found in rounds.items():
            show.say(show.console(), _line(path, found))
    if any(found.failed for found in rounds.values()):
        return FAILED
    return STANDS_BY if any(found.role == "stands by" for found in rounds.values()) else 0


def _line(path: str, found: Round) -> str:
    if found.role == "stands by":
        return f"{path}: another process leads."
    did = [f"{ran.what} in {ran.seconds:.1f} s" for ran in found.ran if ran.done]
    return f"{path}: " + "; ".join([*(did or ["nothing was due"]), *found.failed])
