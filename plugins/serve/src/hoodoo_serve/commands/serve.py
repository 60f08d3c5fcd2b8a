"""``hoodoo serve``: run the services of tables when they are due, until it is stopped."""

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
    every: Annotated[float, typer.Option(help="Seconds between two checks of a table.")] = 60.0,
    once: Annotated[bool, typer.Option("--once", help="Check each table once, then end.")] = False,
    at_once: Annotated[int, typer.Option(help="How many tables to serve at the same time.")] = 4,
    engine: Annotated[
        str | None, typer.Option(help="What runs the services: local or spark.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            help="Serve /health and /metrics on this port of 127.0.0.1; 0: any free port."
        ),
    ] = None,
    lock: Annotated[
        str, typer.Option(help="The lock that one process holds while it works; '' for none.")
    ] = "conditional_put",
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Run the services of tables when they are due: compact, cluster, clean, archive, planned work.

    Writers can continue. If you start it on several hosts, one process does the work of a table,
    and another takes over when it ends. Ctrl-C or SIGTERM stops it: it first finishes the services
    that are running.

    With --once, it runs what is due and ends. Exit code 0: everything succeeded. 1: something
    failed. 3: another process does the work of a table.

    Example: hoodoo serve trips s3://lake/fares --every 60 --port 9400

    Example: hoodoo serve trips -o hoodie.clustering.async.enabled=true

    Example: hoodoo serve trips --once --json
    """
    if every <= 0 or at_once < 1:
        raise ConfigError(
            "hoodoo serve", "--every and --at-once have to be greater than 0.", "Leave them out."
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
        # A second signal ends the process at once, as it does by default: whatever ran is finished
        # by the next.
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
                "role": found.role,
                "failed": list(found.failed),
                "ran": [ran.what for ran in found.ran if ran.done],
            }
            for path, found in rounds.items()
        }
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
