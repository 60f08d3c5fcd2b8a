"""``hoodoo ui``: a page that shows a table, or many, while they change."""

from __future__ import annotations

import os
import re
import secrets
import signal
import threading
import webbrowser
from typing import Annotated

import typer
from hoodoo.errors import ConfigError, warn

from hoodoo_cli.toolkit import arguments, many, show
from hoodoo_cli.toolkit.prices import PRICE, Prices
from hoodoo_cli.ui.server import PageServer, is_loopback
from hoodoo_cli.ui.services import Health
from hoodoo_cli.ui.shown import ShownTable
from hoodoo_cli.ui.tables import ManyTables

# In the environment, which others do not see as they see the arguments of a process.
TOKEN = "HOODOO_UI_TOKEN"
_TOKEN = re.compile(r"[A-Za-z0-9._~-]{8,}")


def ui(
    path: many.PathOrPlace,
    port: Annotated[int, typer.Option(help="The port; 0 for any free port.", min=0, max=65535)] = 0,
    host: Annotated[
        str,
        typer.Option(
            help="The address to listen at. At another one than loopback, the page asks for a "
            "token: that of HOODOO_UI_TOKEN, or a new one."
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

    HOODOO_PRICE=s3=0.023 adds the cost of a month to a list of many tables.
    """
    services = tuple(Health.at(url) for url in health or ())
    given, prices = arguments.pairs(options), Prices.of(os.environ.get(PRICE, "").split())
    shown: ShownTable | ManyTables
    if many.several(path, given) is None:
        shown = ShownTable(path, given, services)
        shown.live()  # errors of the path or of an option appear here, not on the page
    else:
        shown = ManyTables(path, given, services, prices)
    token = os.environ.get(TOKEN)
    if not is_loopback(host):
        token = token or secrets.token_urlsafe(16)
        warn(
            f"--host {host}: who has the address that is printed here can look at {path}, and at "
            "its rows. It is sent without encryption: in a network that you do not trust, use a "
            "proxy with TLS, or ssh -L."
        )
    if token is not None and not _TOKEN.fullmatch(token):
        raise ConfigError(
            TOKEN,
            "is too short, or has other characters than letters, digits, and - . _ ~.",
            "Give one of at least 8 such characters.",
        )
    server = PageServer(shown, host, port, token or "")
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
