"""``hoodoo ui``: a page that shows a table while it changes."""

from __future__ import annotations

import signal
import threading
import webbrowser
from typing import Annotated

import typer
from hoodoo.errors import warn

from hoodoo_cli.toolkit import arguments, show
from hoodoo_cli.ui.server import PageServer, is_loopback
from hoodoo_cli.ui.services import Health
from hoodoo_cli.ui.shown import ShownTable


def ui(
    path: arguments.Path,
    port: Annotated[int, typer.Option(help="The port; 0 for any free port.", min=0, max=65535)] = 0,
    host: Annotated[
        str,
        typer.Option(
            help="The address to listen at. With another one than loopback, other people can see "
            "the page."
        ),
    ] = "127.0.0.1",
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the browser.")] = False,
    health: Annotated[
        list[str] | None,
        typer.Option(help="The address of `hoodoo serve --port`; may be repeated."),
    ] = None,
    options: arguments.Options = None,
) -> None:
    """Show a table, or many, in the browser while they change.

    It changes nothing, and ends with Ctrl-C.

    Example: hoodoo ui trips --open
    """
    services = tuple(Health.at(url) for url in health or ())
    shown = ShownTable(path, arguments.pairs(options), services)
    shown.live()  # errors of the path or of an option appear here, not on the page
    if not is_loopback(host):
        warn(
            f"--host {host}: everybody who reaches this address can look at {path}, without a "
            "password. "
            "Leave the option away to keep the page on this machine."
        )
    server = PageServer(shown, host, port)
    address = server.start()
    ended = threading.Event()
    try:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: ended.set())
        console = show.console()
        show.say(console, address)
        show.say(console, f"It shows {path}.", "dim")
        show.say(console, "Ctrl-C ends it.", "dim")
        if open_page:
            webbrowser.open(address)
        while not ended.wait(0.5):  # it wakes up, so that Python sees signals
            pass
    finally:
        server.stop()
