"""``hoodoo serve``: run the services of tables when they are due, until it is stopped."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Annotated

import typer
from hoodoo.errors import ConfigError
from hoodoo_cli.toolkit import arguments, show
from hoodoo_cli.toolkit.many import tables_of, where_it_lies

from hoodoo_serve.health import Health, Metrics
from hoodoo_serve.places import Places, served
from hoodoo_serve.serving import Serving
from hoodoo_serve.table_services import Round, TableServices

# Exit codes of --once, for schedulers.
FAILED, STANDS_BY = 1, 3


def serve(
    paths: Annotated[
        list[str] | None, typer.Argument(help="Directories or URIs of tables.", show_default=False)
    ] = None,
    places: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="PLACE",
            help="All tables of a folder, a prefix, a catalog, or a file of paths; repeatable.",
        ),
    ] = None,
    look: Annotated[
        float, typer.Option(help="Seconds between two looks for new tables of --from.")
    ] = 300.0,
    every: Annotated[float, typer.Option(help="Seconds between two checks of a table.")] = 60.0,
    once: Annotated[bool, typer.Option("--once", help="Check each table once, then end.")] = False,
    at_once: Annotated[int, typer.Option(help="How many tables to serve at the same time.")] = 4,
    engine: Annotated[
        str | None, typer.Option(help="What runs the services: local or spark.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            help="Serve /health, /live and /metrics on this port of 127.0.0.1; 0: any free port."
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Another address for --port; it needs a token.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            envvar="HOODOO_SERVE_TOKEN",
            help="Bearer token that requests to /health, /live and /metrics need.",
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

    Example: hoodoo serve --from s3://bucket/lake --port 9400
    """
    if every <= 0 or at_once < 1 or look <= 0:
        raise ConfigError(
            "hoodoo serve",
            "--every, --look and --at-once have to be greater than 0.",
            "Leave them out.",
        )
    if not paths and not places:
        raise ConfigError("hoodoo serve", "has no tables.", "Name some, or a place: --from PLACE.")
    if host != "127.0.0.1" and not token:
        raise ConfigError(
            f"--host {host}", "needs a token.", "Set HOODOO_SERVE_TOKEN, or leave the option out."
        )
    given = arguments.pairs(options)
    measures = port is not None and not once

    def make(path: str, holds: bool = False) -> TableServices:
        return TableServices(path, given, engine, lock, holds, measures)

    # A table has one round, whatever paths lead to it: by the first of them.
    named = list({where_it_lies(path): path for path in reversed(paths or ())}.values())[::-1]
    tables = [make(path, holds=True) for path in named]
    if once:
        below = [table for place in places or () for table in tables_of(place, given)]
        tables += [make(one) for one in dict.fromkeys(served(below, named))]
        unread = {table.path: str(table.error) for table in below if not table.is_table}
        raise typer.Exit(_once(tables, unread, at_once, as_json))
    metrics = Metrics()
    console = show.console()

    def seen(path: str, found: Round) -> None:
        metrics.seen(path, found)
        if any(ran.done for ran in found.ran) or found.failed:
            show.say(console, _line(path, found))

    serving = Serving(tables, every, at_once, seen, metrics.gone)
    watch = Places(serving, places or (), given, make, look, metrics.place, named)
    health = None
    if port is not None:
        health = Health(serving, metrics, host, port, token or "", watch if places else None)
    if threading.current_thread() is threading.main_thread():
        _stop_at_signals(serving)
    try:
        if health is not None:
            show.say(console, f"http://{host}:{health.start()}/health")
        watch.look()
        serving.start()
        for place, found in watch.last.items():
            if found.error:
                show.say(console, f"{place}: {found.error}", "yellow")
        show.say(console, f"Serving {show.count(len(serving.paths), 'table')}.")
        if places:
            watch.start()
        while not serving.wait(0.5):  # it wakes up, so that Python sees signals
            pass
    finally:
        watch.stop()
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


def _once(
    tables: list[TableServices], unread: Mapping[str, str], at_once: int, as_json: bool
) -> int:
    """``unread``: what could not be looked into, and why: below it may be tables, too."""

    def look(table: TableServices) -> Round:
        try:
            return table.round()
        finally:
            table.close()

    with ThreadPoolExecutor(at_once) as pool:
        rounds = dict(zip((table.path for table in tables), pool.map(look, tables), strict=True))
    if as_json:
        said = {
            path: {
                "role": found.role,
                "failed": list(found.failed),
                "ran": [ran.what for ran in found.ran if ran.done],
            }
            for path, found in rounds.items()
        }
        said |= {path: {"role": "", "failed": [why], "ran": []} for path, why in unread.items()}
        show.put_json(said)
    else:
        for path, found in rounds.items():
            show.say(show.console(), _line(path, found))
        for path, why in unread.items():
            show.say(show.console(), f"{path}: {why}", "yellow")
    if unread or any(found.failed for found in rounds.values()):
        return FAILED
    return STANDS_BY if any(found.role == "stands by" for found in rounds.values()) else 0


def _line(path: str, found: Round) -> str:
    if found.role == "stands by":
        return f"{path}: another process leads."
    did = [f"{ran.what} in {ran.seconds:.1f} s" for ran in found.ran if ran.done]
    return f"{path}: " + "; ".join([*(did or ["nothing was due"]), *found.failed])
